/* dirty_memory - prints whether memory that was dirty before comes back zeroed from malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	unsigned dirty = 0;

	for (unsigned i = 0; i < 1000; i++) {
		unsigned char *p = malloc(200);

		for (unsigned k = 0; k < 200; k++)
			dirty += p[k] != 0;
		memset(p, 0xa5, 200);
		free(p);
	}
	printf("%s\n", dirty ? "dirty" : "zeroed");
	return 0;
}
