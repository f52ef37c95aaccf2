/* recording/timebase.c - see timebase.h. */
#include "recording/timebase.h"

void timebase_init(struct timebase *t, uint64_t start_ticks, uint64_t start_ns, bool is_ns)
{
	*t = (struct timebase){
		.start_ticks = start_ticks,
		.start_ns = start_ns,
		.last_ticks = start_ticks,
		.last_ns = start_ns,
		.is_ns = is_ns,
		.ns_per_tick = 1,
	};
}

/* A division now saves one per event. */
static void set_rate(struct timebase *t)
{
	uint64_t ns = t->last_ns - t->start_ns, ticks = t->last_ticks - t->start_ticks;

	t->ns_per_tick = ns / ticks;
	/* Rounded up: a result that is a whole number must not become less by rounding. */
	t->fraction =
		(uint64_t)(((unsigned __int128)(ns % ticks) << 64) / ticks) + (ns % ticks != 0);
}

void timebase_add(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns)
{
	if (ticks > t->last_ticks && monotonic_ns > t->last_ns &&
	    monotonic_ns - t->start_ns <= TIMEBASE_MAX_NS) {
		t->last_ticks = ticks;
		t->last_ns = monotonic_ns;
		if (!t->is_ns)
			set_rate(t);
	}
}

#define FIRST_STEADY_NS (1 * NS_PER_S)

void timebase_add_steadily(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns)
{
	uint64_t next_ns = t->next_ns ? t->next_ns : FIRST_STEADY_NS;
	uint64_t since_ns = monotonic_ns > t->start_ns ? monotonic_ns - t->start_ns : 0;

	if (since_ns < next_ns)
		return;
	while (next_ns <= since_ns && next_ns < UINT64_MAX / 2)
		next_ns *= 2;
	t->next_ns = next_ns;
	timebase_add(t, ticks, monotonic_ns);
}

bool timebase_is_steady(const struct timebase *t)
{
	return t->is_ns || t->next_ns != 0;
}

bool timebase_is_known(const struct timebase *t)
{
	return t->is_ns || t->last_ticks > t->start_ticks;
}
