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

/* The validated path: the stack of the last event is kept and only what changed is walked.
 *
 * Of each frame the kept path has the address of the stack slot that holds its return address, and
 * of frames outside it that depend on a saved frame pointer, that word too. Before a path is used
 * again, every such word is read and compared. A walk is a function of the registers it starts
 * with, of the rules (constant within a generation) and of exactly these words; so where the words
 * are the same, the frames outside of the place where a new walk joins the path are those that a
 * full walk would find. Nothing else is assumed: a frame that was left and entered again by
 * another function, a stack that was cut by longjmp or an exception, a slot that happens to hold
 * an old value, all compare equal only where a full walk would read the same as well.
 */
struct stack_cache_entry {
	uintptr_t slot; /* where the return address lies: just below the frame's stack pointer */
	uintptr_t addr; /* the return address, as in unwind_frames */
};

/* The caller names stacks by ids of its own, which are kept with the path: that of the stack that ends
 * with this entry, 0 while it has none. The other half is the path's own affair. */
struct stack_cache_id {
	_Alignas(8) uint32_t id;
	uint32_t slot; /* low half of the entry's; there are no two in one stack */
};

/* The stack is entry[0 .. n_kept), outermost first, and then fresh(n_fresh - 1) .. fresh(0). */
struct stack_cache_stack {
	size_t n_kept;
	size_t n_fresh;
	const struct stack_cache_entry *entry; /* borrowed until the next walk, like all here */
	struct stack_cache_id *stack_id;
};

enum stack_cache_status {
	STACK_CACHE_OK, /* *ret is the whole stack, complete and certain */
	STACK_CACHE_NOT_SIMPLE, /* a stack of another kind: unwind_walk() must do it; the path stays */
	STACK_CACHE_NO_ROOM, /* more memory is needed */
};

/* Memory for paths of so many frames; what the path held is forgotten. */
#define STACK_CACHE_BYTES(capacity) ((capacity)*120 + 72)
void stack_cache_set_memory(struct unwind_thread *ut, void *memory, size_t capacity);

/* The id of the stack when it is known as a whole; else 0. To be asked when what path.h has to tell
 * nearly all stacks did not. */
uint32_t stack_cache_find(struct unwind_thread *ut, const struct unwind_start *start);

/* Directly after stack_cache_find() gave 0 for the same start (it has looked which part of the
 * path holds). generation is unwind_generation() as of now: what the ids of the path belong to. */
enum stack_cache_status stack_cache_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct stack_cache_stack *ret);

/* Return address of the i-th fresh frame of the last walk, 0 = innermost. */
uintptr_t stack_cache_fresh_addr(const struct unwind_thread *ut, size_t i);

/* Tells the id of the stack that the last walk found. name[0 .. n_kept).id must have been filled in. */
void stack_cache_remember(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id);

/* All ids are void. */
void stack_cache_forget_ids(struct unwind_thread *ut);

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
