/* record/redirect.h - leads calls of functions inside the program to hooks of ours, in memory.
 *
 * arch/<cpu>/detour.h describes the machine code. A module's functions are redirected together:
 *
 *	1. redirect_check()	each function: can it be redirected?
 *	2. redirect_area_open()	memory for stubs, near the module
 *	3. redirect_prepare()	each function: its stub
 *	4. redirect_area_seal()	the stubs become executable and read-only
 *	5. redirect_apply()	each function: its first instructions become a jump to the stub
 *
 * Until step 5 nothing has changed for the program. No page is ever writable and executable at once:
 * step 5 writes through /proc/self/mem, or makes the pages writable instead of executable for a
 * moment.
 *
 * Threads: while step 5 or redirect_undo() runs, no thread may execute the module. The caller sees
 * to that: the process has one thread, or the dynamic linker has just mapped the module. Nothing
 * here locks, allocates from the heap or changes errno.
 */
#ifndef RECORD_REDIRECT_H
#define RECORD_REDIRECT_H

#include "arch/arch.h"

struct redirect {
	uint8_t *function;
	size_t n_bytes; /* of the function */
	size_t n_readable; /* from its start to the end of the mapping */
	struct arch_detour detour; /* set by redirect_check() */
	uint8_t *stub; /* set by redirect_prepare() */
	const void *original; /* set by redirect_prepare(): call it instead of the function */
	uint8_t saved[ARCH_DETOUR_JUMP_BYTES]; /* what redirect_apply() replaced */
};

/* Memory for stubs and for what hooks need to know. Zeroed: none. */
struct redirect_area {
	uint8_t *memory;
	size_t n_bytes;
	size_t n_used;
};

/* NULL: the function can be redirected, and r->detour is set. Otherwise why not. */
const char *redirect_check(struct redirect *r);

/* Maps at least n_bytes that can be reached from every address in [start, end). False: no memory
 * there. */
bool redirect_area_open(struct redirect_area *area, uintptr_t start, uintptr_t end, size_t n_bytes);

/* Unmaps the area. Only when its module is unmapped, or when no function jumps to its stubs and no
 * thread executes one. */
void redirect_area_close(struct redirect_area *area);

/* Takes n_bytes of the area, zeroed and aligned to 16. NULL: there is no more room. The bytes are
 * read-only after redirect_area_seal(). */
void *redirect_area_take(struct redirect_area *area, size_t n_bytes);

/* Writes the stub: hook gets the arguments and, as argument context_argument (from 0), the context.
 * False: no room or out of reach. */
bool redirect_prepare(struct redirect *r, struct redirect_area *area, const void *hook,
		      unsigned context_argument, const void *context);

/* Makes the area read-only and executable. False: the kernel refuses. */
bool redirect_area_seal(struct redirect_area *area);

/* From now on calls of the function reach the hook. False: the kernel does not let us write; nothing
 * has changed. */
bool redirect_apply(struct redirect *r);

/* Takes redirect_apply() back. */
void redirect_undo(struct redirect *r);

#endif
