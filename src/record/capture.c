/* record/capture.c - see capture.h. */
#include "record/capture.h"

#include "record/options.h"
#include "record/real.h"
#include "record/start.h"
#include "record/sys.h"

/* Set while this thread is in capture_enter_slow(): a hook that is called from there (libc may
 * allocate for a dlsym) passes unrecorded and is counted. Signals are blocked meanwhile. */
static _Thread_local bool is_busy;

extern const char own_code_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_code_end[] __asm__("etext") __attribute__((visibility("hidden")));

bool capture_is_own_code(uintptr_t addr)
{
	return addr >= (uintptr_t)own_code_start && addr <= (uintptr_t)own_code_end;
}

/* Index of the first frame in our own code, or n when there is none. */
static size_t find_own_frame(const struct unwind_frames *f)
{
	size_t i = 0;

	while (i < f->n && !capture_is_own_code(f->addr[i]))
		i++;
	return i;
}

/* This thread is inside a hook already. The stack shows why:
 * - A signal handler interrupted the hook: the event is one of its own and goes to the next lane.
 * - The real function called the hook: the call is part of the call that is being recorded. NULL.
 * - The same, but it is the C library that calls, for memory of its own: an allocator inside the
 *   program has called pthread_setspecific(), or something else that allocates. The C library gives
 *   the block back later, as a call of its own. The event goes to the next lane.
 * - The earlier hook was left by longjmp and its frame is gone: depth becomes 0 again.
 * - The stack is cut off before it shows any of these: the event is counted as lost. NULL. */
static struct lane *enter_nested(struct thread *t, const struct unwind_start *at)
{
	struct lane *lane = t->depth < BLOCK_N_LANES ? thread_get_lane(t, t->depth) : NULL;
	size_t own;

	if (!lane) {
		COUNT_ADD(t->lane[0]->lost_events, 1);
		return NULL;
	}
	unwind_walk(lane_unwinder(lane), at, &lane->frames);
	own = find_own_frame(&lane->frames);
	if (own < lane->frames.n) {
		if ((!lane->frames.crossed_signal || lane->frames.signal_index > own) &&
		    !real_is_libc_code(at->pc))
			return NULL;
		/* before the first event of the lane, which may be a release */
		atomic_store(&clock_many_lanes, 1);
		return lane;
	}
	if (lane->frames.end == UNWIND_COMPLETE) {
		t->depth = 0;
		return t->lane[0];
	}
	COUNT_ADD(t->lane[0]->lost_events, 1);
	return NULL;
}

/* The calling thread is attached. Brings it up to date and finds its lane. NULL: not to be
 * recorded. */
static struct lane *enter_current(struct thread *t, const struct unwind_start *at)
{
	struct lane *lane = t->lane[0];

	if (t->depth > 0)
		lane = enter_nested(t, at);
	else if (t->epoch != atomic_load(&record_epoch))
		thread_refresh(t);
	if (!lane || t->mode == RECORD_OFF)
		return NULL;
	lane_set_allocator(lane, 0); /* an exception may have left a hook that set another one */
	t->depth = lane->number + 1;
	atomic_signal_fence(memory_order_seq_cst);
	return lane;
}

/* Counts an event that found no thread. */
static void count_lost(void)
{
	struct recorder *rec = record_get();

	if (rec && atomic_load(&record_mode) == RECORD_ON)
		atomic_fetch_add(&rec->lost_events, 1);
}

/* With signals blocked: a handler that came now could use neither the lane that is being prepared
 * nor another one, and its events would be lost. */
static struct lane *enter_masked(const struct unwind_start *at)
{
	struct recorder *rec;
	struct lane *lane = NULL;

	if (atomic_load(&record_mode) <= RECORD_STARTING)
		start_recorder();
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
	start_check_fork();
	if (atomic_load(&record_mode) == RECORD_OFF)
		return NULL; /* before any system call: a program may run like this for days */
	mask = sys_block_signals();
	is_busy = true;
	lane = enter_masked(at);
	is_busy = false;
	sys_restore_signals(mask);
	return lane;
}

/* What malloc_usable_size() returns. Of a chunk of glibc without a call: the word before the block
 * holds flags and the size of the chunk, which includes that word, and the block may also use the
 * first word of the next chunk. */
