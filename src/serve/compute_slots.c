/* serve/compute_slots.c - see compute_slots.h. */
#include "serve/compute_slots.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "util/monotonic.h"
#include "util/rss.h"

#define LOOK_NS 50000000 /* so often those that wait look whether something has become long */
#define SHORT_NICE 4 /* of a pass over rows: less than half of the processor beside what is quick */
#define LONG_NICE 10
#define LAST_NICE 15
#define LAST_WAIT_NS 5000000000u
#define PASSED_SHARE 4u /* a fourth of the passed time: others use the machine, too */
#define WAITED_SHARE 4u
#define STEP_NS 100000000u
#define MAX_SLOTS 128u
#define SMALL_NS 50000000u /* an answer that takes no longer needs little memory */

struct compute_slots {
	pthread_mutex_t lock; /* guards what follows, and the turns in the list */
	pthread_cond_t changed;
	unsigned n;
	unsigned n_begun;
	uint64_t limit_bytes;
	struct compute_turn list; /* the ring's head; in the order of arrival */
};

/* What the answers that compute or wait amount to. */
struct load {
	unsigned n_short, n_long; /* that compute */
	unsigned n_huge; /* of the long ones */
	unsigned n_last;
	uint64_t needs_bytes; /* of those that compute */
	bool has_waiting, has_waiting_long, has_waiting_huge; /* of those that are not last */
	const char *client[2 * MAX_SLOTS]; /* of those that compute */
};

int compute_slots_create(unsigned n, uint64_t limit_bytes, struct compute_slots **ret,
			 struct err *err)
{
	struct compute_slots *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set_memory(err, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->n = n < MAX_SLOTS ? n : MAX_SLOTS;
	t->limit_bytes = limit_bytes;
	t->list.next = t->list.previous = &t->list;
	*ret = t;
	return 0;
}

void compute_slots_destroy(struct compute_slots *t)
{
	if (!t)
		return;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static uint64_t used_cpu_ns(const struct compute_turn *turn)
{
	struct timespec t = {0};

	clock_gettime(turn->clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec - turn->start_cpu_ns;
}

/* What the turn has cost since it got the slot. The threads that its own thread started are not in
 * its processor time, and neither is the time for which it waits for the disk, so a part of the time
 * that has passed counts if it is more. */
static uint64_t used_ns(const struct compute_turn *turn)
{
	uint64_t passed_ns = (monotonic_ns() - turn->start_ns) / PASSED_SHARE;
	uint64_t cpu_ns = used_cpu_ns(turn);

	return cpu_ns > passed_ns ? cpu_ns : passed_ns;
}

static void start_clocks(struct compute_turn *turn)
{
	struct timespec t = {0};

	clock_gettime(turn->clock, &t);
	turn->start_cpu_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
	turn->start_ns = monotonic_ns();
}

/* ---- with the lock ---- */

static void become_long(struct compute_turn *turn)
{
	turn->is_long = true;
	setpriority(PRIO_PROCESS, (id_t)turn->thread, turn->is_last ? LAST_NICE : LONG_NICE);
}

/* What is not known is taken for huge when it has computed for so long. */
static bool is_huge(const struct compute_turn *turn)
{
	return turn->guess_ns > COMPUTE_HUGE_NS ||
	       (turn->has_slot && turn->spent_ns + used_ns(turn) > COMPUTE_HUGE_NS);
}

static struct load measure(struct compute_slots *t)
{
	uint64_t now_ns = monotonic_ns();
	struct load l;

	l.n_short = l.n_long = l.n_huge = l.n_last = 0;
	l.needs_bytes = 0;
	l.has_waiting = l.has_waiting_long = l.has_waiting_huge = false;

	for (struct compute_turn *i = t->list.next; i != &t->list; i = i->next) {
		l.needs_bytes += i->has_slot ? i->needs_bytes : 0;
		if (i->has_slot)
			l.client[l.n_short + l.n_long + l.n_last] = i->client;
		if (i->is_last && !i->has_slot && now_ns - i->since_ns > LAST_WAIT_NS) {
			i->is_last = false;
			i->is_long = true;
		}
		if (i->is_last) {
			l.n_last += i->has_slot;
			continue;
		}
		if (i->has_slot && !i->is_long && i->spent_ns + used_ns(i) > COMPUTE_SHORT_NS)
			become_long(i);
		l.n_short += i->has_slot && !i->is_long;
		l.n_long += i->has_slot && i->is_long;
		l.n_huge += i->has_slot && i->is_long && is_huge(i);
		l.has_waiting |= !i->has_slot;
		l.has_waiting_long |= !i->has_slot && i->is_long;
		l.has_waiting_huge |= !i->has_slot && i->is_long && is_huge(i);
	}
	return l;
}

/* Is a slot free for an answer? One that became long takes no slot from short ones, and the last ones
 * take none from others. But at most one and a half times n answers compute at once, besides the last
 * ones: each needs memory. */
static bool is_free_for(const struct compute_slots *t, const struct load *l,
			const struct compute_turn *turn)
{
	unsigned n_kept = l->has_waiting_long && l->n_long == 0 ? 1 : 0;
	unsigned n_max_long = (t->n + 1) / 2, n_max, n_all = l->n_short + l->n_long;

	if (turn->is_last)
		return !l->has_waiting && l->n_last < n_max_long && n_all + l->n_last < t->n;
	if (n_all >= t->n + n_max_long)
		return false;
	if (!turn->is_long)
		return l->n_short + n_kept < t->n;
	if (l->n_long >= n_max_long || n_all >= t->n)
		return false;
	if (n_max_long == 1)
		return true;
	n_max = is_huge(turn) || l->has_waiting_huge ? n_max_long - 1 : n_max_long;
	return (is_huge(turn) ? l->n_huge : l->n_long - l->n_huge) < n_max;
}

static unsigned count_of_client(const struct load *l, const char *client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n_short + l->n_long + l->n_last; i++)
		n += strcmp(l->client[i], client) == 0;
	return n;
}

/* The order of long answers: what one costs, less a share of the time since it began to wait. Steps of
 * 100 ms: guesses are no better. */
static uint64_t cost_left(const struct compute_turn *turn, uint64_t now_ns)
{
	uint64_t guess_ns = turn->guess_ns ? turn->guess_ns : COMPUTE_HUGE_NS;
	uint64_t waited_ns = (now_ns - turn->since_ns) / WAITED_SHARE;

	return !turn->is_long || waited_ns > guess_ns ? 0 : (guess_ns - waited_ns) / STEP_NS;
}

/* Short ones before long ones before the last ones. */
static unsigned rank_of(const struct compute_turn *turn)
{
	return turn->is_last ? 2 : turn->is_long;
}

/* May it begin although memory is short? Small answers may, one by one: a long one may hold memory until
 * its client has read it, and that can take a minute. */
static bool may_begin_full(const struct load *l, const struct compute_turn *turn)
{
	return turn->is_begun || (!turn->is_long && !turn->is_last && turn->guess_ns &&
				  turn->guess_ns <= SMALL_NS && l->n_short == 0);
}

/* Of those that wait and for which a slot is free: the one whose turn it is. NULL: none. */
static const struct compute_turn *choose(struct compute_slots *t)
{
	const struct compute_turn *found = NULL;
	struct load l = measure(t);
	bool is_full =
		t->n_begun && t->limit_bytes && rss_own_bytes() + l.needs_bytes > t->limit_bytes;
	uint64_t now_ns = monotonic_ns(), found_cost = 0;
	unsigned n_found = 0;

	for (const struct compute_turn *i = t->list.next; i != &t->list; i = i->next) {
		uint64_t cost;
		unsigned n;

		if (i->has_slot || (is_full && !may_begin_full(&l, i)) || !is_free_for(t, &l, i))
			continue;
		n = count_of_client(&l, i->client);
		cost = cost_left(i, now_ns);
		if (!found || rank_of(i) < rank_of(found) ||
		    (rank_of(i) == rank_of(found) &&
		     (cost < found_cost || (cost == found_cost && n < n_found)))) {
			found = i;
			found_cost = cost;
			n_found = n;
		}
	}
	return found;
}

static void wait_a_little(struct compute_slots *t)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&t->changed, &t->lock, &until);
}

