/* exec_chain N - makes 100 + N blocks and executes <itself>.<N - 1>; the one called with 0 ends.
 *
 * The caller prepares copies chain.3, chain.2 ... so that each image has a name of its own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	const char *dot = strrchr(argv[0], '.');
	char path[4096], number[16];

	/* A name that is not there: what was announced does not happen, and we go on. */
	if (execl("/nonexistent/program", "program", (char *)NULL) != -1 || errno != ENOENT)
		return 3;
	for (int i = 0; i < 100 + n; i++)
		if (!malloc(1000))
			return 1;
	if (n == 0) {
		printf("end of the chain\n");
		return 9;
	}
	if (!dot)
		return 2;
	snprintf(number, sizeof(number), "%d", n - 1);
	snprintf(path, sizeof(path), "%.*s.%s", (int)(dot - argv[0]), argv[0], number);
	execl(path, path, number, (char *)NULL);
	printf("%s: %s\n", path, strerror(errno));
	return 1;
}
