/* unwind/stack_word.h - loads a word of the running thread's own stack.
 *
 * These words belong to frames of other functions, so a sanitizer would report the load. In a build
 * with a sanitizer stack_word_load() calls a function that the sanitizer does not watch.
 */
#ifndef UNWIND_STACK_WORD_H
#define UNWIND_STACK_WORD_H

#include "base/compiler.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_WORD_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STACK_WORD_CHECKED 1
#endif
#endif
#ifndef STACK_WORD_CHECKED
#define STACK_WORD_CHECKED 0 /* 1: a sanitizer checks the loads of this build */
#endif

uintptr_t stack_word_load_unchecked(uintptr_t addr);

/* The word at addr. addr must be aligned and lie in the part of the thread's stack that memory_i.h
 * calls `own`: that part was seen to be readable and lives as long as the thread. */
static ALWAYS_INLINE uintptr_t stack_word_load(uintptr_t addr)
{
	return STACK_WORD_CHECKED ? stack_word_load_unchecked(addr)
				  : *(const volatile uintptr_t *)addr;
}

#endif
