/* record/hooks_malloc.c - the malloc family, with libc's semantics to the letter.
 *
 * The real function decides everything that the program can see: result, errno, alignment, failure.
 * An allocation is recorded after the real function returned the block, a release before the real
 * function gets it. So the times of events at one address alternate, whatever other threads do.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "record/allocator_layer.h"
#include "record/allocator_stats.h"
#include "record/capture_fast.h"
#include "record/real.h"

/* C23, not declared by this libc. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
void cfree(void *block);

/* Prefetches what glibc is going to read when this block is freed: its chunk and the next one. The
 * program perhaps did not touch them for long. A CPU that runs ahead would have fetched them early,
 * if the recorder did not come in between: a million blocks freed in random order cost 57 instead
 * of 105 ns more than without the recorder. */
static ALWAYS_INLINE void prefetch_chunk(const void *block)
{
	__builtin_prefetch((const uint8_t *)block - 16);
	__builtin_prefetch((const uint8_t *)block + 64);
}

/* The end of a malloc or calloc that the fast path could not record. */
static NOINLINE void *end_slow(struct lane *lane, const struct unwind_start *at, unsigned kind,
			       void *block, size_t size, uint32_t stack)
{
	if (block)
		capture_alloc(lane, at, kind, block, size, stack);
	capture_leave(lane);
	return block;
}

/* A hook without the fast path begins. */
static struct lane *enter_slow(const struct unwind_start *at)
{
	struct lane *lane = capture_enter(at);

	if (lane)
		allocator_stats_look(lane, at, 0);
	return lane;
}

/* malloc without the fast path. */
static NOINLINE void *malloc_at(const struct unwind_start *at, size_t size)
{
	struct lane *lane = enter_slow(at);
	void *block = options_active.ZERO_MEMORY ? real.calloc(1, size) : real.malloc(size);

	if (!lane)
		allocator_layer_note(0);
	return lane ? end_slow(lane, at, EVENT_MALLOC, block, size, 0) : block;
}

EXPORT void *malloc(size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter_fast();
	struct capture_moment when;
	struct walk_memo *memo;
	uint32_t stack;
	void *block;

	if (unlikely(!lane))
		return malloc_at(CAPTURE_COPY(at), size);
	memo = capture_prepare_fast(lane, &at);
	block = real.malloc(size);
	when = capture_alloc_moment_fast(lane, block);
	stack = capture_stack_fast(lane, memo, &at);
	if (unlikely(!capture_alloc_fast(lane, EVENT_MALLOC, block, size, stack, when)))
		return end_slow(lane, CAPTURE_COPY(at), EVENT_MALLOC, block, size, stack);
	capture_leave_fast(lane);
	return block;
}

static NOINLINE void *calloc_at(const struct unwind_start *at, size_t n, size_t size)
{
	struct lane *lane = enter_slow(at);
	void *block = real.calloc(n, size);

	if (!lane)
		allocator_layer_note(0);
	return lane ? end_slow(lane, at, EVENT_CALLOC, block, n * size, 0) : block;
}

EXPORT void *calloc(size_t n, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter_fast();
	struct capture_moment when;
	struct walk_memo *memo;
	uint32_t stack;
	void *block;

	if (unlikely(!lane))
		return calloc_at(CAPTURE_COPY(at), n, size);
	memo = capture_prepare_fast(lane, &at);
	block = real.calloc(n, size);
	when = capture_alloc_moment_fast(lane, block);
	stack = capture_stack_fast(lane, memo, &at);
	if (unlikely(!capture_alloc_fast(lane, EVENT_CALLOC, block, n * size, stack, when)))
		return end_slow(lane, CAPTURE_COPY(at), EVENT_CALLOC, block, n * size, stack);
	capture_leave_fast(lane);
	return block;
}

static NOINLINE void free_at(const struct unwind_start *at, void *block)
{
	struct lane *lane;

	if (!block)
		return;
	lane = enter_slow(at);
	if (unlikely(!lane)) {
		real.free(block);
		return;
	}
	capture_free(lane, at, block, 0, capture_publish_release(lane, block));
	real.free(block);
	capture_leave(lane);
}

EXPORT void free(void *block)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct capture_moment when;
	struct lane *lane;
	uint32_t stack = 0;

	if (!block)
		return;
	prefetch_chunk(block);
	lane = capture_enter_fast();
	if (unlikely(!lane)) {
		free_at(CAPTURE_COPY(at), block);
		return;
	}
	when = capture_publish_release(lane, block);
	if (unlikely(!capture_free_fast(lane, &at, block, when, &stack)))
		capture_free(lane, CAPTURE_COPY(at), block, stack, when);
	capture_leave_fast(lane); /* before: glibc's free calls none of our hooks */
	real.free(block);
}

/* Functions that an allocator in front of us may lack (free_sized and others): its blocks go to its
 * free(), all others to ours. */
