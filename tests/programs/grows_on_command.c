/* For each line of its input: a thousand allocations of which the last ten stay. Answers each line
 * when it is done. Nothing else allocates. */
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

int main(void)
{
	char line;

	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (read(0, &line, 1) == 1) {
		for (int i = 0; i < 1000; i++) {
			sink = malloc(128);
			if (i < 990)
				free(sink);
		}
		if (write(1, "done\n", 5) != 5)
			return 1;
	}
	return 0;
}
