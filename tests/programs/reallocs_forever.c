/* reallocs_forever - reallocs blocks without pause until it is killed. */
#include <stdio.h>
#include <stdlib.h>

enum {
	N_BLOCKS = 64
};

int main(void)
{
	void *block[N_BLOCKS] = {0};

	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i++) {
		void *p = realloc(block[i % N_BLOCKS], 100 + i % 5000 * 40);

		if (!p)
			return 1;
		block[i % N_BLOCKS] = p;
	}
}
