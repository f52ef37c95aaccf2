/* descriptors_used_up - uses up every descriptor before any constructor has run, then works.
 *
 * .preinit_array comes before the constructors of all libraries, preloaded ones included.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int n_opened, last;

static void use_up(int argc, char **argv, char **envp)
{
	struct rlimit limit = {32, 32};
	int fd;

	(void)argc, (void)argv, (void)envp;
	setrlimit(RLIMIT_NOFILE, &limit);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		last = fd;
		n_opened++;
	}
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
									      char **) = use_up;

int main(void)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < 100000; i++) {
		unsigned char *p = malloc(1 + i % 500);

		*p = (unsigned char)i;
		sum += *p;
		free(p);
	}
	printf("opened %d, last %d, sum %lu\n", n_opened, last, sum);
	return 0;
}