static void free_by_name(const struct unwind_start *at, void *block)
{
	if (!real_is_ready())
		real_init();
	if (real_front.free)
		real_front.free(block);
	else
		free_at(at, block);
}

EXPORT void free_sized(void *block, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();

	(void)size;
	free_by_name(&at, block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();

	(void)alignment;
	(void)size;
	free_by_name(&at, block);
}

EXPORT void cfree(void *block)
{
	struct unwind_start at = CAPTURE_CALLER();

	free_by_name(&at, block);
}

/* realloc(NULL, size). */
static void *malloc_by_realloc(const struct unwind_start *at, size_t size)
{
	struct lane *lane = capture_enter(at);
	void *block = real.realloc(NULL, size);

	return lane ? end_slow(lane, at, EVENT_MALLOC, block, size, 0) : block;
}

/* Records the end of a realloc whose begin was recorded. */
static ALWAYS_INLINE void end_realloc(struct lane *lane, const struct capture_realloc *r,
				      const void *result, size_t size)
{
	if (likely(result))
		capture_realloc_end(lane, r, result, size);
	else if (size == 0)
		capture_rare(lane, EVENT_REALLOC_FREED, NULL, 0); /* glibc frees and returns NULL */
	else
		capture_rare(lane, EVENT_REALLOC_CANCEL, NULL, 0);
}

/* The end of a realloc that the fast path could not record. Its begin was recorded, or lost. */
static NOINLINE void *end_realloc_slow(struct lane *lane, const struct capture_realloc *r,
				       void *result, size_t size)
{
	if (r->is_recorded)
		end_realloc(lane, r, result, size);
	else if (result)
		COUNT_ADD(lane->lost_events, 1);
	capture_leave(lane);
	return result;
}

/* realloc without the fast path. */
static NOINLINE void *realloc_at(const struct unwind_start *at, void *block, size_t size)
{
	struct capture_realloc r = {.block = block};
	struct lane *lane;

	if (!block)
		return malloc_by_realloc(at, size);
	lane = capture_enter(at);
	if (!lane)
		return real.realloc(block, size);
	capture_realloc_begin(lane, at, &r, size, capture_publish_release(lane, block));
	return end_realloc_slow(lane, &r, real.realloc(block, size), size);
}

EXPORT void *realloc(void *block, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct capture_realloc r = {.block = block, .is_recorded = true};
	struct lane *lane = block ? capture_enter_fast() : NULL;
	struct capture_moment when;
	bool is_fast;
	void *result;

	if (unlikely(!lane))
		return realloc_at(CAPTURE_COPY(at), block, size);
	prefetch_chunk(block);
	when = capture_publish_release(lane, block);
	is_fast = capture_realloc_begin_fast(lane, &at, &r, size, when);
	if (unlikely(!is_fast))
		capture_realloc_begin(lane, CAPTURE_COPY(at), &r, size, when);
	result = real.realloc(block, size);
	if (unlikely(!is_fast || !capture_realloc_end_fast(lane, &r, result, size)))
		return end_realloc_slow(lane, &r, result, size);
	capture_leave_fast(lane);
	return result;
}

EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!real_is_ready())
		real_init();
	return real_front.realloc ? real_front.realloc(block, bytes)
				  : realloc_at(&at, block, bytes);
}

/* Records an allocation with an alignment, if it succeeded, and leaves. Returns block. */
static ALWAYS_INLINE void *aligned_result(struct lane *lane, const struct unwind_start *at,
					  void *block, size_t alignment, size_t size)
{
	if (!lane) {
		allocator_layer_note(0);
		return block;
	}
	if (block)
		capture_aligned(lane, at, block, size, alignment);
	capture_leave(lane);
	return block;
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);
	int error = real.posix_memalign(ret, alignment, size);

	aligned_result(lane, &at, error ? NULL : *ret, alignment, size);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	return aligned_result(lane, &at, real.aligned_alloc(alignment, size), alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	return aligned_result(lane, &at, real.memalign(alignment, size), alignment, size);
}

EXPORT void *valloc(size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	return aligned_result(lane, &at, real.valloc(size), 4096, size);
}

EXPORT void *pvalloc(size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	return aligned_result(lane, &at, real.pvalloc(size), 4096, size);
}

EXPORT size_t malloc_usable_size(void *block)
{
	if (!real_is_ready())
		real_init();
	return real.malloc_usable_size(block);
}

EXPORT int mallopt(int parameter, int value)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);
	int result = real.mallopt(parameter, value);
	uint64_t field[4] = {zigzag(parameter), zigzag(value), zigzag(result)};

	if (lane) {
		capture_rare_call(lane, &at, EVENT_MALLOPT, field, 3);
		capture_leave(lane);
	}
	return result;
}

EXPORT int malloc_trim(size_t pad)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);
	int result = real.malloc_trim(pad);
	uint64_t field[3] = {pad, (uint64_t)result};

	if (lane) {
		capture_rare_call(lane, &at, EVENT_MALLOC_TRIM, field, 2);
		capture_leave(lane);
	}
	return result;
}
