/* record/initial_stack.c - see initial_stack.h. */
#include "record/initial_stack.h"

#include <stdint.h>
#include <string.h>

#define MAX_STRINGS (1u << 20) /* more make no sense */

/* Where the stack of the first thread began: argc, the arguments, NULL, the environment, NULL. */
extern void *__libc_stack_end __attribute__((weak));

static const uintptr_t *words(void)
{
	const uintptr_t *w = &__libc_stack_end ? __libc_stack_end : NULL;

	return w && *w < MAX_STRINGS && !w[1 + *w] ? w : NULL;
}

/* The strings of a list that ends with NULL. */
static struct initial_strings strings_of(const uintptr_t *list)
{
	const char *first = (const char *)list[0], *end = first;

	for (size_t i = 0; list[i]; i++) {
		const char *s = (const char *)list[i];

		if (s < end || i == MAX_STRINGS)
			return (struct initial_strings){NULL, 0};
		end = s + strlen(s) + 1;
	}
	return (struct initial_strings){first ? first : "", (size_t)(end - first)};
}

struct initial_strings initial_stack_arguments(void)
{
	const uintptr_t *w = words();

	return w ? strings_of(w + 1) : (struct initial_strings){NULL, 0};
}

struct initial_strings initial_stack_environment(void)
{
	const uintptr_t *w = words();

	return w ? strings_of(w + 1 + *w + 1) : (struct initial_strings){NULL, 0};
}
