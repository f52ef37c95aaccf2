/* util/rss.c - see rss.h. */
#include "util/rss.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

uint64_t rss_bytes(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long n_all, n_resident = 0;
	char text[128];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	if (sscanf(text, "%llu %llu", &n_all, &n_resident) != 2)
		return 0;
	return n_resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
