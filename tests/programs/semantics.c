/* semantics - prints what the allocator's functions do at their edges; no address is printed.
 *
 * Run bare it says what this libc does; under the recorder it must say the same. Built with
 * -fno-builtin, so that every call is made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK ((void *)0x5a5a5a50)

static volatile size_t huge = (size_t)PTRDIFF_MAX + 1;
static volatile size_t all_ones = SIZE_MAX;
static volatile size_t zero;

static void show(const char *what, const void *p)
{
	int e = errno;

	printf("%-44s %s, errno %s", what, p ? "block" : "NULL", strerrorname_np(e));
	if (p)
		printf(", usable %zu, low bits %u", malloc_usable_size((void *)p),
		       (unsigned)((uintptr_t)p & 15));
	printf("\n");
	errno = EDOM; /* a value that nobody sets: shows whether the next call leaves it alone */
}

#define SHOW(call)                                                                                 \
	do {                                                                                       \
		errno = EDOM;                                                                      \
		void *shown = (call);                                                              \
		show(#call, shown);                                                                \
		free(shown);                                                                       \
	} while (0)

static void basic(void)
{
	SHOW(malloc(0));
	SHOW(malloc(1));
	SHOW(malloc(24));
	SHOW(malloc(25));
	SHOW(malloc(1000000));
	SHOW(malloc(huge));
	SHOW(malloc(all_ones));
	SHOW(calloc(0, 0));
	SHOW(calloc(0, 100));
	SHOW(calloc(100, 0));
	SHOW(calloc(10, 10));
	SHOW(calloc(huge, 2));
	SHOW(calloc(all_ones / 2, 3));
	SHOW(calloc(1, huge));
	SHOW(realloc(NULL, zero));
	SHOW(realloc(NULL, 50));
	SHOW(realloc(NULL, huge));
	SHOW(reallocarray(NULL, 3, 7));
	SHOW(reallocarray(NULL, all_ones / 2, 3));
	SHOW(reallocarray(NULL, 0, 5));
	errno = EDOM;
	free(NULL);
	printf("free(NULL): errno %s\n", strerrorname_np(errno));
}

static void reallocs(void)
{
	char *p = malloc(100), *q;
	int same = 1;

	for (int i = 0; i < 100; i++)
		p[i] = (char)i;
	errno = EDOM;
	q = realloc(p, huge);
	show("realloc(p, huge)", q);
	q = reallocarray(p, all_ones / 4, 8);
	show("reallocarray(p, overflow)", q);
	for (int i = 0; i < 100; i++)
		same &= p[i] == i;
	printf("the block is as before: %d\n", same);
	p = realloc(p, 100000);
	show("realloc(p, 100000)", p);
	for (int i = 0; i < 100; i++)
		same &= p[i] == i;
	p = realloc(p, 10);
	show("realloc(p, 10)", p);
	for (int i = 0; i < 10; i++)
		same &= p[i] == i;
	p = realloc(p, 10);
	show("realloc(p, 10) again", p);
	printf("the contents followed: %d\n", same);
	p = realloc(p, zero);
	show("realloc(p, 0)", p);
	p = reallocarray(malloc(5), 4, zero);
	show("reallocarray(p, 4, 0)", p);
	/* Through mremap, in libc. */
	p = malloc(1 << 20);
	memset(p, 7, 1 << 20);
	p = realloc(p, 8 << 20);
	show("realloc(p, 8 MiB)", p);
	for (int i = 0; i < 1 << 20; i++)
		same &= p[i] == 7;
	printf("the contents followed: %d\n", same);
	free(p);
}

static void show_memalign(size_t alignment, size_t size)
{
	void *p = MARK;
	int r;

	errno = EDOM;
	r = posix_memalign(&p, alignment, size);
	printf("posix_memalign(%zu, %zu): %s, errno %s, ", alignment, size,
	       r ? strerrorname_np(r) : "0", strerrorname_np(errno));
	if (p == MARK) {
		printf("pointer untouched\n");
		return;
	}
	printf("%s, aligned %d\n", p ? "block" : "NULL",
	       alignment ? (uintptr_t)p % alignment == 0 : 0);
	free(p);
}

#define SHOW_ALIGNED(alignment, call)                                                              \
	do {                                                                                       \
		errno = EDOM;                                                                      \
		void *p = (call);                                                                  \
		printf("%s: %s, errno %s, aligned %d\n", #call, p ? "block" : "NULL",              \
		       strerrorname_np(errno), (uintptr_t)p % (alignment) == 0);                   \
		free(p);                                                                           \
	} while (0)

static void aligned(void)
{
	static const size_t alignments[] = {0, 1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 100, 4096, 65536};

	for (size_t i = 0; i < sizeof(alignments) / sizeof(*alignments); i++)
		show_memalign(alignments[i], 100);
	show_memalign(16, 0);
	show_memalign(16, huge);
	show_memalign(huge, 16);
	SHOW_ALIGNED(16, aligned_alloc(16, 32));
	SHOW_ALIGNED(64, aligned_alloc(64, 100)); /* not a multiple: allowed by glibc and C17 */
	SHOW_ALIGNED(1, aligned_alloc(3, 9));
	SHOW_ALIGNED(1, aligned_alloc(0, 9));
	SHOW_ALIGNED(1, aligned_alloc(1, 9));
	SHOW_ALIGNED(1, aligned_alloc(16, huge));
	SHOW_ALIGNED(1, aligned_alloc(huge, 16));
	SHOW_ALIGNED(1048576, aligned_alloc(1048576, 1));
	SHOW_ALIGNED(64, memalign(64, 10));
	SHOW_ALIGNED(128, memalign(65, 10)); /* rounded up by glibc */
	SHOW_ALIGNED(1, memalign(0, 10));
	SHOW_ALIGNED(16, memalign(16, zero));
	SHOW_ALIGNED(1, memalign(64, huge));
	SHOW_ALIGNED(4096, valloc(10));
	SHOW_ALIGNED(4096, valloc(zero));
	SHOW_ALIGNED(1, valloc(huge));
	SHOW_ALIGNED(4096, pvalloc(10));
	SHOW_ALIGNED(4096, pvalloc(4097));
	SHOW_ALIGNED(1, pvalloc(huge));
	SHOW_ALIGNED(1, pvalloc(all_ones - 10));
}

static void errno_kept(void)
{
	void *blocks[200];
	int kept = 1;

	errno = EDOM;
	for (size_t i = 0; i < 200; i++) {
		blocks[i] = malloc(i * i * 50);
		kept &= errno == EDOM;
	}
	for (size_t i = 0; i < 200; i++) {
		blocks[i] = realloc(blocks[i], 1 + i * i * 70);
		kept &= errno == EDOM;
	}
	for (size_t i = 0; i < 200; i++) {
		free(blocks[i]); /* munmap and brk included: errno is kept since glibc 2.33 */
		kept &= errno == EDOM;
	}
	printf("errno kept through calls that succeed: %d\n", kept);
}

static void around(void)
{
	void *p = malloc(100);
	struct mallinfo2 info;

	printf("usable of NULL: %zu\n", malloc_usable_size(NULL));
	memset(p, 1, malloc_usable_size(p));
	free(p);
	printf("mallopt: %d %d %d\n", mallopt(M_MMAP_THRESHOLD, 65536), mallopt(M_ARENA_MAX, 4),
	       mallopt(12345, 1));
	p = malloc(70000);
	info = mallinfo2();
	printf("mapped blocks: %zu\n", info.hblks);
	free(p);
	printf("malloc_trim: %d\n", malloc_trim(0) >= 0);
}

static void libc_users(const char *self)
{
	FILE *f = fopen(self, "r");
	char *line = NULL, *text = NULL, *memory = NULL;
	size_t capacity = 0, size = 0;
	FILE *stream;

	if (f) {
		printf("getline: %d\n", getline(&line, &capacity, f) > 0);
		fclose(f);
	}
	free(line);
	printf("asprintf: %d", asprintf(&text, "%s-%d", "text", 42));
	printf(" %s\n", text);
	free(text);
	stream = open_memstream(&memory, &size);
	for (int i = 0; stream && i < 1000; i++)
		fprintf(stream, "%d ", i);
	if (stream)
		fclose(stream);
	printf("open_memstream: %zu bytes, %.20s\n", size, memory);
	free(memory);
	text = strdup("duplicate");
	memory = strndup("duplicate", 3);
	printf("%s %s\n", text, memory);
	free(text);
	free(memory);
	text = realpath("/usr/../usr", NULL);
	memory = getcwd(NULL, 0);
	printf("%s %d\n", text, memory != NULL);
	free(text);
	free(memory);
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* one write: no errno of its own in between */
	basic();
	reallocs();
	aligned();
	errno_kept();
	libc_users(argv[0]);
	around();
	return 0;
}
