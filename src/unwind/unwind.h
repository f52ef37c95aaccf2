/* unwind/unwind.h - the call stack of the running thread, exactly, from .eh_frame.
 *
 * Runs inside the target process, in hooks and in signal handlers: no allocation, no lock that
 * can block, no libc call that may do either, no write to errno, no read of memory that may not
 * be mapped. One exception: before glibc 2.35 only dl_iterate_phdr() knows the loaded images, and
 * it takes the loader's lock. There a walk calls it when its list of images lacks an address.
 * Return addresses are never patched. The state of a thread is in memory that the caller provides.
 *
 * Two walks lead to one result. The fast walk carries pc, sp and fp only and takes compact rules
 * from a cache keyed by pc. Where a frame needs more (a signal frame, a CFA in another register,
 * an expression), the slow walk begins anew with all registers and full CFI. It begins in the
 * unwinder's own function, where all registers can be read, and leaves out the frames up to start.
 * If these frames do not lead to start, it begins at start, with pc, sp and fp only.
 * When neither knows the way, the stack ends there and says why: enum unwind_end. A frame is
 * never invented: a frame that only the frame pointer suggests is accepted after the checks in
 * fp_walk.c, and n_certain announces it.
 *
 * Most events need no walk at all: the recorder asks the stack cache first (stack_cache.h), and
 * calls unwind_walk() only for stacks that the stack cache cannot hold. unwind_walk() does not use
 * the stack cache.
 *
 * Code that comes and goes: a call that removes code (dlclose) stands between
 * unwind_code_changing() and unwind_code_changed(). In between no rule is taken from a cache;
 * afterwards unwind_generation() has grown and every cached rule and stack is void. New code needs
 * no such calls.
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

#define UNWIND_GUESS_WORDS(capacity) (((capacity) + 63) / 64)

/* Result of a walk. addr[0] is the innermost caller. Each entry is such that addr - 1 lies inside
 * the instruction that was executing: a return address as it is, an interrupted pc plus one. */
struct unwind_frames {
	uintptr_t *addr; /* caller's array */
	size_t capacity;
	size_t n; /* entries filled */
	size_t n_certain; /* entries before the first frame that only the frame pointer suggests;
			     == n for all stacks but those */
	uint64_t
		*guess; /* caller's array, of UNWIND_GUESS_WORDS(capacity), or NULL. Bit i is set if
			    the frame pointer alone led from frame i to its caller */
	size_t n_guess_words; /* words of guess that were filled; all others are zero */
	enum unwind_end end;
	bool crossed_signal; /* a signal frame lies between this event and the outermost frame */
	uintptr_t signal_sp; /* stack pointer of the first interrupted frame when crossed_signal */
	size_t signal_index; /* index in addr of that frame when crossed_signal */
};

/* Whether the frame pointer alone led from frame i to its caller. */
static inline bool unwind_is_guess(const struct unwind_frames *f, size_t i)
{
	return i / 64 < f->n_guess_words && f->guess[i / 64] >> i % 64 & 1;
}

/* An unwinder: state and caches of one thread. Lives in zeroed memory of the caller, never moves
 * while in use, and may be used by one thread (or one nesting level of a thread) at a time. Large;
 * its pages are touched as they are needed. */
struct unwind_thread; /* opaque: defined in unwind_thread_i.h */
extern const size_t unwind_thread_bytes;

/* Before unwind_init(): function is the _dl_find_object() of this process's glibc (2.35 and later),
 * or NULL. With it modules are found without the loader's lock. */
void unwind_use_find_object(void *function);

/* Once per process, before anything else, and again in a forked child. Finds the end of the main
 * stack, the main program and the dynamic linker. Cannot fail: what is not found makes walks slower
 * (words are read by process_vm_readv()), or end earlier with a reason. */
void unwind_init(void);

/* From now on no process_vm_readv() is made; memory is read in a slower way that needs only
 * rt_sigprocmask(). */
void unwind_use_no_copies(void);

/* From now on no file is opened: of code that belongs to no file, what is mapped now is known. */
void unwind_use_no_files(void);

/* Makes a zeroed area of unwind_thread_bytes usable, or hands the unwinder of a thread that has
 * ended to another thread (cached rules and counters stay). use_cache false: every walk is the slow
 * walk, and the stack cache is not used. The option MEMORY_PROFILER_USE_SHADOW_STACK=0 asks for
 * this; there is no shadow stack. */
void unwind_thread_init(struct unwind_thread *ut, bool use_cache);

/* Walks from start to the outermost frame. The caller sets out->addr and out->capacity, the walk
 * sets the rest; out->end says whether and why the stack is cut. */
void unwind_walk(struct unwind_thread *ut, const struct unwind_start *start,
		 struct unwind_frames *out);

/* Counters of an unwinder since its memory was zeroed. */
struct unwind_stats {
	uint64_t n_walks; /* calls of unwind_walk() */
	uint64_t n_slow_walks; /* of n_walks: the slow walk was needed */
	uint64_t n_rule_misses; /* lookups of .eh_frame for a rule that was not cached */
	uint64_t n_cached_walks; /* stacks that the stack cache answered: not in n_walks */
	uint64_t n_known_stacks; /* of n_cached_walks: without any walk */
	uint64_t n_fresh_frames; /* frames that stack_cache_walk() walked for the other
				    n_cached_walks - n_known_stacks */
};

/* May be called by another thread than the unwinder's: each counter is read atomically. */
void unwind_thread_stats(const struct unwind_thread *ut, struct unwind_stats *ret);

/* To be called before and after code goes away. Pairs nest, and several threads may call them at
 * once. */
void unwind_code_changing(void);
void unwind_code_changed(void);

/* To be called before the mappings from lo to hi go away or are replaced, or (is_kept) before they
 * become non-executable, which compilers do to write new code there. True: something is known of
 * code there, and unwind_code_changed() must be called afterwards. Cheap where nothing is known. */
bool unwind_unmapping(uintptr_t lo, uintptr_t hi, bool is_kept);

/* Odd while at least one pair is open, else even. Each call of unwind_code_changing() and of
 * unwind_code_changed() raises the generation, nested calls too. One load. */
uint32_t unwind_generation(void);

/* Frames that the target registered with __register_frame(): table is in .eh_frame format, ends
 * with a zero length, and stays the target's. False when the table holds no FDE or cannot be read,
 * or when too many tables are registered (4096): code in this table then ends stacks with
 * UNWIND_NO_INFO. Registering begins a new generation if a stack had code of this table before, for
 * then something was learned about this code. Deregistering calls unwind_code_changing() and
 * unwind_code_changed() itself. */
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
 * in no image (JIT code, a vdso without a link map). Takes no lock from glibc 2.35 on; before, it
 * may call dl_iterate_phdr(), as a walk does. */
bool unwind_find_module(uintptr_t addr, struct unwind_module *ret);

#endif
