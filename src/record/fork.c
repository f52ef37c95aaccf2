/* record/fork.c - see fork.h. */
#include "record/fork.h"

#include <string.h>

#include "record/allocator_stats.h"
#include "record/start.h"
#include "record/sys.h"

/* State of the forking thread, in memory that a fork copies. There is room for one thread: a second
 * thread that forks at the same moment goes without, and its child may fail. That needs two threads
 * that fork in handlers which both interrupted a hook. */
static struct {
	_Atomic uint32_t is_used;
	struct thread thread;
	struct lane lane[BLOCK_N_LANES];
} kept;

void fork_prepare(struct fork_guard *guard)
{
	struct thread *t = thread_self;

	allocator_stats_set_forking(true);
	guard->was_in_hook = false;
	if (!t || t->depth == 0 || atomic_exchange(&kept.is_used, 1))
		return;
	kept.thread = *t;
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (t->lane[i])
			kept.lane[i] = *t->lane[i];
	}
	guard->was_in_hook = true;
}

void fork_in_parent(const struct fork_guard *guard)
{
	allocator_stats_set_forking(false);
	if (guard->was_in_hook)
		atomic_store(&kept.is_used, 0);
}

/* A session without free blocks. What the interrupted hook writes goes to scratch pages. */
static struct session scratch;

static void keep_hook_alive(void)
{
	struct thread *t = thread_self;

	*t = kept.thread;
	thread_forget_epoch(t); /* the next event notices the fork */
	t->session = &scratch;
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		struct lane *lane = t->lane[i];

		if (!lane)
			continue;
		*lane = kept.lane[i];
		lane->area = &scratch.area[i];
		if (lane->block) {
			lane->area->blocks = lane->block - lane->slot;
			arch_syscall6(SYS_mmap, (long)lane->block, sizeof(struct block),
				      PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
	}
	atomic_store(&kept.is_used, 0);
}

void fork_in_child(const struct fork_guard *guard)
{
	allocator_stats_set_forking(false);
	if (guard->was_in_hook) {
		keep_hook_alive();
		return; /* the recording of the child begins with its next event */
	}
	start_check_fork();
	if (atomic_load(&record_mode) == RECORD_UNSET)
		start_recorder();
}
