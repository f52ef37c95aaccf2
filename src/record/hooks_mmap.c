/* record/hooks_mmap.c - mmap, munmap, mprotect, mremap, brk and sbrk of the program.
 *
 * Recorded with MEMORY_PROFILER_GATHER_MMAP_CALLS=1 only (mprotect never). They are not allocations.
 * Calls that libc makes inside itself do not come here. The unwinder always hears of code that
 * goes away.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/capture.h"
#include "record/real.h"
#include "unwind/unwind.h"

/* The lane for this call. NULL: such calls are not recorded, or recording is paused. */
static ALWAYS_INLINE struct lane *enter_map(const struct unwind_start *at)
{
	struct lane *lane;

	if (unlikely(!real_is_ready()))
		real_init();
	if (likely(!options_active.GATHER_MMAP_CALLS))
		return NULL;
	lane = capture_enter(at);
	if (lane && lane->thread->mode != RECORD_ON) {
		capture_leave(lane);
		return NULL;
	}
	return lane;
}

/* Before the mappings at addr go away or are replaced. Returns what unmapped() is to be given. */
static inline bool unmapping(const void *addr, size_t len)
{
	return unwind_unmapping((uintptr_t)addr, (uintptr_t)addr + len, false);
}

static inline void unmapped(bool is_known)
{
	if (unlikely(is_known))
		unwind_code_changed();
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = enter_map(&at);
	bool is_known = (flags & MAP_FIXED) && unmapping(addr, len);
	void *result = real.mmap(addr, len, prot, flags, fd, offset);

	unmapped(is_known);
	if (!lane)
		return result;
	if (result != MAP_FAILED) {
		uint64_t field[7] = {(uintptr_t)result, len,        (uint32_t)prot,
				     (uint32_t)flags,   zigzag(fd), (uint64_t)offset};

		capture_rare_call(lane, &at, EVENT_MMAP, field, 6);
	}
	capture_leave(lane);
	return result;
}

/* The same function where off_t has 64 bits. An alias, so that CAPTURE_CALLER() finds the program's
 * frame. */
#ifdef mmap64
#undef mmap64
#endif
EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
	__attribute__((alias("mmap")));

EXPORT int munmap(void *addr, size_t len)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = enter_map(&at);
	bool is_known = unmapping(addr, len);
	uint64_t field[3] = {(uintptr_t)addr, len};
	int result;

	if (lane)
		capture_rare_call(lane, &at, EVENT_MUNMAP, field, 2);
	result = real.munmap(addr, len);
	unmapped(is_known);
	if (lane)
		capture_leave(lane);
	return result;
}

/* Before code becomes non-executable: compilers do so in order to write there. */
static bool protecting(const void *addr, size_t len, int prot)
{
	if (unlikely(!real_is_ready()))
		real_init();
	return !(prot & PROT_EXEC) &&
	       unwind_unmapping((uintptr_t)addr, (uintptr_t)addr + len, true);
}

EXPORT int mprotect(void *addr, size_t len, int prot)
{
	bool is_known = protecting(addr, len, prot);
	int result = real.mprotect(addr, len, prot);

	unmapped(is_known);
	return result;
}

EXPORT int pkey_mprotect(void *addr, size_t len, int prot, int pkey)
{
	bool is_known = protecting(addr, len, prot);
	int result = -1;

	if (real.pkey_mprotect)
		result = real.pkey_mprotect(addr, len, prot, pkey);
	else
		errno = ENOSYS;
	unmapped(is_known);
	return result;
}

EXPORT void *mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = enter_map(&at);
	bool is_known = unmapping(old, old_len);
	void *new_addr = NULL, *result;
	va_list args;

	va_start(args, flags);
	if (flags & MREMAP_FIXED)
		new_addr = va_arg(args, void *);
	va_end(args);
	result = real.mremap(old, old_len, new_len, flags, new_addr);
	unmapped(is_known);
	if (!lane)
		return result;
	if (result != MAP_FAILED) {
		uint64_t field[6] = {(uintptr_t)old, old_len, (uintptr_t)result, new_len,
				     (uint32_t)flags};

		capture_rare_call(lane, &at, EVENT_MREMAP, field, 5);
	}
	capture_leave(lane);
	return result;
}

EXPORT int brk(void *end)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = enter_map(&at);
	void *before = lane ? real.sbrk(0) : NULL;
	int result = real.brk(end);

	if (!lane)
		return result;
	if (result == 0) {
		uint64_t field[3] = {(uintptr_t)before, (uintptr_t)end};

		capture_rare_call(lane, &at, EVENT_BRK, field, 2);
	}
	capture_leave(lane);
	return result;
}

EXPORT void *sbrk(intptr_t increment)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = enter_map(&at);
	void *before = real.sbrk(increment);

	if (!lane)
		return before;
	if (before != (void *)-1 && increment) {
		uint64_t field[3] = {(uintptr_t)before, (uintptr_t)before + (uintptr_t)increment};

		capture_rare_call(lane, &at, EVENT_BRK, field, 2);
	}
	capture_leave(lane);
	return before;
}
