/* record/allocator_stats.h - what allocators say of themselves, about once a second.
 *
 * An allocator holds more memory than the program's blocks: rounding, free blocks, pages that it keeps.
 * jemalloc, mimalloc, tcmalloc and glibc have functions that tell (enum allocator_stats_kind).
 *
 * Who may ask. Such a function takes the allocator's locks and uses thread-local data of libc. The
 * writer may not call it: libc does not know the writer, and a thread of the program that holds the
 * lock may be stopped for ever. So a thread of the program asks, in a hook of a function of the same
 * allocator, just before the hook calls the original. There the question is as safe as the call
 * itself: the thread holds no lock of this allocator, because the original is about to take them.
 * That is not true in two cases, in which nobody asks: while the thread is in fork(), where handlers
 * run that may hold all locks of the allocator; and in a signal handler, which may have interrupted
 * such a function that the program called. So the thread walks its stack before it asks. Hooks
 * inside other hooks do not ask either.
 *
 *	writer				a thread of the program
 *	IDLE -> WANTED
 *					WANTED -> TAKING	in the next hook of this allocator
 *					TAKING -> DONE		the values are there
 *	DONE -> IDLE			the chunk is written
 *
 * A forked child never asks: glibc takes the locks of all arenas to answer, and after a clone() without
 * libc's fork() an arena may be locked by a thread that the child does not have.
 *
 * The cost is bounded: an answer that took t is asked for again after 1000 t at the earliest. glibc looks
 * at every free chunk to answer, which may take long.
 *
 * Threads: as said above; allocator_stats_add() by one thread at a time, which holds the dynamic
 * linker's lock or is alone.
 */
#ifndef RECORD_ALLOCATOR_STATS_H
#define RECORD_ALLOCATOR_STATS_H

#include <stdatomic.h>

#include "record/allocator_numbers.h"
#include "record/lane.h"

enum allocator_stats_kind {
	ALLOCATOR_STATS_NONE,
	ALLOCATOR_STATS_MALLCTL, /* jemalloc: mallctl() */
	ALLOCATOR_STATS_PROCESS_INFO, /* mimalloc: mi_process_info() */
	ALLOCATOR_STATS_PROPERTY, /* tcmalloc: MallocExtension_GetNumericProperty() */
	ALLOCATOR_STATS_MALLINFO2, /* glibc: mallinfo2() */
};

/* All in bytes; UINT64_MAX: the allocator does not say. */
enum allocator_stats_value {
	ALLOCATOR_ALLOCATED, /* in blocks of the program, with rounding */
	ALLOCATOR_ACTIVE, /* in pages that hold such blocks */
	ALLOCATOR_METADATA, /* for the allocator's own tables */
	ALLOCATOR_RESIDENT, /* in memory, as far as the allocator knows */
	ALLOCATOR_MAPPED, /* taken from the system */
	ALLOCATOR_RETAINED, /* addresses that are kept without memory */
	ALLOCATOR_N_VALUES,
};

struct allocator_stats {
	uint64_t ticks;
	uint64_t cost_ns; /* that the answer took */
	uint64_t value[ALLOCATOR_N_VALUES];
};

/* The allocator with this number can be asked, by this function. */
void allocator_stats_add(uint32_t number, enum allocator_stats_kind kind, const void *function);

/* Writer: asks all allocators whose time has come. True: allocator 0 is one of them. The fast path of
 * its hooks does not call allocator_stats_look(): raise record_epoch, and the next call of each thread
 * takes the slow path. */
bool allocator_stats_want(uint64_t now_ns);

/* Writer: copies a new answer of this allocator. False: there is none. */
bool allocator_stats_get(uint32_t number, uint64_t now_ns, struct allocator_stats *ret);

extern HIDDEN _Atomic uint32_t allocator_stats_wanted; /* bit for each number */

/* The rest of allocator_stats_look(): calls the function of the allocator, unless the stack leads
 * through a signal handler. */
COLD void allocator_stats_take(struct lane *lane, const struct unwind_start *at, uint32_t number);

/* The calling thread begins or ends a fork() with its handlers. */
void allocator_stats_set_forking(bool is_forking);

/* In a hook of a function of this allocator, in the lane that the hook has entered, before the original
 * is called. at: the hook's caller. Keeps errno. */
static ALWAYS_INLINE void allocator_stats_look(struct lane *lane, const struct unwind_start *at,
					       uint32_t number)
{
	if (unlikely(atomic_load_explicit(&allocator_stats_wanted, memory_order_relaxed) >> number &
		     1) &&
	    lane->number == 0)
		allocator_stats_take(lane, at, number);
}

#endif
