/* unwind/learned.c - see learned_i.h.
 *
 * A table of fixed size, which may lose entries: a place that is lost is examined again. An entry is
 * two words, as in rule_cache.c, so it is read without a lock.
 *
 * Code that goes away: memory is divided into blocks of 64 KiB. Each block has a number that grows
 * when code in it goes away, and an entry holds the number of its block. Blocks share numbers, so
 * too much may be forgotten, never too little.
 */
#include "unwind/learned_i.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "base/hash.h"
#include "unwind/generation.h"
#include "unwind/unwind.h"

#define N_SETS 4096u
#define PER_SET 4
#define BLOCK_SHIFT 16
#define N_BLOCKS 4096u
#define FIRST_WAIT_TICKS (1ull << 21) /* about a millisecond */
#define MAX_WAITS 22

/* bits 0-1 enum learned, 2-7 examinations, 8-23 number of the block, 24-31 round, 32 WAS_BAD, 40-63 generation
 * / 2 of the image, 0 = it is never unloaded. A state of 0 is no entry. */
struct entry {
	_Atomic uint64_t state;
	_Atomic uint64_t check; /* key xor a hash of state */
};

static struct entry table[N_SETS][PER_SET];
static _Atomic uint16_t block_number[N_BLOCKS];
static _Atomic bool is_block_used[N_BLOCKS];
static _Atomic bool has_any; /* was anything ever learned? */
static _Atomic uint32_t round_now; /* cuts of other rounds are void */
static _Atomic uint32_t n_cuts; /* of this round */
static _Atomic uint64_t reconsider_at_ticks;
static _Atomic uint32_t n_waits;

static unsigned block_of(uintptr_t addr)
{
	return (unsigned)(addr >> BLOCK_SHIFT) % N_BLOCKS;
}

static unsigned n_exams(uint64_t state)
{
	return (unsigned)(state >> 2) & 63;
}

static uint64_t make_state(uintptr_t key, enum learned what, unsigned n, uint32_t generation)
{
	return (uint64_t)what | (uint64_t)n << 2 |
	       (uint64_t)atomic_load(&block_number[block_of(key)]) << 8 |
	       (uint64_t)(atomic_load(&round_now) & 255) << 24 | (uint64_t)(generation >> 1) << 40;
}

#define ROUND_BITS (255ull << 24)
#define WAS_BAD (1ull << 32) /* it was counted as bad in its area */

/* Whether an entry is of the code that is there now. */
static bool is_of_code(uint64_t state, uintptr_t key, uint32_t generation)
{
	uint64_t now = make_state(key, (enum learned)(state & 3), n_exams(state),
				  state >> 40 ? generation : 0);

	return !((state ^ now) & ~(ROUND_BITS | WAS_BAD));
}

static bool is_of_round(uint64_t state)
{
	return (uint8_t)(state >> 24) == (uint8_t)atomic_load(&round_now);
}

static struct entry *find(uintptr_t key)
{
	struct entry *set = table[(key * 0x9e3779b97f4a7c15ull >> 32) % N_SETS];

	for (unsigned i = 0; i < PER_SET; i++) {
		uint64_t state = atomic_load_explicit(&set[i].state, memory_order_relaxed);
		uint64_t check = atomic_load_explicit(&set[i].check, memory_order_relaxed);

		if (state && (check ^ hash_mix64(state)) == key)
			return &set[i];
	}
	return NULL;
}

/* The state of a place, 0 = none. */
static uint64_t find_state(uintptr_t key, uint32_t generation)
{
	const struct entry *e = find(key);
	uint64_t state = e ? atomic_load_explicit(&e->state, memory_order_relaxed) : 0;

	if (!state ||
	    (atomic_load_explicit(&e->check, memory_order_relaxed) ^ hash_mix64(state)) != key)
		return 0; /* perhaps it was replaced under us */
	return is_of_code(state, key, generation) ? state : 0;
}

enum learned learned_find(uintptr_t key, uint32_t generation)
{
	uint64_t state = find_state(key, generation);
	enum learned what = (enum learned)(state & 3);

	return what == LEARNED_FP || is_of_round(state) ? what : LEARNED_NOTHING;
}

/* Where a new entry goes: an unused one, else one that says little. */
static struct entry *make_room(uintptr_t key)
{
	struct entry *set = table[(key * 0x9e3779b97f4a7c15ull >> 32) % N_SETS];
	struct entry *least = set;

