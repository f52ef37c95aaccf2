/* record/hooks_allocator.c - see hooks_allocator.h.
 *
 * As in hooks_malloc.c the original decides everything that the program can see: result, errno,
 * exceptions.
 */
#include "record/hooks_allocator.h"

#include <stddef.h>

#include "base/units.h"
#include "record/allocator_stats.h"
#include "record/capture_fast.h"
#include "record/real.h"

typedef uintptr_t (*original_fn)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* The thread is inside an original. These are the stack pointer of the hook's caller, 0: it is not, and
 * the hook's return address, which lies right below. */
static _Thread_local struct {
	uintptr_t sp;
	uintptr_t pc;
	uint32_t n_nested; /* calls of hooks since */
} inside;

/* Is this call part of a call that is being recorded already? In the end a walk of the stack decides,
 * which capture_enter() does when a hook is under way: the hook may also have been interrupted by a
 * signal, or left by an exception or longjmp(). Three cases are so common that they are believed
 * without a walk:
 *	- the thread is inside an original that throws no exception, and the return address of the
 *	  hook that called the original is still on the stack. An original calls few others, so
 *	  this is believed of the first BELIEVED_NESTED_CALLS only;
 *	- a hook of hooks_malloc.c makes the call: the next malloc() is one of ours;
 *	- a hook is under way, and the library that holds the allocator makes the call itself. */
#define BELIEVED_NESTED_CALLS 4u
#define BELIEVED_STACK_BYTES (64 * KIB) /* of the original and what it has called */

struct call {
	struct unwind_start at;
	const struct allocator_hook *hook;
	uintptr_t argument[ALLOCATOR_HOOK_ARGUMENTS];
};

/* Argument number n, from 1; 0 if there is no such argument. */
static ALWAYS_INLINE uintptr_t argument(const struct call *c, unsigned n)
{
	return n ? c->argument[n - 1] : 0;
}

static ALWAYS_INLINE bool is_nested(const struct call *c)
{
	const struct thread *t = thread_self;

	if (likely(!t || !atomic_load_explicit(&t->depth, memory_order_relaxed)))
		return false;
	if (real_is_libc_code(c->at.pc))
		return false; /* for memory of its own: capture_enter_slow() */
	if (inside.sp && inside.sp - c->at.sp - 1 < BELIEVED_STACK_BYTES &&
	    ((const uintptr_t *)inside.sp)[-1] == inside.pc &&
	    inside.n_nested++ < BELIEVED_NESTED_CALLS)
		return true;
	return c->at.pc - c->hook->library_start < c->hook->library_bytes ||
	       capture_is_own_code(c->at.pc);
}

static ALWAYS_INLINE uintptr_t call_directly(const struct call *c)
{
	original_fn original = (original_fn)(uintptr_t)c->hook->original;

	return original(c->argument[0], c->argument[1], c->argument[2], c->argument[3],
			c->argument[4]);
}

static ALWAYS_INLINE uintptr_t call_original(const struct call *c)
{
	uintptr_t result;

	inside.n_nested = 0;
	inside.pc = c->at.pc;
	inside.sp = c->hook->may_throw ? 0 : c->at.sp;
	result = call_directly(c);
	inside.sp = 0;
	return result;
}

/* As capture_enter(); also NULL for a call that is part of another one. */
static ALWAYS_INLINE struct lane *enter(const struct call *c)
{
	struct lane *lane = is_nested(c) ? NULL : capture_enter(&c->at);

	if (lane) {
		lane_set_allocator(lane, c->hook->allocator);
		allocator_stats_look(lane, &c->at, c->hook->allocator);
	}
	return lane;
}

static ALWAYS_INLINE void leave(struct lane *lane)
{
	lane_set_allocator(lane, 0);
	capture_leave(lane);
}

/* Rust gives an alignment with each call: one that every block has anyway is none. */
static size_t wanted_alignment(const struct call *c)
{
	const struct allocator_function *f = &c->hook->function;
	unsigned log2 = argument(c, f->flags) & 63;

	if (f->event == ALLOCATOR_PAGES)
		return 4096;
	if (c->hook->layer && argument(c, f->alignment) <= _Alignof(max_align_t))
		return 0;
	return f->flags ? (size_t)(log2 != 0) << log2 : argument(c, f->alignment);
}

static ALWAYS_INLINE void describe(const struct call *c, uintptr_t result,
				   struct capture_block *ret)
{
	const struct allocator_function *f = &c->hook->function;
	const void *block = (const void *)result;
	size_t size_bytes = argument(c, f->size) * (f->count ? argument(c, f->count) : 1);
	size_t usable_bytes = c->hook->usable ? c->hook->usable(block, 0) : size_bytes;

	ret->block = block;
	ret->size_bytes = f->size ? size_bytes : usable_bytes;
	ret->usable_bytes = usable_bytes;
	ret->alignment = wanted_alignment(c);
}

static bool is_zeroed(const struct call *c)
{
	const struct allocator_function *f = &c->hook->function;

	return f->event == ALLOCATOR_ZERO || (argument(c, f->flags) & 64);
}

