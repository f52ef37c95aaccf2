/* record/pool.c - see pool.h. */
#include "record/pool.h"

#include "record/sys.h"

#define POOL_WAIT_NS (50 * NS_PER_MS) /* a lost wake-up costs this much, no more */
#define POOL_PATIENCE_NS (30 * NS_PER_S)

/* The bit of the first free block from next_slot on, all around. A block that the writer has just
 * read lies in the cache of the writer's CPU, and each line that a thread writes again must be
 * fetched back from there: 13 ns a line, a tenth of what a busy program pays for being recorded.
 * When all other blocks were used first, most of the block is in no CPU's own cache any more. */
static uint64_t choose(struct area *a, uint64_t free)
{
	uint32_t next = atomic_load_explicit(&a->next_slot, memory_order_relaxed) % 64;
	uint64_t later = free >> next << next;
	uint64_t from = later ? later : free;

	return from & (~from + 1);
}

bool pool_try_take(struct session *session, struct area **area, uint32_t *slot)
{
	uint32_t n = atomic_load_explicit(&session->n_areas, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct area *a = &session->area[i];
		uint64_t bits = atomic_load_explicit(&a->free_bits, memory_order_relaxed);

		while (bits) {
			uint64_t bit = choose(a, bits);

			if (atomic_compare_exchange_weak_explicit(&a->free_bits, &bits, bits & ~bit,
								  memory_order_acquire,
								  memory_order_relaxed)) {
				*area = a;
				*slot = (uint32_t)__builtin_ctzll(bit);
				atomic_store_explicit(&a->next_slot, *slot + 1,
						      memory_order_relaxed);
				return true;
			}
		}
	}
	return false;
}

bool pool_take(struct recorder *rec, struct session *session, struct area **area, uint32_t *slot)
{
	uint64_t began_ns = 0;

	if (!atomic_load(&session->n_areas))
		return false;
	if (!atomic_load(&rec->writer_tid))
		rec->ensure_writer(rec);
	while (!pool_try_take(session, area, slot)) {
		uint32_t seen = atomic_load(&rec->free_word);
		bool got;

		if (atomic_load(&rec->is_writer_missed))
			return false;
		if (!began_ns) {
			began_ns = sys_clock_ns(CLOCK_MONOTONIC);
			atomic_fetch_add(&rec->n_waits, 1);
		} else if (sys_clock_ns(CLOCK_MONOTONIC) - began_ns > POOL_PATIENCE_NS ||
			   atomic_load(&rec->why_given_up)) {
			atomic_store(&rec->is_writer_missed, 1);
			return false;
		}
		rec->ensure_writer(rec);
		atomic_fetch_add(&rec->n_waiting, 1);
		record_wake_writer(rec);
		got = pool_try_take(session, area, slot);
		if (!got)
			sys_futex_wait(&rec->free_word, seen, POOL_WAIT_NS);
		atomic_fetch_sub(&rec->n_waiting, 1);
		if (got)
			return true;
	}
	return true;
}

/* A full block is safe where it lies, in the file, so the writer is not woken for each of them. */
void pool_give_full(struct recorder *rec, struct area *area, uint32_t slot)
{
	uint64_t bit = 1ull << slot;
	uint64_t full, free;

	atomic_store_explicit(&area->blocks[slot].state, BLOCK_FULL, memory_order_release);
	full = bit | atomic_fetch_or_explicit(&area->full_bits, bit, memory_order_release);
	free = atomic_load_explicit(&area->free_bits, memory_order_relaxed);
	if (__builtin_popcountll(full) >= POOL_WAKE_BLOCKS ||
	    __builtin_popcountll(free) <= POOL_WAKE_BLOCKS)
		record_wake_writer(rec);
}

uint64_t pool_take_full(struct area *area)
{
	uint64_t bits = atomic_load_explicit(&area->full_bits, memory_order_acquire);

	if (!bits)
		return 0;
	/* First busy, then not full: a writer that is killed in between leaves no block unmarked. */
	atomic_fetch_or(&area->busy_bits, bits);
	atomic_fetch_and(&area->full_bits, ~bits);
	return bits;
}

void pool_retake(struct area *area)
{
	uint64_t bits = atomic_load(&area->busy_bits), written = 0;

	for (uint64_t rest = bits; rest; rest &= rest - 1) {
		if (atomic_load(&area->blocks[__builtin_ctzll(rest)].state) == BLOCK_FREE)
			written |= rest & (~rest + 1);
	}
	atomic_fetch_or(&area->full_bits, bits & ~written);
	atomic_fetch_or(&area->free_bits, written);
	atomic_store(&area->busy_bits, 0);
}

void pool_give_back(struct recorder *rec, struct area *area, uint32_t slot)
{
	atomic_store(&area->blocks[slot].state, BLOCK_FREE);
	/* Not busy before free: a block that a thread has taken must not be written once more. */
	atomic_fetch_and(&area->busy_bits, ~(1ull << slot));
	pool_give_free(rec, area, slot);
}

unsigned pool_count_full(const struct session *session)
{
	uint32_t n_areas = atomic_load_explicit(&session->n_areas, memory_order_acquire);
	unsigned n = 0;

	for (uint32_t i = 0; i < n_areas; i++) {
		uint64_t bits =
			atomic_load_explicit(&session->area[i].full_bits, memory_order_relaxed);

		n += (unsigned)__builtin_popcountll(bits);
	}
	return n;
}

void pool_give_free(struct recorder *rec, struct area *area, uint32_t slot)
{
	atomic_store_explicit(&area->blocks[slot].state, BLOCK_FREE, memory_order_release);
	atomic_fetch_or_explicit(&area->free_bits, 1ull << slot, memory_order_release);
	atomic_store(&rec->is_writer_missed, 0);
	atomic_fetch_add(&rec->free_word, 1);
	if (atomic_load(&rec->n_waiting))
		sys_futex_wake_all(&rec->free_word);
}

struct session *pool_wait_session(struct recorder *rec)
{
	uint32_t want = atomic_load(&rec->want_session);

	for (unsigned tries = 0; tries < 200; tries++) {
		uint32_t have = atomic_load(&rec->have_session);

		if ((int32_t)(have - want) >= 0)
			break;
		record_wake_writer(rec);
		sys_futex_wait(&rec->have_session, have, POOL_WAIT_NS);
	}
	return atomic_load(&rec->session);
}
