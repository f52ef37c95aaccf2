/* unwind/own_word.h - reading a word of the running thread's own stack. */
#ifndef UNWIND_OWN_WORD_H
#define UNWIND_OWN_WORD_H

#include "base/compiler.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_CHECKED_LOADS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_CHECKED_LOADS 1
#endif
#endif
#ifndef MEMORY_CHECKED_LOADS
#define MEMORY_CHECKED_LOADS 0
#endif

/* Hides the load from sanitizers: these are other functions' frames. */
uintptr_t memory_load(uintptr_t addr);

/* A word at an aligned address inside of struct memory's own. */
static ALWAYS_INLINE uintptr_t memory_load_own(uintptr_t addr)
{
	return MEMORY_CHECKED_LOADS ? memory_load(addr) : *(const volatile uintptr_t *)addr;
}

#endif