static unsigned kind_of(const struct call *c, const struct capture_block *b)
{
	return b->alignment ? EVENT_ALIGNED : is_zeroed(c) ? EVENT_CALLOC : EVENT_MALLOC;
}

static void record_alloc(struct lane *lane, const struct call *c, uintptr_t result)
{
	struct capture_block b;

	describe(c, result, &b);
	capture_put_block(lane, &c->at, kind_of(c, &b), &b, 0);
}

/* May the functions of capture_fast.h be used? As for malloc() itself, only that the lane's events are
 * about this allocator, and that its blocks are no chunks of glibc. */
static ALWAYS_INLINE bool is_fast(const struct lane *lane, const struct call *c)
{
	return lane->number == 0 && lane->enc.allocator == c->hook->allocator &&
	       lane->thread->usual_fast_epoch ==
		       atomic_load_explicit(&record_epoch, memory_order_relaxed);
}

/* False: the stack is not known at once. */
static ALWAYS_INLINE bool record_alloc_fast(struct lane *lane, const struct call *c,
					    struct walk_memo *memo, uintptr_t result)
{
	struct capture_moment when = capture_alloc_moment_fast(lane, (const void *)result);
	uint32_t stack = capture_stack_fast(lane, memo, &c->at);
	struct capture_block b;

	if (unlikely(!stack))
		return false;
	describe(c, result, &b);
	capture_put_known_block(lane, kind_of(c, &b), &b, stack, when);
	return true;
}

static ALWAYS_INLINE uintptr_t allocate(const struct call *c)
{
	struct lane *lane = enter(c);
	struct walk_memo *memo;
	uintptr_t result;

	if (!lane) {
		allocator_layer_note(c->hook->allocator);
		return call_directly(c);
	}
	memo = is_fast(lane, c) ? capture_prepare_fast(lane, &c->at) : NULL;
	result = call_original(c);
	if (result && (!memo || !record_alloc_fast(lane, c, memo, result)))
		record_alloc(lane, c, result);
	leave(lane);
	return result;
}

#define HOOK_PARAMETERS                                                                            \
	uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,                           \
		const struct allocator_hook *hook
#define HOOK_CALL()                                                                                \
	((struct call){.at = CAPTURE_CALLER(), .hook = hook, .argument = {a, b, c, d, e}})

static NOINLINE uintptr_t hook_alloc(HOOK_PARAMETERS)
{
	struct call call = HOOK_CALL();

	return allocate(&call);
}

static NOINLINE uintptr_t hook_free(HOOK_PARAMETERS)
{
	struct call call = HOOK_CALL();
	const void *block = (const void *)argument(&call, hook->function.block);
	struct lane *lane = block ? enter(&call) : NULL;
	struct capture_moment when;
	uint32_t stack = 0;
	uintptr_t result;

	if (!lane)
		return call_directly(&call);
	when = capture_publish_release(lane, block);
	if (!is_fast(lane, &call) || !capture_free_fast(lane, &call.at, block, when, &stack))
		capture_free(lane, &call.at, block, stack, when);
	result = call_original(&call);
	leave(lane);
	return result;
}

static void end_realloc(struct lane *lane, const struct call *c, const struct capture_realloc *r,
			uintptr_t result)
{
	const struct allocator_function *f = &c->hook->function;
	struct capture_block b;

	if (!r->is_recorded) {
		COUNT_ADD(lane->lost_events, result ? 1 : 0);
	} else if (result) {
		describe(c, result, &b);
		capture_put_block(lane, &c->at, EVENT_REALLOC_END, &b, r->stack);
	} else if (argument(c, f->size) == 0 || f->event == ALLOCATOR_REALLOCF) {
		capture_rare(lane, EVENT_REALLOC_FREED, NULL, 0);
	} else {
		capture_rare(lane, EVENT_REALLOC_CANCEL, NULL, 0);
	}
}

static NOINLINE uintptr_t hook_realloc(HOOK_PARAMETERS)
{
	struct call call = HOOK_CALL();
	struct capture_realloc r = {
		.block = (const void *)argument(&call, hook->function.block),
	};
	struct lane *lane;
	uintptr_t result;

	if (!r.block)
		return allocate(&call);
	lane = enter(&call);
	if (!lane)
		return call_directly(&call);
	capture_realloc_begin(lane, &call.at, &r, argument(&call, hook->function.size),
			      capture_publish_release(lane, r.block));
	result = call_original(&call);
	end_realloc(lane, &call, &r, result);
	leave(lane);
	return result;
}

static NOINLINE uintptr_t hook_memalign(HOOK_PARAMETERS)
{
	struct call call = HOOK_CALL();
	struct lane *lane = enter(&call);
	uintptr_t error, block;

	if (!lane) {
		allocator_layer_note(hook->allocator);
		return call_directly(&call);
	}
	error = call_original(&call);
	if ((int)error == 0) {
		block = *(const uintptr_t *)argument(&call, hook->function.block);
		if (block)
			record_alloc(lane, &call, block);
	}
	leave(lane);
	return error;
}

