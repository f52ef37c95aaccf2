/* record/allocator_numbers.c - see allocator_numbers.h. */
#include "record/allocator_numbers.h"

#include <stdatomic.h>
#include <string.h>

static struct allocator_number numbers[ALLOCATOR_NUMBERS]; /* numbers[0] is not used */
static uint32_t n_reserved = 1;

uint32_t allocator_numbers_reserve(const char *name, const char *prefix, const char *module)
{
	struct allocator_number *a;
	size_t n = strlen(module);

	if (n >= ALLOCATOR_MODULE_BYTES)
		module += n - (ALLOCATOR_MODULE_BYTES - 1);
	for (uint32_t i = 1; i < n_reserved; i++) {
		if (!strcmp(numbers[i].name, name) && !strcmp(numbers[i].prefix, prefix) &&
		    !strcmp(numbers[i].module, module))
			return i;
	}
	if (n_reserved == ALLOCATOR_NUMBERS)
		return ALLOCATOR_NUMBERS - 1;
	a = &numbers[n_reserved];
	a->name = name;
	a->prefix = prefix;
	memcpy(a->module, module, strlen(module) + 1);
	if (n_reserved == ALLOCATOR_NUMBERS - 1) {
		a->name = "other allocators";
		a->prefix = a->module; /* "" */
		a->module[0] = 0;
	}
	return n_reserved++;
}

void allocator_numbers_publish(uint32_t number, unsigned n_functions)
{
	numbers[number].n_functions = n_functions;
	atomic_store_explicit(&numbers[number].is_published, true, memory_order_release);
}

const struct allocator_number *allocator_numbers_get(uint32_t number)
{
	if (!number || number >= ALLOCATOR_NUMBERS ||
	    !atomic_load_explicit(&numbers[number].is_published, memory_order_acquire))
		return NULL;
	return &numbers[number];
}
