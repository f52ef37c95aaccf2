/* harness/guard.c - see guard.h. One mapping: guard page, data pages, guard page. */
#include "harness/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t data_pages_bytes(size_t len, size_t page_bytes)
{
	return (len + page_bytes - 1) / page_bytes * page_bytes;
}

unsigned char *guard_buf_create(const void *bytes, size_t len)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t data_bytes = data_pages_bytes(len, page_bytes);
	unsigned char *map, *buf;

	map = mmap(NULL, data_bytes + 2 * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	if (map == MAP_FAILED ||
	    mprotect(map + page_bytes, data_bytes, PROT_READ | PROT_WRITE) < 0) {
		perror("guard_buf_create");
		abort();
	}
	buf = map + page_bytes + data_bytes - len;
	if (bytes && len)
		memcpy(buf, bytes, len);
	return buf;
}

void guard_buf_destroy(unsigned char *buf, size_t len)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t data_bytes = data_pages_bytes(len, page_bytes);

	if (buf)
		munmap(buf + len - data_bytes - page_bytes, data_bytes + 2 * page_bytes);
}
