/* record/ending.c - see ending.h. */
#include "record/ending.h"

#include "record/capture.h"
#include "record/options.h"
#include "record/start.h"
#include "record/sys.h"
#include "record/writer.h"

#define PATIENCE_NS NS_PER_S
#define PAUSE_NS 100000

void ending_hand_over(void)
{
	if (thread_self && thread_self->depth == 0)
		thread_finish_blocks(thread_self);
}

/* How long an exit waits for the writer: also until clients of the server have the end. */
static uint64_t patience_ns(void)
{
	return PATIENCE_NS +
	       (options_active.ENABLE_SERVER ? options_active.SERVER_EXIT_WAIT * NS_PER_MS : 0);
}

void ending_begin(struct recorder *rec, enum format_end_how how, int status)
{
	capture_standalone(EVENT_PROCESS_END, (uint64_t[]){how, (uint32_t)status}, 2);
	ending_hand_over();
	atomic_store(&rec->ending, how);
	if (rec->is_writer_safe)
		record_wake_writer(rec); /* it goes on when we are gone */
	else
		writer_sync(rec, patience_ns());
	writer_ensure(rec);
}

void ending_take_back(struct recorder *rec)
{
	uint32_t expected = END_BY_EXEC;

	/* Another thread may have called exit() meanwhile. */
	if (atomic_compare_exchange_strong(&rec->ending, &expected, 0))
		writer_sync(rec, PATIENCE_NS);
}

/* Waits, a second at most, for threads that are in a hook: they may need the writer to record their
 * event. */
static void wait_for_hooks(struct recorder *rec)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct thread *t = atomic_load(&rec->threads);

	for (unsigned i = 0; t && i < PATIENCE_NS / PAUSE_NS;) {
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
	start_never();
	wait_for_hooks(rec);
	ending_hand_over();
	atomic_store(&rec->why_given_up, why);
	atomic_store(&rec->ending, END_BY_EXIT);
	writer_sync(rec, PATIENCE_NS);
	writer_end(rec);
	atomic_store(&rec->is_alive, 0);
}
