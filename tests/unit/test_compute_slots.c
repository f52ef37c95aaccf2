/* Who computes next: short before long, every client in turn. */
#include "harness/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serve/compute_slots.h"

struct asker {
	struct compute_slots *slots;
	struct compute_turn turn;
	atomic_bool spins; /* uses processor time */
	atomic_bool cancel;
	atomic_bool has_slot;
	pthread_t thread;
};

static void *wait_for_slot(void *user)
{
	struct asker *a = user;

	if (compute_turn_take(a->slots, &a->turn, &a->cancel))
		atomic_store(&a->has_slot, true);
	while (!atomic_load(&a->cancel)) {
		if (!atomic_load(&a->spins))
			usleep(2000);
	}
	compute_turn_end(a->slots, &a->turn);
	return NULL;
}

static void begin(struct asker *a, struct compute_slots *t, const char *client, bool is_long)
{
	memset(a, 0, sizeof(*a));
	a->slots = t;
	snprintf(a->turn.client, sizeof(a->turn.client), "%s", client);
	a->turn.is_long = is_long;
	CHECK_EQ(pthread_create(&a->thread, NULL, wait_for_slot, a), 0);
	usleep(30000); /* so that it is in the list before the next one */
}

static void end(struct asker *a)
{
	atomic_store(&a->cancel, true);
	pthread_join(a->thread, NULL);
}

static bool gets_slot(struct asker *a)
{
	for (int i = 0; i < 30000 && !atomic_load(&a->has_slot); i++)
		usleep(1000);
	return atomic_load(&a->has_slot);
}

static bool waits(struct asker *a)
{
	usleep(150000);
	return !atomic_load(&a->has_slot);
}

static struct compute_slots *make(unsigned n)
{
	struct compute_slots *t = NULL;
	struct err err = {0};

	CHECK_OK(compute_slots_create(n, 0, &t, &err));
	return t;
}

TEST(long_answers_leave_half_of_the_slots_to_short_ones)
{
	struct compute_slots *t = make(4);
	struct asker a[6];

	for (int i = 0; i < 4; i++)
		begin(&a[i], t, "x", true);
	CHECK(gets_slot(&a[0]) && gets_slot(&a[1]));
	CHECK(waits(&a[2]) && waits(&a[3]));
	begin(&a[4], t, "x", false);
	CHECK(gets_slot(&a[4]));
	begin(&a[5], t, "y", false);
	CHECK(gets_slot(&a[5]));
	CHECK(waits(&a[2]));
	end(&a[0]);
	CHECK(gets_slot(&a[2]));
	for (int i = 1; i < 6; i++)
		end(&a[i]);
	compute_slots_destroy(t);
}

TEST(what_computes_long_no_longer_counts_as_short)
{
	struct compute_slots *t = make(2);
	struct asker a[3];

	begin(&a[0], t, "x", false);
	begin(&a[1], t, "x", false);
	CHECK(gets_slot(&a[0]) && gets_slot(&a[1]));
	begin(&a[2], t, "x", false);
	atomic_store(&a[0].spins, true);
	CHECK(gets_slot(&a[2])); /* after COMPUTE_SHORT_NS, although nobody gave a slot back */
	CHECK(a[0].turn.is_long);
	for (int i = 0; i < 3; i++)
		end(&a[i]);
	compute_slots_destroy(t);
}

/* A client with many questions does not keep another client's only question waiting. */
TEST(the_client_with_fewest_slots_comes_first)
{
	struct compute_slots *t = make(2);
	struct asker a[4];

	begin(&a[0], t, "greedy", true);
	CHECK(gets_slot(&a[0]));
	begin(&a[1], t, "greedy", true);
	begin(&a[2], t, "greedy", true);
	begin(&a[3], t, "modest", true);
	CHECK(waits(&a[3])); /* one long answer at a time, of two slots */
	end(&a[0]);
	/* the slot is free: all have none, so the one that waits longest has it */
	CHECK(gets_slot(&a[1]));
	end(&a[1]);
	for (int i = 2; i < 4; i++)
		end(&a[i]);
	compute_slots_destroy(t);
	t = make(4);
	begin(&a[0], t, "greedy", true);
	begin(&a[1], t, "modest", true);
	CHECK(gets_slot(&a[0]) && gets_slot(&a[1]));
	begin(&a[2], t, "greedy", true);
	begin(&a[3], t, "modest", true);
	end(&a[1]);
	CHECK(gets_slot(&a[3])); /* greedy has one, and came before */
	CHECK(waits(&a[2]));
	end(&a[0]);
	end(&a[2]);
	end(&a[3]);
	compute_slots_destroy(t);
}

TEST(a_cancelled_turn_does_not_wait)
{
	struct compute_slots *t = make(1);
	struct asker a[2];

	begin(&a[0], t, "x", true);
	CHECK(gets_slot(&a[0]));
	begin(&a[1], t, "x", true);
	CHECK(waits(&a[1]));
	end(&a[1]);
	CHECK(!atomic_load(&a[1].has_slot));
	end(&a[0]);
	compute_slots_destroy(t);
}

static void begin_with_guess(struct asker *a, struct compute_slots *t, uint64_t guess_ns)
{
	memset(a, 0, sizeof(*a));
	a->slots = t;
	a->turn.is_long = true;
	a->turn.guess_ns = guess_ns;
	CHECK_EQ(pthread_create(&a->thread, NULL, wait_for_slot, a), 0);
	usleep(30000);
}

