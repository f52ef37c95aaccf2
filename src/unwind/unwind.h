/* unwind/unwind.h - the call stack of the running thread, exactly, from .eh_frame.
 *
 * Runs inside the target process, in hooks and in signal handlers: no allocation, no lock that
 * can block, no libc call that may do either, no write to errno, no read of memory that may not
 * be mapped. Return addresses are never patched. All state is in memory that the caller provides.
 *
 * Two walks lead to one result. The fast walk carries pc, sp and fp only and takes compact rules
 * from a cache keyed by pc. Where a frame needs more (a signal frame, a CFA in another register,
 * an expression), the slow walk starts again from our own frame with all registers and full CFI.
 * When neither knows the way, the stack ends there and says why: enum unwind_end. A frame is
 * never invented: a frame that only the frame pointer suggests is accepted after the checks in
 * fp_walk.c, and n_certain announces it.
 *
 * Most events need no walk at all: stack_cache.h keeps the last stack and compares it.
 *
 * Code that comes and goes: unwind_code_changing()/unwind_code_changed() bracket whatever removes
 * code (dlclose, __deregister_frame). While a change is under way nothing is taken from a cache;
 * afterwards unwind_generation() has grown and every cache is empty.
 *
 * docs/internals/unwinder.md explains how it works and what was tried.
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

/* An unwinder: state and caches of one thread. Lives in zeroed memory of the caller, never moves
 * while in use, and may be used by one thread (or one nesting level of a thread) at a time. Large;
 * its pages are touched as they are needed. */
struct unwind_thread; /* opaque: defined in unwind_thread_i.h */
extern const size_t unwind_thread_bytes;

/* Once per process, before anything else, and again in a forked child. Finds the end of the main
 * stack, the main program and the dynamic linker. Cannot fail: what is not found makes walks slower
 * (words are read through the kernel), or end earlier with a reason. */
void unwind_init(void);

/* Makes a zeroed area of unwind_thread_bytes usable, or hands the unwinder of a thread that has
 * ended to another thread (cached rules stay). use_cache false: walk every frame through full CFI
 * (MEMORY_PROFILER_USE_SHADOW_STACK=0). */
void unwind_thread_init(struct unwind_thread *ut, bool use_cache);

/* Walks from start to the outermost frame. The caller sets out->addr and out->capacity, the walk
 * sets the rest; out->end says whether and why the stack is cut. */
void unwind_walk(struct unwind_thread *ut, const struct unwind_start *start,
		 struct unwind_frames *out);

/* Counters of this thread since unwind_thread_init(). */
struct unwind_stats {
	uint64_t n_walks;
	uint64_t n_slow_walks; /* walks that needed all registers */
	uint64_t n_rule_misses; /* rules built from .eh_frame */
	uint64_t n_cached_walks; /* stacks that the stack cache answered */
	uint64_t n_known_stacks; /* of these, stacks that were known as a whole */
	uint64_t n_fresh_frames; /* frames walked in the others; the rest was compared */
};

/* May be called by another thread than the unwinder's: each counter is read atomically. */
void unwind_thread_stats(const struct unwind_thread *ut, struct unwind_stats *ret);

/* Brackets for code that is about to go away. Brackets nest and may run in several threads at
 * once. */
void unwind_code_changing(void);
void unwind_code_changed(void);

/* Even while nothing changes, odd while a change is under way, and larger after each change. One
 * load. */
uint32_t unwind_generation(void);

/* Frames that the target registered with __register_frame(): table is in .eh_frame format, ends
 * with a zero length, and stays the target's. False when the table holds no FDE or cannot be read,
 * or when too many tables are registered (4096): code in this table then ends stacks with
 * UNWIND_NO_INFO. */
bool unwind_register_frames(const void *table);
void unwind_deregister_frames(const void *table);

/* A loaded ELF image as the program headers describe it. Pointers are borrowed from the dynamic
 * linker and stay valid while a frame of that image is on the stack. */
struct unwind_module {
	uintptr_t base; /* load bias: address = base + p_vaddr */
	uintptr_t start; /* lowest mapped address */
	uintptr_t end; /* one past the highest */
	const char *path; /* the linker's name; "" for the main program */
	const uint8_t *build_id; /* from PT_NOTE, NULL when there is none */
	size_t build_id_bytes;
};

/* Finds the image that holds this address (a return address minus one). False when the address is
 * in no image (JIT code, a vdso without a link map). Takes no lock where libc has _dl_find_object()
 * (glibc 2.35 and later); elsewhere it may call dl_iterate_phdr(), which takes the loader's. */
bool unwind_find_module(uintptr_t addr, struct unwind_module *ret);

#endif