static size_t usable_bytes(const void *block)
{
	const size_t flags = 7, is_mapping = 2;
	size_t word;

	if (!real_has_chunks)
		return real.malloc_usable_size((void *)block);
	word = ((const size_t *)block)[-1];
	return word & is_mapping ? real.malloc_usable_size((void *)block) : (word & ~flags) - 8;
}

/* Adds the usable size to the event if it is known and not what a reader expects anyway. */
static NOINLINE void add_usable(const void *block, struct event_call *call)
{
	size_t usable;

	if (!real.malloc_usable_size)
		return;
	usable = usable_bytes(block);
	if (usable < call->size_bytes ||
	    (real_is_glibc && usable == event_usual_usable(call->size_bytes)))
		return;
	call->extras |= EVENT_EXTRA_USABLE;
	call->usable_extra_bytes = usable - call->size_bytes;
}

/* Puts any call that was not put in the short form, and before it, if need be, which allocator the
 * call is about. The time is read here if it is 0, or if the
 * lane got a new block since the time was read, because no event may be older than the block that
 * holds it; then the short form may fit after all. False: there was no room; the event is lost and
 * counted. */
static NOINLINE bool put_call(struct lane *lane, unsigned kind, struct event_call *call)
{
	bool may_be_short = false;

	if (!lane_has_room(lane, 3)) {
		COUNT_ADD(lane->lost_events, 1);
		return false;
	}
	if (lane->allocator != lane->enc.allocator) {
		event_put_allocator(&lane->enc, lane->allocator);
		lane_update_fast_path(lane);
		may_be_short = true;
	}
	if (call->ticks < lane->enc.ticks) {
		call->ticks = clock_ticks();
		may_be_short = true;
	}
	if (may_be_short)
		event_put_call(&lane->enc, kind, call);
	else
		event_put_long(&lane->enc, kind, call);
	lane_publish(lane);
	return true;
}

NOINLINE bool capture_put_long(struct lane *lane, unsigned kind, const void *block,
			       size_t size_bytes, uint32_t stack, struct capture_moment when)
{
	struct event_call call = capture_call(block, size_bytes, stack, when);

	return put_call(lane, kind, &call);
}

/* Puts a call without extras in the short form. A time of 0 is read when everything else is known:
 * before a release, after an allocation. False: the call did not fit; *when holds its time, or 0 if
 * it was not read. */
static ALWAYS_INLINE bool put_short(struct lane *lane, unsigned kind, const void *block,
				    size_t size_bytes, uint32_t stack, struct capture_moment *when)
{
	struct event_call call;

	if (unlikely(!event_encoder_has_room(&lane->enc, 1) ||
		     lane->allocator != lane->enc.allocator))
		return false;
	if (!when->ticks)
		when->ticks = clock_ticks();
	call = capture_call(block, size_bytes, stack, *when);
	if (unlikely(!event_put_short(&lane->enc, kind, &call)))
		return false;
	lane_publish(lane);
	return true;
}

NOINLINE void capture_put_unusual(struct lane *lane, unsigned kind, const void *block,
				  size_t size_bytes, uint32_t stack, struct capture_moment when)
{
	struct event_call call = capture_call(block, size_bytes, stack, when);

	add_usable(block, &call);
	put_call(lane, kind, &call);
}

/* The moment of an allocation that has just returned. */
static struct capture_moment alloc_moment(void)
{
	uint64_t ticks = clock_ticks();

	return (struct capture_moment){
		.ticks = ticks,
		.owner_tag = clock_has_many_lanes() ? address_owner_alloc_tag(ticks) : 0};
}

/* Puts the allocation of a block that malloc, calloc or realloc returned. */
static ALWAYS_INLINE void put_alloc(struct lane *lane, unsigned kind, const void *block,
				    size_t size_bytes, uint32_t stack)
{
	struct capture_moment when = alloc_moment();

	if (unlikely(!real_has_chunks || !capture_is_usual_chunk(block, size_bytes)))
		capture_put_unusual(lane, kind, block, size_bytes, stack, when);
	else if (unlikely(!put_short(lane, kind, block, size_bytes, stack, &when)))
		capture_put_long(lane, kind, block, size_bytes, stack, when);
}

/* The id of the stack of a malloc, calloc, realloc or free, after the hook. In a thread that uses
 * the fast path the hook has asked stack_find_fast() in vain. */
static ALWAYS_INLINE uint32_t capture_stack_slow(struct lane *lane, const struct unwind_start *at)
{
	return CONFIG_AUDIT || !lane->thread->fast_epoch ? stack_capture(lane, at)
							 : stack_capture_slow(lane, at);
}