/* The block stays where it is and nobody else can get it, so both events may come afterwards. */
static NOINLINE uintptr_t hook_resize(HOOK_PARAMETERS)
{
	struct call call = HOOK_CALL();
	struct capture_realloc r = {
		.block = (const void *)argument(&call, hook->function.block),
	};
	size_t wanted = argument(&call, hook->function.size);
	struct lane *lane = enter(&call);
	uintptr_t usable;

	if (!lane)
		return call_directly(&call);
	usable = call_original(&call);
	if (usable >= wanted) {
		capture_realloc_begin(lane, &call.at, &r, wanted,
				      capture_publish_release(lane, r.block));
		end_realloc(lane, &call, &r, (uintptr_t)r.block);
	}
	leave(lane);
	return usable;
}

/* ---- layers (allocator_layer.h) ----
 *
 * A hook of a layer that has stepped aside leaves by a jump: the allocator below must not find the
 * recorder on the stack. */

static ALWAYS_INLINE uintptr_t call_aside(const struct allocator_hook *hook, uintptr_t a,
					  uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
{
	return ((original_fn)(uintptr_t)hook->original)(a, b, c, d, e);
}

/* Records what the layer has allocated. Of a block of the C library's a reader knows how many bytes
 * are usable. */
static void record_layer_alloc(struct lane *lane, const struct call *c, uintptr_t result)
{
	struct capture_block b;

	describe(c, result, &b);
	lane_set_allocator(lane, allocator_layer_on_alloc(c->hook->layer));
	if (!lane->allocator)
		b.usable_bytes = 0;
	capture_put_block(lane, &c->at, kind_of(c, &b), &b, 0);
}

static uintptr_t layer_alloc(const struct call *c)
{
	struct lane *lane = enter(c);
	uintptr_t result;

	if (!lane)
		return call_directly(c);
	allocator_layer_begin();
	result = call_original(c);
	if (result)
		record_layer_alloc(lane, c, result);
	leave(lane);
	return result;
}

static NOINLINE uintptr_t hook_layer_alloc(HOOK_PARAMETERS)
{
	struct call call;

	if (allocator_layer_is_aside(hook->layer))
		return call_aside(hook, a, b, c, d, e);
	call = HOOK_CALL();
	return layer_alloc(&call);
}

static uintptr_t layer_free(const struct call *c)
{
	const void *block = (const void *)argument(c, c->hook->function.block);
	struct lane *lane = block ? enter(c) : NULL;
	uintptr_t result;

	if (!lane)
		return call_directly(c);
	lane_set_allocator(lane, allocator_layer_number(c->hook->layer));
	capture_free(lane, &c->at, block, 0, capture_publish_release(lane, block));
	result = call_original(c);
	leave(lane);
	return result;
}

static NOINLINE uintptr_t hook_layer_free(HOOK_PARAMETERS)
{
	struct call call;

	if (allocator_layer_is_aside(hook->layer))
		return call_aside(hook, a, b, c, d, e);
	call = HOOK_CALL();
	return layer_free(&call);
}

static uintptr_t layer_realloc(const struct call *c)
{
	struct capture_realloc r = {.block = (const void *)argument(c, c->hook->function.block)};
	struct lane *lane = r.block ? enter(c) : NULL;
	uintptr_t result;

	if (!lane)
		return call_directly(c);
	lane_set_allocator(lane, allocator_layer_number(c->hook->layer));
	capture_realloc_begin(lane, &c->at, &r, argument(c, c->hook->function.size),
			      capture_publish_release(lane, r.block));
	result = call_original(c);
	end_realloc(lane, c, &r, result);
	leave(lane);
	return result;
}

static NOINLINE uintptr_t hook_layer_realloc(HOOK_PARAMETERS)
{
	struct call call;

	if (allocator_layer_is_aside(hook->layer))
		return call_aside(hook, a, b, c, d, e);
	call = HOOK_CALL();
	return layer_realloc(&call);
}

static const void *layer_entry(enum allocator_event event)
{
	switch (event) {
	case ALLOCATOR_ALLOC:
	case ALLOCATOR_ZERO:
		return (const void *)hook_layer_alloc;
	case ALLOCATOR_FREE:
		return (const void *)hook_layer_free;
	case ALLOCATOR_REALLOC:
		return (const void *)hook_layer_realloc;
	default:
		return NULL;
	}
}

const void *allocator_hook_entry(enum allocator_event event, bool is_layer)
{
	if (is_layer)
		return layer_entry(event);
	switch (event) {
	case ALLOCATOR_ALLOC:
	case ALLOCATOR_ZERO:
	case ALLOCATOR_PAGES:
		return (const void *)hook_alloc;
	case ALLOCATOR_FREE:
		return (const void *)hook_free;
	case ALLOCATOR_REALLOC:
	case ALLOCATOR_REALLOCF:
		return (const void *)hook_realloc;
	case ALLOCATOR_MEMALIGN:
		return (const void *)hook_memalign;
	case ALLOCATOR_RESIZE:
		return (const void *)hook_resize;
	default:
		return NULL;
	}
}
