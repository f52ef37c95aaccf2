/* known_blocks [N] [SIZE] - makes N blocks of SIZE bytes, frees every second one, ends with 0. */
#include <stdlib.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 1234;

	for (int i = 0; i < n; i++) {
		void *p = malloc(size);

		if (!p)
			return 1;
		if (i % 2)
			free(p);
	}
	return 0;
}