	for (unsigned i = 0; i < PER_SET; i++) {
		if ((atomic_load(&set[i].state) & 3) != LEARNED_FP)
			least = &set[i];
		if (!atomic_load(&set[i].state))
			return &set[i];
	}
	return least;
}

static void put(uintptr_t key, uint64_t state)
{
	struct entry *e = find(key);

	if (!e)
		e = make_room(key);
	atomic_store(&has_any, true);
	atomic_store(&is_block_used[block_of(key)], true);
	atomic_store_explicit(&e->state, state, memory_order_relaxed);
	atomic_store_explicit(&e->check, key ^ hash_mix64(state), memory_order_relaxed);
}

/* Cuts and beliefs of earlier rounds are void. */
static void new_round(void)
{
	atomic_fetch_add(&round_now, 1);
	atomic_store(&n_cuts, 0);
	unwind_code_changing();
	unwind_code_changed();
}

static void count_cut(void)
{
	if (atomic_fetch_add(&n_cuts, 1) == 0)
		atomic_store(&reconsider_at_ticks,
			     arch_ticks() + (FIRST_WAIT_TICKS << atomic_load(&n_waits)));
}

enum learned learned_add(struct code_area *area, uintptr_t key, bool has_pair,
			 enum learned_sight sight)
{
	uint64_t old = find_state(key, area->generation);
	unsigned n = old && is_of_round(old) ? n_exams(old) : 0;
	bool is_good = sight == LEARNED_GOOD;
	bool was_bad = old & WAS_BAD, is_bad = sight == LEARNED_BAD && !was_bad;
	enum learned what = LEARNED_NOTHING;

	if (is_bad)
		old |= WAS_BAD;
	if ((is_good || is_bad) && code_areas_count(area, is_good, was_bad))
		new_round();
	if (++n >= LEARNED_EXAMS)
		what = LEARNED_CUT;
	if (has_pair && area->is_trusted)
		what = LEARNED_TRUSTED;
	if (is_good)
		what = LEARNED_FP;
	if (what == LEARNED_CUT) {
		area->has_cuts = true;
		count_cut();
	}
	put(key, make_state(key, what, n, area->generation) | (is_good ? 0 : old & WAS_BAD));
	return what;
}

void learned_reconsider(void)
{
	uint64_t at = atomic_load(&reconsider_at_ticks);

	if (!atomic_load(&n_cuts) || arch_ticks() < at || atomic_load(&n_waits) >= MAX_WAITS ||
	    !atomic_compare_exchange_strong(&reconsider_at_ticks, &at, UINT64_MAX))
		return;
	atomic_fetch_add(&n_waits, 1);
	new_round();
}

/* Calls fn for each block between lo and hi. */
static bool each_block(uintptr_t lo, uintptr_t hi, bool (*fn)(unsigned block))
{
	uintptr_t first = lo >> BLOCK_SHIFT, last = (hi - 1) >> BLOCK_SHIFT;
	bool is_any = false;

	if (hi <= lo)
		return false;
	if (last - first >= N_BLOCKS)
		last = first + N_BLOCKS - 1; /* these are all numbers */
	for (uintptr_t i = first; i <= last; i++)
		is_any |= fn(block_of(i << BLOCK_SHIFT));
	return is_any;
}

static bool is_used(unsigned block)
{
	return atomic_load_explicit(&is_block_used[block], memory_order_relaxed);
}

static bool forget_block(unsigned block)
{
	if (!is_used(block))
		return false;
	atomic_store(&is_block_used[block], false);
	atomic_fetch_add(&block_number[block], 1);
	return true;
}

bool learned_forget(uintptr_t lo, uintptr_t hi)
{
	return each_block(lo, hi, forget_block);
}

/* Another thread has the areas for microseconds. If this is a signal handler and the interrupted thread
 * has them, they do not become free: then gives up. */
static bool enter_areas(void)
{
	for (unsigned i = 0; i < 1000; i++)
		if (code_areas_enter())
			return true;
	return false;
}

bool unwind_unmapping(uintptr_t lo, uintptr_t hi, bool is_kept)
{
	bool has_areas;

	if (!atomic_load_explicit(&has_any, memory_order_relaxed) || !each_block(lo, hi, is_used))
		return false;
	has_areas = enter_areas();
	if (is_kept && has_areas && code_areas_is_trusted(lo, hi)) {
		code_areas_leave();
		return false; /* what is written there will keep frame pointers too */
	}
	if (!is_kept && has_areas)
		code_areas_forget(lo, hi);
	if (has_areas)
		code_areas_leave();
	unwind_code_changing();
	learned_forget(lo, hi);
	return true;
}
