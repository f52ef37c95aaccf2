/* waits_for_input - allocates once per line of its input, answers each, ends with the input. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char line[64];

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		void *p = malloc(strtoul(line, NULL, 10));

		printf("%s\n", p ? "made" : "failed");
	}
	return 5;
}
