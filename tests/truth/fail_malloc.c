/* Preloaded: one allocation of the process fails.
 *
 * MP_FAIL_AT=n: the n-th call of malloc and its relatives returns NULL with ENOMEM; 0 or unset: none.
 * MP_FAIL_COUNT=FILE: at the end the number of calls is written there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static _Atomic unsigned long n_calls;
static unsigned long fail_at;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("MP_FAIL_AT");

	fail_at = at ? strtoul(at, NULL, 10) : 0;
	atomic_store(&n_calls, 0);
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("MP_FAIL_COUNT");
	unsigned long n = atomic_load(&n_calls);
	char text[24];
	size_t at = sizeof(text);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	if (fd < 0)
		return;
	if (write(fd, text + at, sizeof(text) - at) < 0)
		_exit(99);
	close(fd);
}

static bool must_fail(void)
{
	if (atomic_fetch_add(&n_calls, 1) + 1 != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return must_fail() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
	return must_fail() ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
	return must_fail() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int saved = errno;
	void *block = memalign(alignment, size);

	errno = saved;
	if (!block)
		return ENOMEM;
	*ret = block;
	return 0;
}