static void unlink_turn(struct compute_turn *turn)
{
	turn->previous->next = turn->next;
	turn->next->previous = turn->previous;
}

/* ---- for answers ---- */

bool compute_turn_take(struct compute_slots *t, struct compute_turn *turn,
		       const atomic_bool *cancel)
{
	if (turn->is_instant)
		return !atomic_load(cancel);
	turn->thread = (int)gettid();
	if (pthread_getcpuclockid(pthread_self(), &turn->clock) != 0)
		turn->clock = CLOCK_MONOTONIC;
	if (!turn->since_ns)
		turn->since_ns = monotonic_ns();
	pthread_mutex_lock(&t->lock);
	turn->next = &t->list;
	turn->previous = t->list.previous;
	turn->previous->next = turn->next->previous = turn;
	while (!atomic_load(cancel) && choose(t) != turn)
		wait_a_little(t);
	turn->has_slot = !atomic_load(cancel);
	t->n_begun += turn->has_slot && !turn->is_begun;
	turn->is_begun |= turn->has_slot;
	if (!turn->has_slot)
		unlink_turn(turn);
	start_clocks(turn);
	if (turn->has_slot && (turn->is_long || turn->is_last))
		become_long(turn);
	else if (turn->has_slot && !turn->is_quick &&
		 getpriority(PRIO_PROCESS, (id_t)turn->thread) < SHORT_NICE)
		setpriority(PRIO_PROCESS, (id_t)turn->thread, SHORT_NICE);
	pthread_cond_broadcast(&t->changed); /* the next one may have a slot, too */
	pthread_mutex_unlock(&t->lock);
	return turn->has_slot;
}

void compute_turn_give(struct compute_slots *t, struct compute_turn *turn)
{
	pthread_mutex_lock(&t->lock);
	if (turn->has_slot) {
		unlink_turn(turn);
		turn->has_slot = false;
		turn->spent_ns += used_ns(turn);
		turn->cpu_ns += used_cpu_ns(turn);
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}

void compute_turn_end(struct compute_slots *t, struct compute_turn *turn)
{
	compute_turn_give(t, turn);
	if (!turn->is_begun)
		return;
	pthread_mutex_lock(&t->lock);
	turn->is_begun = false;
	t->n_begun--;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}
