/* constructors - allocates from the first moment to the last that a program has.
 *
 * .preinit_array comes before the constructors of every library, atexit and destructors last; the
 * library it is linked with does the same at its side.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *lib_constructors_make(size_t size);

static char *from_preinit, *from_constructor;

static void allocate(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(realloc(calloc(1, 10 + i), 100 + i));
}

static void preinit(int argc, char **argv, char **envp)
{
	(void)argc, (void)argv, (void)envp;
	from_preinit = strdup("preinit");
	allocate(50);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit_entry)(int, char **, char **) = preinit;

__attribute__((constructor)) static void construct(void)
{
	from_constructor = strdup("constructor");
	allocate(50);
}

__attribute__((destructor)) static void destruct(void)
{
	allocate(50);
	free(from_constructor);
}

static void at_exit(void)
{
	allocate(5);
	free(from_preinit);
	from_preinit = NULL;
}

static void nested_at_exit(void)
{
	atexit(at_exit);
	allocate(5);
}

int main(void)
{
	char *block = lib_constructors_make(100);

	for (unsigned i = 0; i < 100; i++)
		atexit(nested_at_exit); /* more than libc's static table holds */
	printf("%s %s %c\n", from_preinit, from_constructor, block[99]);
	free(block);
	return 0;
}
