/* arch/x86_64/cpu.h - the names of this CPU. */
#ifndef ARCH_X86_64_CPU_H
#define ARCH_X86_64_CPU_H

#define ARCH_NAME "x86_64"
#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */
#define ARCH_AUDIT 0xc000003eu /* AUDIT_ARCH_X86_64: what seccomp filters call it */

#endif
