/* unwind/stack_word.c - see stack_word.h. */
#include "unwind/stack_word.h"

NO_SANITIZE uintptr_t stack_word_load_unchecked(uintptr_t addr)
{
	return *(const volatile uintptr_t *)addr;
}
