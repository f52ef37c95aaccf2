/* maps_memory - known calls of the mmap family, of mallopt and malloc_trim. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES (37 * 4096)

int main(void)
{
	char *p = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *bad = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *q, *end;
	int unmapped, unmapped_bad;

	if (p == MAP_FAILED)
		return 1;
	p[5] = 'x';
	q = mremap(p, PAGES, 3 * PAGES, MREMAP_MAYMOVE);
	printf("%c %d", q[5], bad == MAP_FAILED);
	unmapped = munmap(q, 3 * PAGES);
	unmapped_bad = munmap((void *)1, 4096);
	printf(" %d %d", unmapped, unmapped_bad);
	end = sbrk(0);
	printf(" %d", sbrk(8192) == end);
	printf(" %d", brk(end));
	printf(" %d", sbrk(0) == end);
	printf(" %d %d\n", mallopt(M_MXFAST, 64), malloc_trim(100) >= 0);
	return 0;
}
