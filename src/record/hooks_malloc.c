/* record/hooks_malloc.c - the malloc family, with libc's semantics to the letter.
 *
 * The real function decides everything that the program can see: result, errno, alignment,
 * failure. A block is recorded after it was obtained and before it is released, so that for one
 * address the times alternate whatever other threads do.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "record/capture.h"
#include "record/real.h"

/* C23, not declared by this libc. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);
void cfree(void *block);

/* A block that is given back to glibc was perhaps not looked at for long. glibc is going to look at its
 * chunk and at the one behind it, so let them be fetched while the call is recorded. A CPU that runs
 * ahead would have done the same, if it were not for us: a million blocks freed in random order
 * cost 57 instead of 105 ns more than without us. */
static ALWAYS_INLINE void fetch_chunk(const void *block)
{
	__builtin_prefetch((const uint8_t *)block - 16);
	__builtin_prefetch((const uint8_t *)block + 64);
}

/* The end of a malloc or calloc that the quick way could not record. */
static NOINLINE void *end_slowly(struct lane *lane, const struct unwind_start *at, unsigned kind,
				 void *block, size_t size, uint32_t stack)
{
	if (block)
		capture_obtained(lane, at, kind, block, size, stack);
	capture_leave(lane);
	return block;
}

static NOINLINE void *malloc_at(const struct unwind_start *at, size_t size)
{
	struct lane *lane = capture_enter(at);
	void *block = record_options.ZERO_MEMORY ? real.calloc(1, size) : real.malloc(size);

	return lane ? end_slowly(lane, at, EVENT_MALLOC, block, size, 0) : block;
}

EXPORT void *malloc(size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter_quick();
	struct capture_moment when;
	struct walk_memo *memo;
	uint32_t stack;
	void *block;

	if (unlikely(!lane))
		return malloc_at(CAPTURE_COPY(at), size);
	memo = capture_prepare_quick(lane, &at);
	block = real.malloc(size);
	when = capture_birth_quick(lane, block);
	stack = capture_stack_quick(lane, memo, &at);
	if (unlikely(!capture_obtained_quick(lane, EVENT_MALLOC, block, size, stack, when)))
		return end_slowly(lane, CAPTURE_COPY(at), EVENT_MALLOC, block, size, stack);
	capture_leave_quick(lane);
	return block;
}

static NOINLINE void *calloc_at(const struct unwind_start *at, size_t n, size_t size)
{
	struct lane *lane = capture_enter(at);
	void *block = real.calloc(n, size);

	return lane ? end_slowly(lane, at, EVENT_CALLOC, block, n * size, 0) : block;
}

EXPORT void *calloc(size_t n, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter_quick();
	struct capture_moment when;
	struct walk_memo *memo;
	uint32_t stack;
	void *block;

	if (unlikely(!lane))
		return calloc_at(CAPTURE_COPY(at), n, size);
	memo = capture_prepare_quick(lane, &at);
	block = real.calloc(n, size);
	when = capture_birth_quick(lane, block);
	stack = capture_stack_quick(lane, memo, &at);
	if (unlikely(!capture_obtained_quick(lane, EVENT_CALLOC, block, n * size, stack, when)))
		return end_slowly(lane, CAPTURE_COPY(at), EVENT_CALLOC, block, n * size, stack);
	capture_leave_quick(lane);
	return block;
}

static NOINLINE void free_at(const struct unwind_start *at, void *block)
{
	struct lane *lane;

	if (!block)
		return;
	lane = capture_enter(at);
	if (unlikely(!lane)) {
		real.free(block);
		return;
	}
	capture_free(lane, at, block, 0, capture_wait_for_block(lane, block));
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
	fetch_chunk(block);
	lane = capture_enter_quick();
	if (unlikely(!lane)) {
		free_at(CAPTURE_COPY(at), block);
		return;
	}
	when = capture_wait_for_block(lane, block);
	if (unlikely(!capture_free_quick(lane, &at, block, when, &stack)))
		capture_free(lane, CAPTURE_COPY(at), block, stack, when);
	capture_leave_quick(lane); /* glibc's free, which it is here, calls none of our hooks */
	real.free(block);
}

/* Names that an allocator in front of us may lack: its blocks go to its free(), all others to ours. */
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

/* realloc(NULL, size): the real function decides, as everywhere. */
static void *malloc_by_realloc(const struct unwind_start *at, size_t size)
{
	struct lane *lane = capture_enter(at);
	void *block = real.realloc(NULL, size);

	return lane ? end_slowly(lane, at, EVENT_MALLOC, block, size, 0) : block;
}

/* The outcome of a realloc whose begin was recorded. errno belongs to the real function. */
static ALWAYS_INLINE void end_realloc(struct lane *lane, const struct capture_realloc *r,
				      const void *result, size_t size)
{
	if (likely(result))
		capture_realloc_end(lane, r, result, size);
	else if (size == 0)
		capture_rare(lane, EVENT_REALLOC_FREED, NULL, 0); /* glibc frees and gives NULL */
	else
		capture_rare(lane, EVENT_REALLOC_CANCEL, NULL, 0);
}

/* The end of a realloc of a block whose beginning was recorded, or could not be. */
static NOINLINE void *end_realloc_slowly(struct lane *lane, const struct capture_realloc *r,
					 void *result, size_t size)
{
	if (r->is_recorded)
		end_realloc(lane, r, result, size);
	else if (result)
		COUNT_ADD(lane->lost_events, 1);
	capture_leave(lane);
	return result;
}

static NOINLINE void *realloc_at(const struct unwind_start *at, void *block, size_t size)
{
	struct capture_realloc r = {.block = block};
	struct lane *lane;

	if (!block)
		return malloc_by_realloc(at, size);
	lane = capture_enter(at);
	if (!lane)
		return real.realloc(block, size);
	capture_realloc_begin(lane, at, &r, size, capture_wait_for_block(lane, block));
	return end_realloc_slowly(lane, &r, real.realloc(block, size), size);
}

EXPORT void *realloc(void *block, size_t size)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct capture_realloc r = {.block = block, .is_recorded = true};
	struct lane *lane = block ? capture_enter_quick() : NULL;
	struct capture_moment when;
	bool is_quick;
	void *result;

	if (unlikely(!lane))
		return realloc_at(CAPTURE_COPY(at), block, size);
	fetch_chunk(block);
	when = capture_wait_for_block(lane, block);
	is_quick = capture_realloc_begin_quick(lane, &at, &r, size, when);
	if (unlikely(!is_quick))
		capture_realloc_begin(lane, CAPTURE_COPY(at), &r, size, when);
	result = real.realloc(block, size);
	if (unlikely(!is_quick || !capture_realloc_end_quick(lane, &r, result, size)))
		return end_realloc_slowly(lane, &r, result, size);
	capture_leave_quick(lane);
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

static ALWAYS_INLINE void *aligned_result(struct lane *lane, const struct unwind_start *at,
					  void *block, size_t alignment, size_t size)
{
	if (!lane)
		return block;
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
