/* record/ending.c - see ending.h. */
#include "record/ending.h"

#include "record/capture.h"
#include "record/sys.h"
#include "record/writer.h"

#define PATIENCE_NS NS_PER_S

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
