/* own_allocator: has an allocator of its own, as a program that links one statically. It has no
 * reallocarray(): libc's calls the realloc() here, and so must whatever comes before libc's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_BYTES (8u << 20)

static _Alignas(16) unsigned char heap[HEAP_BYTES];
static size_t n_used;

static bool is_ours(const void *block)
{
	return (uintptr_t)block - (uintptr_t)heap < HEAP_BYTES;
}

void *malloc(size_t size)
{
	size_t bytes = (size + 31) & ~(size_t)15;
	unsigned char *block = heap + n_used + 16;

	if (bytes > HEAP_BYTES - n_used)
		return NULL;
	memcpy(heap + n_used, &size, sizeof(size));
	n_used += bytes;
	return block;
}

void free(void *block)
{
	if (block && !is_ours(block))
		abort();
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size); /* never used before, so zero */
}

void *realloc(void *block, size_t size)
{
	unsigned char *moved = malloc(size);
	size_t old_size;

	if (!block || !moved)
		return moved;
	if (!is_ours(block))
		abort();
	memcpy(&old_size, (unsigned char *)block - 16, sizeof(old_size));
	return memcpy(moved, block, old_size < size ? old_size : size);
}

int main(void)
{
	char *text = NULL;

	for (size_t n = 1; n < 100; n++) {
		text = reallocarray(text, n + 1, 2);
		if (!text || !is_ours(text))
			return 1;
		text[n - 1] = (char)('a' + n % 26);
		text[n] = 0;
	}
	printf("%s %d\n", text, is_ours(strdup("x")));
	free(text);
	return 7;
}