void capture_alloc(struct lane *lane, const struct unwind_start *at, unsigned kind,
		   const void *block, size_t size_bytes, uint32_t stack)
{
	if (unlikely(lane->thread->mode != RECORD_ON))
		return;
	if (!stack)
		stack = capture_stack_slow(lane, at);
	put_alloc(lane, kind, block, size_bytes, stack);
}

void capture_aligned(struct lane *lane, const struct unwind_start *at, const void *block,
		     size_t size_bytes, size_t alignment)
{
	struct event_call call;

	if (lane->thread->mode != RECORD_ON)
		return;
	call = capture_call(block, size_bytes, stack_capture(lane, at), alloc_moment());
	call.alignment = alignment;
	call.extras = EVENT_EXTRA_ALIGNMENT;
	add_usable(block, &call);
	put_call(lane, EVENT_ALIGNED, &call);
}

/* The call is filled in field by field, and not copied: gcc copies two fields by one wide load, which
 * then waits until the narrow stores that have just written them leave the processor. */
void capture_put_known_block(struct lane *lane, unsigned kind, const struct capture_block *b,
			     uint32_t stack, struct capture_moment when)
{
	bool is_known = b->usable_bytes >= b->size_bytes;
	struct event_call call;

	if (!b->alignment && b->usable_bytes == event_usual_usable(b->size_bytes) &&
	    put_short(lane, kind, b->block, b->size_bytes, stack, &when))
		return;
	call.ticks = when.ticks;
	call.addr = (uintptr_t)b->block;
	call.size_bytes = b->size_bytes;
	call.owner_tag = when.owner_tag;
	call.stack = stack;
	call.usable_extra_bytes = is_known ? b->usable_bytes - b->size_bytes : 0;
	call.alignment = b->alignment;
	call.extras =
		(b->alignment ? EVENT_EXTRA_ALIGNMENT : 0) | (is_known ? EVENT_EXTRA_USABLE : 0);
	put_call(lane, kind, &call);
}

void capture_put_block(struct lane *lane, const struct unwind_start *at, unsigned kind,
		       const struct capture_block *b, uint32_t stack)
{
	if (unlikely(lane->thread->mode != RECORD_ON)) {
		if (kind == EVENT_REALLOC_END)
			capture_rare(lane, EVENT_REALLOC_UNTRACKED, NULL, 0);
		return;
	}
	if (!stack)
		stack = stack_capture(lane, at);
	capture_put_known_block(lane, kind, b, stack, alloc_moment());
}

void capture_free(struct lane *lane, const struct unwind_start *at, const void *block,
		  uint32_t stack, struct capture_moment when)
{
	if (!stack && options_active.GRAB_BACKTRACES_ON_FREE && lane->thread->mode == RECORD_ON)
		stack = capture_stack_slow(lane, at);
	if (unlikely(!put_short(lane, EVENT_FREE, block, 0, stack, &when)))
		capture_put_long(lane, EVENT_FREE, block, 0, stack, when);
}

void capture_realloc_begin(struct lane *lane, const struct unwind_start *at,
			   struct capture_realloc *r, size_t size_bytes, struct capture_moment when)
{
	if (!r->stack && likely(lane->thread->mode == RECORD_ON))
		r->stack = capture_stack_slow(lane, at);
	r->record = lane->enc.pos;
	r->is_recorded = true;
	if (likely(put_short(lane, EVENT_REALLOC_BEGIN, r->block, size_bytes, r->stack, &when)))
		return;
	r->record = NULL;
	r->is_recorded = capture_put_long(lane, EVENT_REALLOC_BEGIN, r->block, 0, r->stack, when);
}

void capture_realloc_end(struct lane *lane, const struct capture_realloc *r, const void *block,
			 size_t size_bytes)
{
	if (unlikely(lane->thread->mode != RECORD_ON))
		capture_rare(lane, EVENT_REALLOC_UNTRACKED, NULL, 0);
	else if (block == r->block && r->record && real_has_chunks &&
		 capture_is_usual_chunk(block, size_bytes))
		capture_keep_in_place(lane, r);
	else
		put_alloc(lane, EVENT_REALLOC_END, block, size_bytes, r->stack);
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

NOINLINE void capture_standalone(unsigned kind, const uint64_t *field, unsigned n)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	if (!lane)
		return;
	capture_rare(lane, kind, field, n);
	capture_leave(lane);
}
