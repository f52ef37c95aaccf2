/* unwind/unwind.h - the call stack of the running thread, exactly, from .eh_frame.
 *
 * Runs inside the target process, in hooks and in signal handlers: no allocation, no lock that
 * can block, no libc call that may do either, no write to errno, no read of memory that may not
 * be mapped. Return addresses are never patched. All state is in memory that the caller provides.
 *
 * Two ways lead to one result. The fast one carries pc, sp and fp only and takes compact rules
 * from a cache keyed by pc. Where a frame needs more (a signal frame, a CFA in another register,
 * an expression), the walk starts again from our own frame with all registers and full CFI.
 * When neither knows the way the stack ends there and says why: enum unwind_end. A frame is
 * never invented: one that only the frame pointer suggests is accepted after the checks in
 * fp_walk.c and is announced by n_certain.
 *
 * Code that comes and goes: unwind_code_changing()/unwind_code_changed() bracket whatever removes
 * code (dlclose, __deregister_frame). While a change is under way nothing is taken from a cache;
 * afterwards unwind_generation() has grown and every cache is empty.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "base/compiler.h"

/* Why a walk ended. Values are stable: they are written into recordings. */
enum unwind_end {
	UNWIND_COMPLETE = 0, /* reached a frame that says it has no caller */
	UNWIND_NO_INFO = 1, /* code without unwind information, frame pointer not convincing */
	UNWIND_BAD_INFO = 2, /* unwind information present but malformed or not understood */
	UNWIND_BAD_MEMORY = 3, /* a word the rules ask for is not readable */
	UNWIND_NOT_CODE = 4, /* the return address is in no executable memory */
	UNWIND_NO_PROGRESS = 5, /* the rules lead nowhere: the stack pointer did not move up */
	UNWIND_NO_ROOM = 6, /* more frames than the caller's array holds: grow it and ask again */
	UNWIND_N_ENDS = 7,
};

/* The caller of the hook, as the hook sees it: pc is the hook's return address, sp the stack
 * pointer after the hook has returned, fp the caller's frame pointer register. */
struct unwind_start {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
};

/* Result of a walk. addr[0] is the innermost caller. Each entry is such that addr - 1 lies inside
 * the instruction that was executing: a return address as it is, an interrupted pc plus one. */
struct unwind_frames {
	uintptr_t *addr; /* caller's array */
	size_t capacity;
	size_t n; /* entries filled */
	size_t n_certain; /* entries before the first frame that only the frame pointer suggests;
			     == n for all stacks but those */
	enum unwind_end end;
	bool crossed_signal; /* a signal frame lies between this event and the outermost frame */
	uintptr_t signal_sp; /* stack pointer of the first interrupted frame when crossed_signal */
	size_t signal_index; /* index in addr of that frame when crossed_signal */
};

/* Per-thread caches. Lives in memory of the caller (zeroed), never moves while in use, may be
 * used by one thread (or one nesting level of a thread) at a time. Large, touched lazily. */
struct unwind_thread;
extern const size_t unwind_thread_bytes;

/* Once per process, before anything else and again in a forked child. Finds _dl_find_object and
 * the main stack's end. Returns 0, or -errno when nothing can be unwound here. */
int unwind_init(void);

/* Makes a zeroed area of unwind_thread_bytes usable, or hands one that a thread which has ended
 * used to another thread (cached rules stay). use_cache false = walk every frame through
 * full CFI (MEMORY_PROFILER_USE_SHADOW_STACK=0). */
void unwind_thread_init(struct unwind_thread *ut, bool use_cache);

/* Walks. out->addr and out->capacity are set by the caller, the rest by the walk. */
void unwind_walk(struct unwind_thread *ut, const struct unwind_start *start,
		 struct unwind_frames *out);

/* Counters of this thread since unwind_thread_init(). */
struct unwind_stats {
	uint64_t n_walks;
	uint64_t n_slow_walks; /* walks that needed all registers */
	uint64_t n_rule_misses; /* rules built from .eh_frame */
	uint64_t n_cached_walks; /* stacks that came from the path */
	uint64_t n_known_stacks; /* of these, stacks that were known as a whole */
	uint64_t n_fresh_frames; /* frames walked in the others; the rest was validated */
};
void unwind_thread_stats(const struct unwind_thread *ut, struct unwind_stats *ret);

/* Brackets for code that is about to go away. Nest and may run in several threads at once. */
void unwind_code_changing(void);
void unwind_code_changed(void);

/* Even and growing while nothing changes; odd while a change is under way. One load. */
uint32_t unwind_generation(void);

/* Frames that the target registered with __register_frame(): table is in .eh_frame format, ends
 * with a zero length, and stays the target's. ERANGE-like failures (too many tables) return
 * false; code in such a table then ends stacks with UNWIND_NO_INFO. */
bool unwind_register_frames(const void *table);
void unwind_deregister_frames(const void *table);

/* A loaded ELF image as the program headers describe it. Pointers are borrowed from the dynamic
 * linker and stay good while a frame of that image is on the stack. */
struct unwind_module {
	uintptr_t base; /* load bias: address = base + p_vaddr */
	uintptr_t start; /* lowest mapped address */
	uintptr_t end; /* one past the highest */
	const char *path; /* the linker's name; "" for the main program */
	const uint8_t *build_id; /* from PT_NOTE, NULL when there is none */
	size_t build_id_bytes;
};

/* Finds the image that holds this address (a return address minus one). False when the address is
 * in none (JIT code, vdso without a link map ...). Takes no lock. */
bool unwind_find_module(uintptr_t addr, struct unwind_module *ret);

#endif
