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
		.piece = {{.ticks = start_ticks, .ns_per_tick = 1}},
		.n_pieces = 1,
	};
}

/* Ticks have the length from now on that they had between the start and the latest reading. A
 * division now saves one per event. */
static void set_rate(struct timebase *t, struct timebase_piece *p)
{
	uint64_t ns = t->last_ns - t->start_ns, ticks = t->last_ticks - t->start_ticks;

	p->ns_per_tick = ns / ticks;
	/* Rounded up: a result that is a whole number must not become less by rounding. */
	p->fraction =
		(uint64_t)(((unsigned __int128)(ns % ticks) << 64) / ticks) + (ns % ticks != 0);
}

/* False: the reading is ignored. */
static bool take_reading(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns)
{
	if (ticks <= t->last_ticks || monotonic_ns <= t->last_ns ||
	    monotonic_ns - t->start_ns > TIMEBASE_MAX_NS)
		return false;
	t->last_ticks = ticks;
	t->last_ns = monotonic_ns;
	return true;
}

void timebase_add(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns)
{
	if (take_reading(t, ticks, monotonic_ns) && !t->is_ns)
		set_rate(t, &t->piece[t->n_pieces - 1]);
}

#define FIRST_STEADY_NS (1 * NS_PER_S)

void timebase_add_steadily(struct timebase *t, uint64_t ticks, uint64_t monotonic_ns)
{
	uint64_t next_ns = t->next_ns ? t->next_ns : FIRST_STEADY_NS;
	uint64_t since_ns = monotonic_ns > t->start_ns ? monotonic_ns - t->start_ns : 0;
	bool is_first = t->next_ns == 0;

	if (since_ns < next_ns)
		return;
	while (next_ns <= since_ns && next_ns < UINT64_MAX / 2)
		next_ns *= 2;
	t->next_ns = next_ns;
	if (!take_reading(t, ticks, monotonic_ns) || t->is_ns)
		return;
	if (!is_first && t->n_pieces < TIMEBASE_MAX_PIECES) {
		t->piece[t->n_pieces] =
			(struct timebase_piece){.ticks = ticks, .at_ns = timebase_ns(t, ticks)};
		t->n_pieces++;
	}
	set_rate(t, &t->piece[t->n_pieces - 1]);
}

const struct timebase_piece *timebase_find_piece(const struct timebase *t, uint64_t ticks)
{
	uint32_t i = t->n_pieces - 1;

	while (i > 0 && ticks < t->piece[i].ticks)
		i--;
	return &t->piece[i];
}

bool timebase_is_steady(const struct timebase *t)
{
	return t->is_ns || t->next_ns != 0;
}

bool timebase_is_known(const struct timebase *t)
{
	return t->is_ns || t->last_ticks > t->start_ticks;
}
