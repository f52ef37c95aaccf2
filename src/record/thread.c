/* record/thread.c - see thread.h. */
#include "record/thread.h"

#include "record/clock.h"
#include "record/options.h"
#include "record/own_memory.h"
#include "record/pool.h"
#include "record/real.h"
#include "record/stack.h"
#include "record/sys.h"

#define SPARE_BLOCKS 128 /* blocks that may exist beyond two per thread */

_Thread_local struct thread *thread_self;

struct lane *thread_get_lane(struct thread *t, unsigned depth)
{
	struct lane *lane = t->lane[depth];

	if (lane)
		return lane;
	lane = own_memory_map(sizeof(*lane) + lane_table_bytes());
	if (!lane)
		return NULL;
	lane_init(lane, t, depth);
	lane_reset(lane);
	return t->lane[depth] = lane;
}

bool thread_claim_slot(struct thread *t, uint32_t tid)
{
	return atomic_compare_exchange_strong(&t->owner_tid, &tid, THREAD_SLOT_CLAIMED);
}

/* Takes over the slot of an earlier thread that had this tid, if there is one: the writer has not
 * noticed its end. */
static bool take_over(struct thread *t, uint32_t tid)
{
	if (!thread_claim_slot(t, tid))
		return false;
	(void)atomic_load_explicit(&t->depth, memory_order_acquire); /* its last hook is over */
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (!t->lane[i])
			continue;
		lane_finish_block(t->lane[i]);
		atomic_fetch_add(&t->rec->lost_events, t->lane[i]->lost_events);
		COUNT_RESET(t->lane[i]->lost_events);
	}
	t->session = NULL;
	atomic_store(&t->owner_tid, tid);
	return true;
}

/* A slot whose thread is gone, or NULL. Its lanes hold no blocks. */
static struct thread *take_free_slot(struct recorder *rec, uint32_t tid)
{
	for (struct thread *t = atomic_load(&rec->threads); t; t = t->next) {
		uint32_t expected = 0;

		if (take_over(t, tid))
			return t;
		if (atomic_compare_exchange_strong(&t->owner_tid, &expected, tid))
			return t;
	}
	return NULL;
}

/* A new slot in the list, or NULL. */
static struct thread *add_slot(struct recorder *rec, uint32_t tid)
{
	struct thread *t = own_memory_map(sizeof(*t) + lane_table_bytes());

	if (!t)
		return NULL;
	t->rec = rec;
	atomic_store(&t->owner_tid, tid);
	t->lane[0] = &t->first;
	lane_init(&t->first, t, 0);
	lane_reset(&t->first);
	t->next = atomic_load(&rec->threads);
	while (!atomic_compare_exchange_weak(&rec->threads, &t->next, t))
		;
	return t;
}

/* The thread begins anew, under a new number. */
static void begin_lanes(struct thread *t)
{
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			lane_reset(t->lane[i]);
	}
	t->number = 1 + atomic_fetch_add(&t->rec->n_threads, 1);
	if (t->number > 1) /* before this thread can hand over a block of memory, or get one */
		atomic_store(&clock_many_lanes, 1);
	t->start_ticks = clock_ticks();
}

struct thread *thread_attach(struct recorder *rec)
{
	uint32_t tid = sys_gettid();
	struct thread *t = take_free_slot(rec, tid);

	if (!t)
		t = add_slot(rec, tid);
	if (!t)
		return NULL;
	t->depth = 0;
	t->session = NULL;
	thread_forget_epoch(t);
	thread_self = t;
	return t;
}

void thread_finish_blocks(struct thread *t)
{
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			lane_finish_block(t->lane[i]);
	}
}

/* The recording goes on in a new file, which must define each stack that it names. */
static void continue_lanes(struct thread *t)
{
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			stack_forget(t->lane[i]);
	}
}

/* The lanes take blocks from this session from now on. */
static void move_to(struct thread *t, struct session *session)
{
	if (session == t->session)
		return;
	thread_finish_blocks(t);
	if (t->session && session)
		continue_lanes(t);
	else
		begin_lanes(t);
	atomic_store(&t->session, session);
}

/* Is everything as capture.h needs it for its fast path? */
static bool has_fast_path(void)
{
	return clock_is_cpu && real_has_chunks && !options_active.ZERO_MEMORY;
}

void thread_refresh(struct thread *t)
{
	uint32_t epoch = atomic_load(&record_epoch);
	struct session *session;

	/* The writer may close a session that no thread names. So the thread names the session
	 * first and then checks that it still is the current one. */
	do {
		session = pool_wait_session(t->rec);
		move_to(t, session);
	} while (session != atomic_load(&t->rec->session));
	if (session && t->redefine != atomic_load(&session->redefine)) {
		t->redefine = atomic_load(&session->redefine);
		for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
			if (t->lane[i])
				stack_forget(t->lane[i]);
		}
	}
	t->mode = session ? atomic_load(&record_mode) : RECORD_OFF;
	t->epoch = t->mode == RECORD_OFF ? 0 : epoch; /* 0: stay on the slow path, which says no */
	t->has_free_stacks = options_active.GRAB_BACKTRACES_ON_FREE;
	t->usual_fast_epoch = t->mode == RECORD_ON && has_fast_path() ? epoch : 0;
	lane_update_fast_path(&t->first);
}

uint32_t thread_max_blocks(const struct recorder *rec)
{
	uint32_t n = SPARE_BLOCKS;

	for (const struct thread *t = atomic_load(&rec->threads); t; t = t->next)
		n += 2;
	return n;
}
