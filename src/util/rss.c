/* util/rss.c - see rss.h. */
#include "util/rss.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void read_pages(unsigned long long *n_resident, unsigned long long *n_of_files)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	unsigned long long n_all;
	char text[128];
	ssize_t n;

	*n_resident = *n_of_files = 0;
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = 0;
	if (sscanf(text, "%llu %llu %llu", &n_all, n_resident, n_of_files) != 3)
		*n_resident = *n_of_files = 0;
}

uint64_t rss_bytes(void)
{
	unsigned long long n_resident, n_of_files;

	read_pages(&n_resident, &n_of_files);
	return n_resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t rss_own_bytes(void)
{
	unsigned long long n_resident, n_of_files;

	read_pages(&n_resident, &n_of_files);
	return n_resident > n_of_files ? (n_resident - n_of_files) * (uint64_t)sysconf(_SC_PAGESIZE)
				       : 0;
}
