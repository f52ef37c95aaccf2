/* record/allocator_stats.c - see allocator_stats.h. */
#include "record/allocator_stats.h"

#include <errno.h>
#include <malloc.h>

#include "base/units.h"
#include "record/clock.h"
#include "record/sys.h"

#define INTERVAL_NS NS_PER_S
#define COST_FACTOR 1000u /* an answer that took 1 ms is asked for once a second */

enum state {
	STATE_IDLE,
	STATE_WANTED,
	STATE_TAKING,
	STATE_DONE
};

static struct {
	enum allocator_stats_kind kind;
	const void *function;
	_Atomic uint32_t state; /* enum state */
	uint64_t next_ns; /* writer: not before */
	struct allocator_stats stats; /* of the thread that takes, then of the writer */
} asked[ALLOCATOR_NUMBERS];

HOT_DATA _Atomic uint32_t allocator_stats_wanted;

void allocator_stats_add(uint32_t number, enum allocator_stats_kind kind, const void *function)
{
	asked[number].function = function;
	__atomic_store_n(&asked[number].kind, function ? kind : ALLOCATOR_STATS_NONE,
			 __ATOMIC_RELEASE);
}

bool allocator_stats_want(uint64_t now_ns)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < ALLOCATOR_NUMBERS; i++) {
		uint32_t idle = STATE_IDLE;

		if (__atomic_load_n(&asked[i].kind, __ATOMIC_ACQUIRE) &&
		    now_ns >= asked[i].next_ns &&
		    atomic_compare_exchange_strong(&asked[i].state, &idle, STATE_WANTED))
			wanted |= 1u << i;
	}
	if (wanted)
		atomic_fetch_or(&allocator_stats_wanted, wanted);
	return atomic_load(&allocator_stats_wanted) & 1; /* asked before, and nobody could answer */
}

bool allocator_stats_get(uint32_t number, uint64_t now_ns, struct allocator_stats *ret)
{
	uint64_t pause_ns;

	if (atomic_load_explicit(&asked[number].state, memory_order_acquire) != STATE_DONE)
		return false;
	*ret = asked[number].stats;
	pause_ns = ret->cost_ns * COST_FACTOR;
	asked[number].next_ns = now_ns + (pause_ns < INTERVAL_NS ? INTERVAL_NS : pause_ns);
	atomic_store_explicit(&asked[number].state, STATE_IDLE, memory_order_release);
	return true;
}

/* ---- the allocators ---- */

typedef int (*mallctl_fn)(const char *name, void *old, size_t *old_bytes, void *new,
			  size_t new_bytes);
typedef void (*process_info_fn)(size_t *elapsed, size_t *user, size_t *system, size_t *rss,
				size_t *peak_rss, size_t *commit, size_t *peak_commit,
				size_t *faults);
typedef int (*property_fn)(const char *name, size_t *value);
typedef struct mallinfo2 (*mallinfo2_fn)(void);

static uint64_t mallctl_value(mallctl_fn mallctl, const char *name)
{
	size_t value = 0, n_bytes = sizeof(value);

	return mallctl(name, &value, &n_bytes, NULL, 0) ? UINT64_MAX : value;
}

static void ask_jemalloc(mallctl_fn mallctl, uint64_t *value)
{
	uint64_t epoch = 1; /* any number: refreshes the others */
	size_t n_bytes = sizeof(epoch);

	mallctl("epoch", &epoch, &n_bytes, &epoch, sizeof(epoch));
	value[ALLOCATOR_ALLOCATED] = mallctl_value(mallctl, "stats.allocated");
	value[ALLOCATOR_ACTIVE] = mallctl_value(mallctl, "stats.active");
	value[ALLOCATOR_METADATA] = mallctl_value(mallctl, "stats.metadata");
	value[ALLOCATOR_RESIDENT] = mallctl_value(mallctl, "stats.resident");
	value[ALLOCATOR_MAPPED] = mallctl_value(mallctl, "stats.mapped");
	value[ALLOCATOR_RETAINED] = mallctl_value(mallctl, "stats.retained");
}

