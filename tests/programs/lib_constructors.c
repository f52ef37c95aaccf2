/* lib_constructors - a library that allocates in its constructors and destructors of all ranks.
 *
 * Linked or dlopened by constructors.c and loads_libraries.c.
 */
#include <stdlib.h>
#include <string.h>

static char *kept[4];

static void allocate(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(realloc(malloc(10 + i), 100 + i));
}

__attribute__((constructor(101))) static void first(void)
{
	kept[0] = strdup("first");
	allocate(30);
}

__attribute__((constructor)) static void normal(void)
{
	kept[1] = strdup("normal");
	allocate(30);
}

__attribute__((destructor)) static void normal_end(void)
{
	kept[2] = strdup("normal end");
	allocate(10);
	free(kept[1]);
}

__attribute__((destructor(101))) static void last(void)
{
	kept[3] = strdup("last");
	allocate(10);
	free(kept[0]);
}

char *lib_constructors_make(size_t size);
char *lib_constructors_make(size_t size)
{
	return memset(malloc(size), 'm', size);
}
