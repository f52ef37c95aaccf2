/* arch/x86_64/detour.h - the machine code that leads calls of a function elsewhere.
 *
 *	function:  endbr64			stub:	   mov $context, argument register n
 *		   jmp stub   (5 bytes)			   jmp hook
 *		   rest of the function <---+
 *					    |	original:  endbr64
 *					    |		   the instructions that the jmp replaced
 *					    +-------------  jmp rest
 *
 * The hook gets the arguments of the function and, as argument n, the context. The hook's caller is
 * the function's caller. A call of original does what a call of the function did before.
 *
 * The functions here only judge and write bytes. The caller gets memory for stub and original near
 * the function and writes the jmp (record/redirect.h).
 *
 * Threads: any; no state, no memory, no errno.
 */
#ifndef ARCH_X86_64_DETOUR_H
#define ARCH_X86_64_DETOUR_H

#include "base/compiler.h"

#define ARCH_DETOUR_JUMP_BYTES 5u
#define ARCH_DETOUR_STUB_BYTES 96u /* stub and original, at most */
#define ARCH_DETOUR_REACH_BYTES 0x70000000u /* between the function and the stub, at most */
#define ARCH_DETOUR_MAX_CONTEXT 5u /* index of the argument that can take the context, from 0 */

struct arch_detour {
	uint8_t jump_at; /* offset in the function where the jmp goes */
	uint8_t end; /* offset of the first instruction that stays */
};

/* Can the function be led elsewhere? The function is n_bytes long; n_readable bytes (at least
 * n_bytes) may be read. NULL: yes, and *ret is set. Otherwise a text for people: why not. The
 * instructions that would be moved are understood, every instruction of the function is known, and
 * none of them jumps into the bytes that would be replaced. */
const char *arch_detour_check(const uint8_t *function, size_t n_bytes, size_t n_readable,
			      struct arch_detour *ret);

/* Does another piece of code (a part of the function that the compiler put elsewhere) jump into the
 * bytes that would be replaced? The answer is a text as that of arch_detour_check(). */
const char *arch_detour_check_part(const uint8_t *part, size_t n_bytes, const uint8_t *function,
				   const struct arch_detour *d);

/* The target when the function is nothing but a jump to another function; NULL: it is not. */
const uint8_t *arch_detour_jump_target(const uint8_t *function, size_t n_bytes);

/* Writes stub and original to memory: ARCH_DETOUR_STUB_BYTES, less than ARCH_DETOUR_REACH_BYTES from
 * function. Returns the offset of original; the stub is at 0. 0: an address is out of reach. */
size_t arch_detour_write_stub(const uint8_t *function, const struct arch_detour *d, uint8_t *memory,
			      const void *hook, unsigned context_argument, const void *context);

/* Writes the jmp that goes to function + jump_at. */
void arch_detour_write_jump(const uint8_t *function, const struct arch_detour *d,
			    const uint8_t *stub, uint8_t bytes[ARCH_DETOUR_JUMP_BYTES]);

#endif