static void ask_mimalloc(process_info_fn process_info, uint64_t *value)
{
	size_t rss = 0, commit = 0;

	process_info(NULL, NULL, NULL, &rss, NULL, &commit, NULL, NULL);
	value[ALLOCATOR_RESIDENT] = rss;
	value[ALLOCATOR_MAPPED] = commit;
}

static uint64_t property_value(property_fn property, const char *name)
{
	size_t value = 0;

	return property(name, &value) ? value : UINT64_MAX;
}

static void ask_tcmalloc(property_fn property, uint64_t *value)
{
	uint64_t heap = property_value(property, "generic.heap_size");
	uint64_t unmapped = property_value(property, "tcmalloc.pageheap_unmapped_bytes");

	value[ALLOCATOR_ALLOCATED] = property_value(property, "generic.current_allocated_bytes");
	value[ALLOCATOR_RETAINED] = unmapped;
	value[ALLOCATOR_MAPPED] = heap;
	if (heap != UINT64_MAX && unmapped != UINT64_MAX && heap >= unmapped)
		value[ALLOCATOR_MAPPED] = heap - unmapped;
}

static void ask_glibc(mallinfo2_fn mallinfo2_, uint64_t *value)
{
	struct mallinfo2 m = mallinfo2_();

	value[ALLOCATOR_ALLOCATED] = m.uordblks + m.hblkhd;
	value[ALLOCATOR_MAPPED] = m.arena + m.hblkhd;
}

static void ask(enum allocator_stats_kind kind, const void *function, uint64_t *value)
{
	switch (kind) {
	case ALLOCATOR_STATS_MALLCTL:
		ask_jemalloc((mallctl_fn)(uintptr_t)function, value);
		break;
	case ALLOCATOR_STATS_PROCESS_INFO:
		ask_mimalloc((process_info_fn)(uintptr_t)function, value);
		break;
	case ALLOCATOR_STATS_PROPERTY:
		ask_tcmalloc((property_fn)(uintptr_t)function, value);
		break;
	case ALLOCATOR_STATS_MALLINFO2:
		ask_glibc((mallinfo2_fn)(uintptr_t)function, value);
		break;
	case ALLOCATOR_STATS_NONE:
		break;
	}
}

static _Thread_local bool is_forking_now;

void allocator_stats_set_forking(bool is_forking)
{
	is_forking_now = is_forking;
}

/* Is the thread in a signal handler? */
static bool is_interrupted(struct lane *lane, const struct unwind_start *at)
{
	unwind_walk(lane_unwinder(lane), at, &lane->frames);
	return lane->frames.crossed_signal;
}

void allocator_stats_take(struct lane *lane, const struct unwind_start *at, uint32_t number)
{
	const struct recorder *rec = record_get();
	struct allocator_stats *s = &asked[number].stats;
	uint32_t wanted = STATE_WANTED;
	int saved_errno = errno;
	uint64_t start_ns;

	if (is_forking_now || is_interrupted(lane, at))
		return; /* another call will ask */
	atomic_fetch_and(&allocator_stats_wanted, ~(1u << number));
	if (!rec || rec->parent_pid)
		return; /* a forked child: a lock may be held by a thread that is not there */
	if (!atomic_compare_exchange_strong(&asked[number].state, &wanted, STATE_TAKING))
		return;
	for (unsigned i = 0; i < ALLOCATOR_N_VALUES; i++)
		s->value[i] = UINT64_MAX;
	start_ns = sys_clock_ns(CLOCK_MONOTONIC);
	ask(asked[number].kind, asked[number].function, s->value);
	s->cost_ns = sys_clock_ns(CLOCK_MONOTONIC) - start_ns;
	s->ticks = clock_ticks();
	atomic_store_explicit(&asked[number].state, STATE_DONE, memory_order_release);
	errno = saved_errno;
}
