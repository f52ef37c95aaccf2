/* record/record.c - see record.h. */
#include "record/record.h"

#include "record/sys.h"

HOT_DATA _Atomic uint32_t record_epoch = 1;
_Atomic uint32_t record_mode;

/* Published when is_alive is set, so a reader that finds is_alive 0 is in a forked child. */
static _Atomic(struct recorder *) the_recorder;

struct recorder *record_get_memory(void)
{
	return atomic_load(&the_recorder);
}

void record_set(struct recorder *rec)
{
	atomic_store(&the_recorder, rec);
}

struct recorder *record_get(void)
{
	struct recorder *rec = record_get_memory();

	return rec && atomic_load(&rec->is_alive) ? rec : NULL;
}

struct recorder *record_find_own(void)
{
	struct recorder *rec = record_get();

	return rec && rec->pid == sys_getpid() ? rec : NULL;
}

void record_wake_writer(struct recorder *rec)
{
	atomic_fetch_add(&rec->work, 1);
	if (atomic_exchange(&rec->is_writer_asleep, 0))
		sys_futex_wake_all(&rec->work);
}
