/* record/allocator_numbers.c - see allocator_numbers.h. */
#include "record/allocator_numbers.h"

#include <stdatomic.h>
#include <string.h>

static struct allocator_number numbers[ALLOCATOR_NUMBERS];
static uint32_t n_reserved = 1;

/* The last bytes of a path that is too long. */
static const char *end_of(const char *module)
{
	size_t n = strlen(module);

	return n < ALLOCATOR_MODULE_BYTES ? module : module + n - (ALLOCATOR_MODULE_BYTES - 1);
}

static void describe(struct allocator_number *a, const char *name, const char *prefix,
		     const char *module)
{
	a->name = name;
	a->prefix = prefix;
	memcpy(a->module, module, strlen(module) + 1);
}

uint32_t allocator_numbers_reserve(const char *name, const char *prefix, const char *module)
{
	module = end_of(module);
	for (uint32_t i = 1; i < n_reserved; i++) {
		if (!strcmp(numbers[i].name, name) && !strcmp(numbers[i].prefix, prefix) &&
		    !strcmp(numbers[i].module, module))
			return i;
	}
	if (n_reserved == ALLOCATOR_NUMBERS)
		return ALLOCATOR_NUMBERS - 1;
	if (n_reserved == ALLOCATOR_NUMBERS - 1)
		describe(&numbers[n_reserved], "other allocators", "", "");
	else
		describe(&numbers[n_reserved], name, prefix, module);
	return n_reserved++;
}

void allocator_numbers_replace_libc(const char *name, const char *prefix, const char *module)
{
	describe(&numbers[0], name, prefix, end_of(module));
}

void allocator_numbers_publish(uint32_t number, unsigned n_functions)
{
	numbers[number].n_functions = n_functions;
	atomic_store_explicit(&numbers[number].is_published, true, memory_order_release);
}

const struct allocator_number *allocator_numbers_get(uint32_t number)
{
	if (number >= ALLOCATOR_NUMBERS ||
	    !atomic_load_explicit(&numbers[number].is_published, memory_order_acquire))
		return NULL;
	return &numbers[number];
}
