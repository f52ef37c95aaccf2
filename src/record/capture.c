/* record/capture.c - see capture.h. */
#include "record/capture.h"

#include "record/clock.h"
#include "record/real.h"
#include "record/stack.h"
#include "record/sys.h"

/* Set while this thread is on the slow way in: a hook that is reached from there (libc may allocate
 * for a dlsym) passes unrecorded and is counted. Signals wait meanwhile. */
static _Thread_local bool is_busy;

extern const char own_code_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_code_end[] __asm__("etext") __attribute__((visibility("hidden")));

/* Index of the first frame in our own code, or n when there is none. */
static size_t find_own_frame(const struct unwind_frames *f)
{
	size_t i = 0;

	while (i < f->n &&
	       (f->addr[i] < (uintptr_t)own_code_start || f->addr[i] > (uintptr_t)own_code_end))
		i++;
	return i;
}

/* This thread is inside a hook already. Three cases, told apart by the stack:
 * - a signal handler interrupted the hook: its event is one of its own and takes the next lane;
 * - the real function called us: part of the call that is being recorded, nothing to do;
 * - the earlier hook was left by longjmp and its frame is gone: start over at depth 0.
 * When the stack is cut off before it tells, the event is counted as lost. */
static struct lane *enter_nested(struct thread *t, const struct unwind_start *at)
{
	struct lane *lane = t->depth < BLOCK_N_LANES ? thread_get_lane(t, t->depth) : NULL;
	size_t own;

	if (!lane) {
		COUNT_ADD(t->lane[0]->lost_events, 1);
		return NULL;
	}
	unwind_walk(lane->unwinder, at, &lane->frames);
	own = find_own_frame(&lane->frames);
	if (own < lane->frames.n)
		return lane->frames.crossed_signal && lane->frames.signal_index <= own ? lane
										       : NULL;
	if (lane->frames.end == UNWIND_COMPLETE) {
		t->depth = 0;
		return t->lane[0];
	}
	COUNT_ADD(t->lane[0]->lost_events, 1);
	return NULL;
}

/* The thread's lanes are as the mode and session want them. */
static struct lane *enter_current(struct thread *t, const struct unwind_start *at)
{
	struct lane *lane = t->lane[0];

	if (t->depth > 0)
		lane = enter_nested(t, at);
	else if (t->epoch != atomic_load(&record_epoch))
		thread_refresh(t);
	if (!lane || t->mode == RECORD_OFF)
		return NULL;
	t->depth = lane->number + 1;
	atomic_signal_fence(memory_order_seq_cst);
	return lane;
}

static void count_lost(void)
{
	struct recorder *rec = record_get();

	if (rec && atomic_load(&record_mode) == RECORD_ON)
		atomic_fetch_add(&rec->lost_events, 1);
}

/* With signals blocked: a handler that came now could neither take the lane that is being prepared
 * nor another, and its events would be lost. */
static struct lane *enter_masked(const struct unwind_start *at)
{
	struct recorder *rec;
	struct lane *lane = NULL;

	if (atomic_load(&record_mode) <= RECORD_STARTING)
		record_start();
	rec = record_get();
	if (!rec || atomic_load(&record_mode) == RECORD_OFF)
		return NULL;
	if (thread_self || thread_attach(rec))
		lane = enter_current(thread_self, at);
	else
		atomic_fetch_add(&rec->lost_events, 1);
	return lane;
}

struct lane *capture_enter_slow(const struct unwind_start *at)
{
	struct lane *lane;
	uint64_t mask;

	if (!real_is_ready())
		real_init();
	if (is_busy) {
		count_lost();
		return NULL;
	}
	record_check_fork();
	if (atomic_load(&record_mode) == RECORD_OFF)
		return NULL; /* before any system call: a program may run like this for days */
	mask = sys_block_signals();
	is_busy = true;
	lane = enter_masked(at);
	is_busy = false;
	sys_restore_signals(mask);
	return lane;
}

static inline uint64_t usable_extra(const void *block, size_t size_bytes, uint32_t *extras)
{
	size_t usable = real.malloc_usable_size((void *)block);

	if (usable < size_bytes || (real_is_glibc && usable == event_usual_usable(size_bytes)))
		return 0;
	*extras |= EVENT_EXTRA_USABLE;
	return usable - size_bytes;
}

static inline void put_call(struct lane *lane, unsigned kind, struct event_call *call)
{
	if (unlikely(!lane_has_room(lane, 2))) {
		COUNT_ADD(lane->lost_events, 1);
		return;
	}
	call->ticks = clock_ticks();
	event_put_call(&lane->enc, kind, call);
	lane_publish(lane);
}

void capture_alloc(struct lane *lane, const struct unwind_start *at, unsigned kind,
		   const void *block, size_t size_bytes, size_t alignment)
{
	struct event_call call = {.addr = (uintptr_t)block, .size_bytes = size_bytes};

	if (lane->thread->mode != RECORD_ON)
		return;
	if (likely(real.malloc_usable_size))
		call.usable_extra_bytes = usable_extra(block, size_bytes, &call.extras);
	if (alignment) {
		call.alignment = alignment;
		call.extras |= EVENT_EXTRA_ALIGNMENT;
	}
	call.stack = stack_capture(lane, at);
	put_call(lane, kind, &call);
}

uint32_t capture_release(struct lane *lane, const struct unwind_start *at, unsigned kind,
			 const void *block, bool *recorded)
{
	struct event_call call = {.addr = (uintptr_t)block};
	uint64_t lost_before = lane->lost_events;

	if (kind == EVENT_REALLOC_BEGIN || record_options.GRAB_BACKTRACES_ON_FREE) {
		if (lane->thread->mode == RECORD_ON)
			call.stack = stack_capture(lane, at);
	}
	put_call(lane, kind, &call);
	*recorded = lane->lost_events == lost_before;
	return call.stack;
}

void capture_realloc(struct lane *lane, uint32_t stack, const void *block, size_t size_bytes)
{
	struct event_call call = {
		.addr = (uintptr_t)block,
		.size_bytes = size_bytes,
		.stack = stack,
	};

	if (lane->thread->mode != RECORD_ON) {
		capture_rare(lane, EVENT_REALLOC_UNTRACKED, NULL, 0);
		return;
	}
	if (likely(real.malloc_usable_size))
		call.usable_extra_bytes = usable_extra(block, size_bytes, &call.extras);
	put_call(lane, EVENT_REALLOC_END, &call);
}

void capture_rare(struct lane *lane, unsigned kind, const uint64_t *field, unsigned n)
{
	if (!lane_has_room(lane, 1)) {
		COUNT_ADD(lane->lost_events, 1);
		return;
	}
	event_put_rare(&lane->enc, kind, clock_ticks(), field, n);
	lane_publish(lane);
}

void capture_rare_call(struct lane *lane, const struct unwind_start *at, unsigned kind,
		       uint64_t *field, unsigned n)
{
	field[n] = stack_capture(lane, at);
	capture_rare(lane, kind, field, n + 1);
}

NOINLINE void capture_note(unsigned kind, const uint64_t *field, unsigned n)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	if (!lane)
		return;
	capture_rare(lane, kind, field, n);
	capture_leave(lane);
}