/* Of two slots for long answers, one is for what takes seconds, and one for what takes less. */
TEST(cheap_long_answers_come_before_exports)
{
	struct compute_slots *t = make(4);
	struct asker a[5];

	begin_with_guess(&a[0], t, 20 * (uint64_t)COMPUTE_HUGE_NS);
	begin_with_guess(&a[1], t, 20 * (uint64_t)COMPUTE_HUGE_NS);
	CHECK(gets_slot(&a[0]));
	CHECK(waits(&a[1]));
	begin_with_guess(&a[2], t, COMPUTE_HUGE_NS / 2);
	CHECK(gets_slot(&a[2]));
	begin_with_guess(&a[3], t, COMPUTE_HUGE_NS - 1);
	begin_with_guess(&a[4], t, COMPUTE_HUGE_NS / 4);
	CHECK(waits(&a[3]) && waits(&a[4]));
	end(&a[2]);
	CHECK(gets_slot(&a[4])); /* the cheaper one of the two */
	CHECK(waits(&a[3]) && waits(&a[1]));
	end(&a[0]);
	CHECK(gets_slot(&a[1])); /* and not the other cheap one */
	CHECK(waits(&a[3]));
	end(&a[4]);
	CHECK(gets_slot(&a[3]));
	end(&a[1]);
	end(&a[3]);
	compute_slots_destroy(t);
}

static void begin_last(struct asker *a, struct compute_slots *t)
{
	memset(a, 0, sizeof(*a));
	a->slots = t;
	a->turn.is_last = true;
	CHECK_EQ(pthread_create(&a->thread, NULL, wait_for_slot, a), 0);
	usleep(30000);
}

TEST(what_there_is_an_estimate_of_keeps_no_other_answer_waiting)
{
	struct compute_slots *t = make(2);
	struct asker last[2], a[4];

	begin_last(&last[0], t);
	CHECK(gets_slot(&last[0]));
	begin_last(&last[1], t); /* one at a time, of two slots */
	begin(&a[0], t, "x", true);
	CHECK(gets_slot(&a[0]));
	begin(&a[1], t, "x", false);
	CHECK(gets_slot(&a[1]));
	begin(&a[2], t, "x", true);
	CHECK(waits(&a[2]));
	end(&last[0]);
	CHECK(waits(&last[1])); /* a long one waits */
	end(&a[1]);
	usleep(5200000);
	end(&a[0]);
	CHECK(gets_slot(&last[1])); /* it has become a long one, which has waited longest */
	CHECK(waits(&a[2]));
	end(&a[2]);
	end(&last[1]);
	compute_slots_destroy(t);
}

/* The limit is a byte: there is always more. */
TEST(nothing_begins_beside_others_when_memory_is_short)
{
	struct compute_slots *t = NULL;
	struct err err = {0};
	struct asker a[3];

	CHECK_OK(compute_slots_create(4, 1, &t, &err));
	begin(&a[0], t, "x", true);
	CHECK(gets_slot(&a[0])); /* it is the only one */
	begin(&a[1], t, "x", false);
	CHECK(waits(&a[1]));
	compute_turn_give(t, &a[0].turn); /* its client is slow: the memory is still there */
	CHECK(waits(&a[1]));
	end(&a[0]);
	CHECK(gets_slot(&a[1]));
	begin(&a[2], t, "x", false);
	CHECK(waits(&a[2]));
	end(&a[1]);
	CHECK(gets_slot(&a[2]));
	end(&a[2]);
	compute_slots_destroy(t);
}

/* What the computing answers may still take counts as well. */
TEST(nothing_begins_beside_an_answer_that_may_need_all_memory)
{
	struct compute_slots *t = NULL;
	struct err err = {0};
	struct asker a[2];

	CHECK_OK(compute_slots_create(4, 1ull << 40, &t, &err));
	begin(&a[0], t, "x", true);
	CHECK(gets_slot(&a[0]));
	a[0].turn.needs_bytes = 1ull << 40; /* it has the slot: nobody else looks at the turn now */
	begin(&a[1], t, "x", false);
	CHECK(waits(&a[1]));
	end(&a[0]);
	CHECK(gets_slot(&a[1]));
	end(&a[1]);
	compute_slots_destroy(t);
}

TEST(small_answers_begin_one_by_one_when_memory_is_short)
{
	struct compute_slots *t = NULL;
	struct err err = {0};
	struct asker a[3];

	CHECK_OK(compute_slots_create(4, 1, &t, &err));
	begin(&a[0], t, "x", true);
	CHECK(gets_slot(&a[0]));
	for (int i = 1; i < 3; i++) {
		memset(&a[i], 0, sizeof(a[i]));
		a[i].slots = t;
		a[i].turn.guess_ns = 5000000;
		CHECK_EQ(pthread_create(&a[i].thread, NULL, wait_for_slot, &a[i]), 0);
		usleep(30000);
	}
	CHECK(gets_slot(&a[1]));
	CHECK(waits(&a[2]));
	end(&a[1]);
	CHECK(gets_slot(&a[2]));
	end(&a[0]);
	end(&a[2]);
	compute_slots_destroy(t);
}
