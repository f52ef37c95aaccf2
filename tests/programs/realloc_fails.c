/* realloc_fails - known blocks whose realloc fails (they live on), is cancelled by 0, or moves. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	volatile size_t huge = PTRDIFF_MAX, overflow = SIZE_MAX / 2;
	void *kept = malloc(50001), *array = malloc(50002), *moved = malloc(50003);
	void *freed = malloc(50004), *freed_later = malloc(50005);

	printf("%d", realloc(kept, huge) == NULL);
	printf("%d", reallocarray(array, overflow, 3) == NULL);
	printf("%d", realloc(freed_later, huge) == NULL);
	free(freed_later);
	moved = realloc(moved, 90003);
	freed = realloc(freed, huge - huge);
	printf("%d%d\n", moved != NULL, freed == NULL);
	return 0;
}
