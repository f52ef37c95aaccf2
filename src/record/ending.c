/* record/ending.c - see ending.h. */
#include "record/ending.h"

#include "record/capture.h"
#include "record/sys.h"
#include "record/writer.h"

#define PATIENCE_NS NS_PER_S
#define MAX_PAUSES 1000

void ending_hand_over(void)
{
	if (thread_self && thread_self->depth == 0)
		thread_finish_blocks(thread_self);
}

void ending_begin(struct recorder *rec, enum format_end_how how, int status)
{
	capture_note(EVENT_PROCESS_END, (uint64_t[]){how, (uint32_t)status}, 2);
	ending_hand_over();
	atomic_store(&rec->ending, how);
	writer_sync(rec, PATIENCE_NS);
}

void ending_take_back(struct recorder *rec)
{
	uint32_t expected = END_BY_EXEC;

	/* Another thread may have called exit() meanwhile. */
	if (atomic_compare_exchange_strong(&rec->ending, &expected, 0))
		writer_sync(rec, PATIENCE_NS);
}

/* Threads that are inside of hooks may be about to make a system call. */
static void wait_for_hooks(struct recorder *rec)
{
	const struct timespec pause = {.tv_nsec = 100000};
	struct thread *t = atomic_load(&rec->threads);

	for (unsigned i = 0; t && i < MAX_PAUSES;) {
		if (t == thread_self || atomic_load(&t->depth) == 0) {
			t = t->next;
			continue;
		}
		arch_syscall2(SYS_nanosleep, &pause, NULL);
		i++;
	}
}

void ending_give_up(struct recorder *rec, const char *why)
{
	ending_hand_over();
	atomic_store(&rec->why_given_up, why);
	atomic_store(&rec->ending, END_BY_EXIT);
	writer_sync(rec, PATIENCE_NS);
	park_for_good(rec);
	record_end_for_good(rec);
	wait_for_hooks(rec);
}
