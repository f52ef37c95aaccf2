/* tests/truth/count.c - libmp_truth_count.so, an independent counter of allocator calls.
 *
 * Preloaded instead of (or beside) the recorder, it counts what the program asks for and leaves the
 * totals in the file $MP_TRUTH_OUT (struct totals), which is mapped shared, so the last call
 * counts as well and nothing has to be flushed. It shares no code with the product on purpose:
 * the two must agree to the last digit.
 *
 *   allocations    successful malloc, calloc, aligned family, realloc(NULL, n)
 *   reallocations  successful realloc of a block
 *   frees          free of a block, and realloc(p, 0) that freed it
 *   bytes          requested bytes of the first two
 *
 * Only the first program image that finds the file missing counts: forked children are distinguished
 * by their pid, executed programs find the file there. Like the recorder, the library takes its own
 * entry out of LD_PRELOAD, so that programs which look at their environment do the same in both.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct totals {
	_Atomic uint64_t magic;
	_Atomic uint64_t allocations;
	_Atomic uint64_t reallocations;
	_Atomic uint64_t frees;
	_Atomic uint64_t bytes;
	_Atomic uint64_t pid;
};

#define TOTALS_MAGIC 0x31544e554f435054ull /* "TPCOUNT1" */

/* The recorder has thread-local variables, and libc's bookkeeping per thread grows by 16 bytes with
 * every library that has some: so that both ask for the same, this one has them, too. */
static _Thread_local volatile char like_the_recorder;

static struct totals early; /* before the file is open: one thread, the dynamic linker's */
static struct totals *totals = &early;
static pid_t owner; /* 0: still counting into early */
static _Atomic int state; /* 0 not opened, 1 opening, 2 done */

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} real;

/* dlsym may allocate while we look for the real functions. Nothing here is ever given back. */
static _Alignas(16) char arena[64 * 1024];
static _Atomic size_t arena_used;

static void *arena_take(size_t size)
{
	size_t start = atomic_fetch_add(&arena_used, (size + 15) & ~(size_t)15);

	return start + size <= sizeof(arena) ? arena + start : NULL;
}

static int in_arena(const void *p)
{
	return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

static void find_reals(void)
{
	real.calloc = dlsym(RTLD_NEXT, "calloc");
	real.realloc = dlsym(RTLD_NEXT, "realloc");
	real.free = dlsym(RTLD_NEXT, "free");
	real.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real.memalign = dlsym(RTLD_NEXT, "memalign");
	real.valloc = dlsym(RTLD_NEXT, "valloc");
	real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	real.malloc = dlsym(RTLD_NEXT, "malloc"); /* last: it says that all are there */
}

static void move(_Atomic uint64_t *from, _Atomic uint64_t *to)
{
	atomic_fetch_add(to, atomic_exchange(from, 0));
}

static void open_totals(void)
{
	const char *path = getenv("MP_TRUTH_OUT");
	struct totals *t;
	int fd;

	owner = getpid();
	if (!path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (ftruncate(fd, sizeof(*t)) < 0)
		abort();
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (t == MAP_FAILED)
		abort();
	atomic_store(&t->magic, TOTALS_MAGIC);
	atomic_store(&t->pid, (uint64_t)owner);
	move(&early.allocations, &t->allocations);
	move(&early.reallocations, &t->reallocations);
	move(&early.frees, &t->frees);
	move(&early.bytes, &t->bytes);
	totals = t;
}

/* Takes every entry that names this library out of LD_PRELOAD. */
static void leave_preload(void)
{
	const char *list = getenv("LD_PRELOAD");
	Dl_info self;
	char rest[4096];
	size_t used = 0;

	if (!list || !dladdr(&totals, &self) || strlen(list) >= sizeof(rest))
		return;
	while (*list) {
		size_t gap = strspn(list, ": ");
		size_t len = strcspn(list + gap, ": ");

		if (len &&
		    (strlen(self.dli_fname) != len || memcmp(list + gap, self.dli_fname, len))) {
			if (used)
				rest[used++] = ':';
			memcpy(rest + used, list + gap, len);
			used += len;
		}
		list += gap + len;
	}
	rest[used] = '\0';
	/* unsetenv and strcpy allocate nothing; the shorter text fits where the longer was */
	if (used)
		strcpy(getenv("LD_PRELOAD"), rest);
	else
		unsetenv("LD_PRELOAD");
}

static void start(void)
{
	int expected = 0;
	int saved = errno;

	if (environ && atomic_compare_exchange_strong(&state, &expected, 1)) {
		open_totals();
		atomic_store(&state, 2);
	}
	errno = saved;
}

__attribute__((constructor(101))) static void at_load(void)
{
	like_the_recorder = 1;
	start();
	leave_preload();
}

static struct totals *counting(void)
{
	if (atomic_load(&state) == 0)
		start();
	/* A forked child shares the file but is another process. */
	return owner == 0 || owner == getpid() ? totals : NULL;
}

static void *count_alloc(void *p, size_t size)
{
	struct totals *t = p ? counting() : NULL;

	if (t) {
		atomic_fetch_add(&t->allocations, 1);
		atomic_fetch_add(&t->bytes, size);
	}
	return p;
}

static void count_free(void)
{
	struct totals *t = counting();

	if (t)
		atomic_fetch_add(&t->frees, 1);
}

static int have_reals(void)
{
	static _Atomic int looking;

	if (!real.malloc && !atomic_exchange(&looking, 1))
		find_reals();
	return real.malloc != NULL;
}

EXPORT void *malloc(size_t size)
{
	if (!have_reals())
		return arena_take(size);
	return count_alloc(real.malloc(size), size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	if (!have_reals())
		return arena_take(n * size); /* static memory: zero, and used once */
	return count_alloc(real.calloc(n, size), n * size);
}

EXPORT void *realloc(void *p, size_t size)
{
	struct totals *t;
	void *q;

	if (!have_reals() || in_arena(p)) {
		q = malloc(size);
		if (q && p)
			memcpy(q, p, size); /* may read past the old block, never past the arena */
		return q;
	}
	q = real.realloc(p, size);
	if (!p)
		return count_alloc(q, size);
	t = counting();
	if (q && t) {
		atomic_fetch_add(&t->reallocations, 1);
		atomic_fetch_add(&t->bytes, size);
	} else if (!size && t) {
		atomic_fetch_add(&t->frees, 1);
	}
	return q;
}

EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, total);
}

EXPORT void free(void *p)
{
	if (!p || in_arena(p))
		return;
	count_free();
	real.free(p);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	int r = have_reals() ? real.posix_memalign(ret, alignment, size) : ENOMEM;

	if (!r)
		count_alloc(*ret, size);
	return r;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return have_reals() ? count_alloc(real.aligned_alloc(alignment, size), size) : NULL;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return have_reals() ? count_alloc(real.memalign(alignment, size), size) : NULL;
}

EXPORT void *valloc(size_t size)
{
	return have_reals() ? count_alloc(real.valloc(size), size) : NULL;
}

EXPORT void *pvalloc(size_t size)
{
	return have_reals() ? count_alloc(real.pvalloc(size), size) : NULL;
}
