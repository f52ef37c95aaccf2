/* arch/x86_64/caller.h - the caller of the function that uses this macro.
 *
 * __builtin_frame_address(0) makes the compiler keep a frame pointer in that function, so
 * [fp] is the caller's rbp, [fp + 8] the return address, and fp + 16 the caller's rsp.
 */
#ifndef ARCH_X86_64_CALLER_H
#define ARCH_X86_64_CALLER_H

#define ARCH_CALLER_PC() ((uintptr_t)__builtin_return_address(0))
#define ARCH_CALLER_SP() ((uintptr_t)__builtin_frame_address(0) + 16)
#define ARCH_CALLER_FP() (*(const uintptr_t *)__builtin_frame_address(0))

#endif
