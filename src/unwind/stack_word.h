/* unwind/stack_word.h - reading a word of the running thread's own stack. */
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
#define STACK_WORD_CHECKED 0
#endif

/* Hides the load from sanitizers: these are other functions' frames. */
uintptr_t stack_word_load_unchecked(uintptr_t addr);

/* A word at an aligned address inside of struct memory's own. */
static ALWAYS_INLINE uintptr_t stack_word_load(uintptr_t addr)
{
	return STACK_WORD_CHECKED ? stack_word_load_unchecked(addr)
				  : *(const volatile uintptr_t *)addr;
}

#endif
