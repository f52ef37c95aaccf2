/* resident_memory [kill] - a mapping of 96 MiB of which 48 MiB become resident, for half a second, and
 * 8 MiB stay so. Prints its address. With an argument it dies by SIGKILL. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 500000000};
	/* What is around it cannot be used, so the kernel joins it with nothing. */
	char *p = mmap(NULL, 98 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argv;
	if (p == MAP_FAILED || mprotect(p + MIB, 96 * MIB, PROT_READ | PROT_WRITE) != 0)
		return 1;
	p += MIB;
	madvise(p, 96 * MIB, MADV_NOHUGEPAGE);
	printf("0x%zx\n", (size_t)p);
	fflush(stdout);
	memset(p, 1, 48 * MIB);
	nanosleep(&pause, NULL);
	if (madvise(p, 40 * MIB, MADV_DONTNEED) != 0)
		return 1;
	if (argc > 1)
		raise(SIGKILL);
	return 0;
}
