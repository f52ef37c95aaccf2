/* arch/x86_64/valgrind.h - does valgrind run this process?
 *
 * Valgrind translates the program's code and knows the sequence below, which changes nothing on a
 * CPU: rdi is rotated by 128 bits in all, rbx is exchanged with itself. Valgrind then answers the
 * request that rax points to, in rdx.
 */
#ifndef ARCH_X86_64_VALGRIND_H
#define ARCH_X86_64_VALGRIND_H

#include "base/compiler.h"

#define ARCH_VALGRIND_IS_RUNNING 0x1001

static inline bool arch_is_in_valgrind(void)
{
	const uint64_t request[6] = {ARCH_VALGRIND_IS_RUNNING};
	uint64_t depth = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(depth)
			 : "a"(request)
			 : "cc", "memory");
	return depth > 0;
}

#endif
