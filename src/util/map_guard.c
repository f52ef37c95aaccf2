/* util/map_guard.c - see map_guard.h.
 *
 * The handler may run at any moment in any thread, so the slots are atomics and no lock is taken. A
 * slot is free, being filled (end is 0) or in use (end is set last). The handler reads end, then
 * start; a thread that touches a mapping has added it before.
 */
#include "util/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct slot {
	atomic_bool is_taken;
	atomic_bool is_cut;
	_Atomic uintptr_t start; /* of the first page */
	_Atomic uintptr_t end; /* 0: not in use */
};

static struct slot slots[MAP_GUARD_MAX];
static uintptr_t page_bytes; /* set before the handler is installed */

/* Maps zeros from the page of addr to the end of the mapping: the file is missing all of it. */
static bool mend(struct slot *s, uintptr_t addr)
{
	uintptr_t end = atomic_load(&s->end), page = addr & ~(page_bytes - 1);

	if (end == 0 || addr < atomic_load(&s->start) || addr >= end)
		return false;
	atomic_store(&s->is_cut, true);
	return mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
		    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	bool is_mended = false;

	(void)context;
	for (unsigned i = 0; i < MAP_GUARD_MAX && !is_mended; i++)
		is_mended = mend(&slots[i], (uintptr_t)info->si_addr);
	if (!is_mended)
		signal(number, SIG_DFL); /* the access is repeated, and ends the process */
	errno = saved_errno;
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

struct map_guard map_guard_add(const void *from, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	for (unsigned i = 0; i < MAP_GUARD_MAX; i++) {
		struct slot *s = &slots[i];

		if (atomic_exchange(&s->is_taken, true))
			continue;
		atomic_store(&s->is_cut, false);
		atomic_store(&s->start, (uintptr_t)from & ~(page_bytes - 1));
		atomic_store(&s->end, ((uintptr_t)from + len + page_bytes - 1) & ~(page_bytes - 1));
		return (struct map_guard){i + 1};
	}
	return (struct map_guard){0};
}

void map_guard_remove(struct map_guard *g)
{
	if (g->slot == 0)
		return;
	atomic_store(&slots[g->slot - 1].end, 0);
	atomic_store(&slots[g->slot - 1].is_taken, false);
	g->slot = 0;
}

bool map_guard_is_cut(struct map_guard g)
{
	return g.slot && atomic_load_explicit(&slots[g.slot - 1].is_cut, memory_order_relaxed);
}
