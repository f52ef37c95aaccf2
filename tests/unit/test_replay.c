/* Replay: counting, pairing and the repair of small inversions, on recordings made here. */
#include "harness/random.h"
#include "harness/test.h"
#include "ingest/pairing.h"
#include "ingest/replay.h"
#include "recording_synth.h"

#define WINDOW_TICKS (PAIRING_WINDOW_NS / 2) /* a tick of synthetic recordings is 2 ns */

/* What the callbacks got, as text: "+<tag> " for an allocation, "-<tag>" and how for an end. */
struct story {
	char text[4096];
	uint64_t n_arrivals;
	uint64_t n_unequal; /* frees whose ordinal is not that of the allocation */
};

static uint64_t on_arrival(void *user, const struct live_block *a)
{
	struct story *st = user;

	(void)a;
	return ++st->n_arrivals;
}

static void add_text(struct story *st, const char *text)
{
	strncat(st->text, text, sizeof(st->text) - strlen(st->text) - 1);
}

static void on_alloc(void *user, struct live_block *a, const struct live_block *old)
{
	char buf[64];

	if (old)
		snprintf(buf, sizeof(buf), "+%d<%d ", (int)a->tag, (int)old->tag);
	else
		snprintf(buf, sizeof(buf), "+%d ", (int)a->tag);
	add_text(user, buf);
}

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	static const char letter[] = {'f', 'r', 'z', 'u', 'x'};
	char buf[64];

	((struct story *)user)->n_unequal += how->ordinal != a->ordinal;
	snprintf(buf, sizeof(buf), "-%d%c%d ", (int)a->tag, letter[how->how], (int)how->thread);
	add_text(user, buf);
}

/* Ends the recording, replays it and gives the totals. */
static struct replay_totals run(struct synth *s, struct story *st)
{
	struct replay_callbacks c = {
		.user = st, .on_arrival = on_arrival, .on_alloc = on_alloc, .on_free = on_free};
	struct replay_totals t = {0};
	struct recording *r = NULL;
	struct err err = {0};

	memset(st, 0, sizeof(*st));
	synth_end(s, END_BY_EXIT);
	CHECK_OK(recording_open(synth_save(s), &r, &err));
	CHECK_OK(replay_run(r, &c, &t, NULL, &err));
	CHECK_EQ(r->damage.n_ranges, 0);
	recording_close(r);
	synth_fini(s);
	return t;
}

static struct synth s;
static struct synth_lane a, b;
static struct story story;

static void begin(uint32_t flags)
{
	synth_begin(&s, flags);
	synth_lane_begin(&a, 1, 0);
	synth_lane_begin(&b, 2, 0);
}

static struct replay_totals run_two_lanes(void)
{
	synth_flush(&s, &a, true);
	synth_flush(&s, &b, false);
	return run(&s, &story);
}

TEST(counts_and_bytes_are_those_of_the_calls)
{
	struct replay_totals t;

	begin(0);
	synth_call(&a, EVENT_MALLOC, 10, 0x1000, 100, 0);
	synth_call(&a, EVENT_CALLOC, 20, 0x2000, 200, 0);
	synth_call(&a, EVENT_ALIGNED, 30, 0x3000, 300, 0);
	synth_free(&a, 40, 0x2000);
	synth_call(&a, EVENT_REALLOC_BEGIN, 50, 0x1000, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 60, 0x4000, 1000, 0);
	synth_free(&b, 70, 0x3000);
	t = run_two_lanes();
	CHECK_EQ(t.events, 6);
	CHECK_EQ(t.allocations, 3);
	CHECK_EQ(t.reallocations, 1);
	CHECK_EQ(t.frees, 2);
	CHECK_EQ(t.bytes_allocated, 1600);
	CHECK_EQ(t.live_count, 1);
	CHECK_EQ(t.live_bytes, 1000);
	CHECK_EQ(t.peak_bytes, 1300);
	CHECK_EQ(t.peak_ns, 2 * 60);
	CHECK_EQ(t.unknown_frees + t.untracked_frees + t.duplicate_allocations, 0);
	CHECK_STR_EQ(story.text, "+1 +2 +3 -2f1 -1r1 +4<1 -3f2 ");
}

TEST(a_peak_is_the_first_moment_of_the_greatest_sum)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 100, 0);
	synth_free(&a, 20, 0x1000);
	synth_malloc(&a, 30, 0x1000, 100, 0);
	t = run_two_lanes();
	CHECK_EQ(t.peak_bytes, 100);
	CHECK_EQ(t.peak_ns, 2 * 10);
}

TEST(a_free_that_seems_earlier_than_its_allocation_is_paired_with_it)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 105, 0x1000, 8, 0);
	synth_free(&b, 100, 0x1000);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK_EQ(t.repaired, 1);
	CHECK_EQ(t.peak_bytes, 8);
	CHECK_STR_EQ(story.text, "+1 -1f2 ");
}

TEST(an_allocation_that_seems_earlier_than_the_free_before_it_waits)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0); /* 1 */
	synth_free(&a, 105, 0x1000);
	synth_malloc(&b, 100, 0x1000, 16, 0); /* 2 */
	synth_malloc(&b, 110, 0x2000, 1, 0); /* 3 */
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations, 0);
	CHECK_EQ(t.repaired, 1);
	CHECK_EQ(t.live_bytes, 17);
	CHECK_STR_EQ(story.text, "+1 -1f1 +2 +3 ");
}

TEST(inversions_around_a_realloc_are_repaired)
{
	struct replay_totals t;

	begin(0);
	/* moved by lane a; its old address was given to lane b, stamped 3 ticks too early */
	synth_malloc(&a, 10, 0x1000, 8, 0); /* 1 */
	synth_call(&a, EVENT_REALLOC_BEGIN, 103, 0x1000, 0, 0);
	synth_malloc(&b, 100, 0x1000, 1, 0); /* 2 */
	synth_call(&a, EVENT_REALLOC_END, 200, 0x2000, 16, 0); /* 3 */
	/* then freed by lane b, stamped before the realloc's end */
	synth_free(&b, 198, 0x2000);
	/* reallocated by b, stamped before the allocation in a */
	synth_malloc(&a, 305, 0x3000, 5, 0); /* 4 */
	synth_call(&b, EVENT_REALLOC_BEGIN, 300, 0x3000, 0, 0);
	synth_call(&b, EVENT_REALLOC_END, 400, 0x3000, 6, 0); /* 5 */
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations + t.unknown_frees + t.untracked_reallocations, 0);
	CHECK_EQ(t.repaired, 3);
	CHECK_EQ(t.live_bytes, 7);
	/* the free of 3 by another thread waits for the window */
	CHECK_STR_EQ(story.text, "+1 +2 -1r1 +3<1 +4 -4r2 +5<4 -3f2 ");
}

TEST(a_counterpart_of_the_same_lane_does_not_count)
{
	struct replay_totals t;

	begin(0);
	synth_free(&a, 100, 0x1000);
	synth_malloc(&a, 105, 0x1000, 8, 0);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 1);
	CHECK_EQ(t.live_count, 1);
	CHECK_EQ(t.repaired, 0);
	CHECK_STR_EQ(story.text, "+1 ");
}

TEST(a_counterpart_behind_the_window_does_not_count)
{
	struct replay_totals t;

	begin(0);
	synth_free(&a, 100, 0x1000);
	synth_malloc(&b, 102 + WINDOW_TICKS, 0x1000, 8, 0);
	synth_malloc(&b, 200 + WINDOW_TICKS, 0x1000, 9, 0); /* the first one vanished */
	synth_free(&a, 300 + 3 * WINDOW_TICKS, 0x1000);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 1);
	CHECK_EQ(t.duplicate_allocations, 1);
	CHECK_EQ(t.live_count, 0);
	CHECK_EQ(t.live_bytes, 0);
	CHECK_STR_EQ(story.text, "+1 -1x2 +2 -2f1 ");
}

/* Calls of another address in lane a, one a tick from first_tick on: what is tested here must not depend
 * on how much else happens meanwhile, or on where a batch ends. */
static void put_others(uint64_t first_tick, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!event_encoder_has_room(&a.enc, 8))
			synth_flush(&s, &a, true);
		synth_call(&a, i % 2 ? EVENT_FREE : EVENT_MALLOC, first_tick + i, 0x100000, i, 0);
	}
}

/* Seen: a counter read 10 us before the exchange it follows in the program. */
TEST(inversions_of_microseconds_are_repaired)
{
	for (unsigned n_before = 0; n_before <= 5000; n_before += 500) {
		struct replay_totals t;
		uint64_t at = 100 + n_before;

		begin(0);
		put_others(100, n_before);
		/* a free before its allocation */
		synth_free(&b, at, 0x1000);
		put_others(at, 4000);
		synth_malloc(&a, at + 4000, 0x1000, 8, 0);
		/* an allocation before the release of the block before it */
		synth_malloc(&a, at + 4001, 0x2000, 8, 0);
		synth_malloc(&b, at + 5000, 0x2000, 16, 0);
		put_others(at + 5000, 4000);
		synth_free(&a, at + 9000, 0x2000);
		t = run_two_lanes();
		CHECK_EQ(t.unknown_frees + t.duplicate_allocations, 0);
		CHECK_EQ(t.live_bytes, 16);
		CHECK_EQ(t.repaired, 2);
	}
}

TEST(a_free_stamped_microseconds_before_its_block_is_not_taken_for_that_of_the_one_before)
{
	for (unsigned n_before = 0; n_before <= 4000; n_before += 500) {
		struct replay_totals t;
		uint64_t at = 200 + n_before;

		begin(0);
		put_others(100, n_before);
		synth_malloc(&a, at - 50, 0x1000, 8, 0);
		synth_free(&b, at, 0x1000); /* of the second one */
		put_others(at, n_before ? 3000 : 10);
		synth_free(&a, at + 3000, 0x1000);
		synth_malloc(&a, at + 3001, 0x1000, 16, 0);
		t = run_two_lanes();
		CHECK_EQ(t.unknown_frees + t.duplicate_allocations, 0);
		CHECK_EQ(t.live_count, 0);
		if (n_before == 0)
			CHECK_STR_EQ(story.text + strlen(story.text) - 13, "-1f1 +7 -7f2 ");
	}
}

TEST(a_free_of_an_unknown_block_does_not_end_the_next_one_at_its_address)
{
	struct replay_totals t;

	begin(FORMAT_LATE_START);
	synth_free(&a, 100, 0x1000);
	synth_malloc(&b, 100 + PAIRING_SHORT_WINDOW_NS, 0x1000, 8, 0);
	t = run_two_lanes();
	CHECK_EQ(t.untracked_frees, 1);
	CHECK_EQ(t.live_count, 1);
}

TEST(frees_of_unknown_blocks_are_expected_after_a_late_start)
{
	struct replay_totals t;

	begin(FORMAT_LATE_START);
	synth_free(&a, 100, 0x1000);
	synth_call(&a, EVENT_REALLOC_BEGIN, 110, 0x2000, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 120, 0x3000, 10, 0);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 0);
	CHECK_EQ(t.untracked_frees, 2);
	CHECK_EQ(t.reallocations, 1);
	CHECK_EQ(t.untracked_reallocations, 1);
	CHECK_EQ(t.live_bytes, 10);
}

TEST(frees_of_unknown_blocks_are_expected_in_a_forked_child)
{
	struct replay_totals t;

	begin(0);
	synth_process(&s, 17);
	synth_free(&a, 100, 0x1000);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 0);
	CHECK_EQ(t.untracked_frees, 1);
}

TEST(frees_of_unknown_blocks_are_expected_after_a_pause)
{
	struct replay_totals t;

	begin(0);
	synth_free(&a, 100, 0x1000);
	synth_rare(&a, EVENT_SWITCH, 100 + 2 * WINDOW_TICKS, 0);
	synth_rare(&a, EVENT_SWITCH, 110 + 2 * WINDOW_TICKS, 1);
	synth_free(&b, 120 + 2 * WINDOW_TICKS, 0x2000);
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 1);
	CHECK_EQ(t.untracked_frees, 1);
	CHECK_EQ(t.pauses, 1);
}

/* Seen in a recording of toggle_storm: 49 ns between the free and the realloc that it follows. */
TEST(a_free_stamped_before_both_ends_of_the_realloc_it_follows_ends_the_new_block)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 100, 0x1000, 8, 0); /* 1 */
	synth_free(&b, 110, 0x1000);
	synth_call(&a, EVENT_REALLOC_BEGIN, 115, 0x1000, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 120, 0x1000, 16, 0); /* 2 */
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations + t.unknown_frees + t.untracked_reallocations, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK_STR_EQ(story.text, "+1 -1r1 +2<1 -2f2 ");
}

/* The same, 86 ns early: before the block's first allocation as well. */
TEST(a_free_stamped_before_everything_it_follows_ends_the_last_block)
{
	struct replay_totals t;

	begin(0);
	synth_free(&b, 100, 0x1000);
	synth_malloc(&a, 124, 0x1000, 8, 0); /* 1 */
	synth_call(&a, EVENT_REALLOC_BEGIN, 130, 0x1000, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 186, 0x1000, 16, 0); /* 2 */
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations + t.unknown_frees + t.untracked_reallocations, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK_STR_EQ(story.text, "+1 -1r1 +2<1 -2f2 ");
}

/* The block is old, but its maker frees it and gets the address again just after. */
TEST(a_free_stamped_before_the_makers_own_free_and_new_block_ends_the_new_block)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&b, 1000, 0x1000, 8, 0); /* 1 */
	synth_free(&a, 3052, 0x1000);
	synth_free(&b, 3083, 0x1000);
	synth_malloc(&b, 3110, 0x1000, 9, 0); /* 2 */
	synth_malloc(&a, 3388, 0x1000, 7, 0); /* 3 */
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations + t.unknown_frees, 0);
	CHECK_STR_EQ(story.text, "+1 -1f2 +2 -2f1 +3 ");
}

TEST(a_young_free_by_another_thread_ends_its_block_when_nothing_speaks_against_it)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 100, 0x1000, 8, 0); /* 1 */
	synth_free(&b, 110, 0x1000);
	synth_malloc(&a, 120, 0x1000, 9, 0); /* 2 */
	synth_free(&b, 130, 0x1000);
	t = run_two_lanes();
	CHECK_EQ(t.duplicate_allocations + t.unknown_frees, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK_STR_EQ(story.text, "+1 -1f2 +2 -2f2 ");
}

TEST(a_failed_realloc_leaves_the_block_alive)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	synth_rare(&a, EVENT_REALLOC_CANCEL, 30, 0);
	synth_free(&b, 40, 0x1000);
	t = run_two_lanes();
	CHECK_EQ(t.reallocations, 0);
	CHECK_EQ(t.failed_reallocations, 1);
	CHECK_EQ(t.unknown_frees, 0);
	CHECK_STR_EQ(story.text, "+1 -1f2 ");
}

TEST(realloc_to_zero_is_a_free)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	synth_rare(&a, EVENT_REALLOC_FREED, 30, 0);
	t = run_two_lanes();
	CHECK_EQ(t.frees, 1);
	CHECK_EQ(t.reallocations, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK_STR_EQ(story.text, "+1 -1z1 ");
}

TEST(a_realloc_while_recording_is_off_ends_the_block)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	synth_rare(&a, EVENT_REALLOC_UNTRACKED, 30, 0);
	t = run_two_lanes();
	CHECK_EQ(t.frees + t.reallocations, 0);
	CHECK_EQ(t.untracked_reallocations, 1);
	CHECK_EQ(t.live_count, 0);
	CHECK_STR_EQ(story.text, "+1 -1u1 ");
}

TEST(reallocs_in_a_lane_pair_last_begun_first)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_malloc(&a, 20, 0x2000, 9, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 30, 0x1000, 0, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 40, 0x2000, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 50, 0x3000, 1, 0);
	synth_call(&a, EVENT_REALLOC_END, 60, 0x4000, 2, 0);
	t = run_two_lanes();
	CHECK_EQ(t.reallocations, 2);
	CHECK_EQ(t.live_bytes, 3);
	CHECK_STR_EQ(story.text, "+1 +2 -2r1 +3<2 -1r1 +4<1 ");
}

TEST(a_realloc_that_never_ended_keeps_its_block_live)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	t = run_two_lanes();
	CHECK_EQ(t.live_count, 1);
	CHECK_EQ(t.live_bytes, 8);
}

static bool add_live(void *user, const struct live_block *block)
{
	uint64_t *n_bytes = user;

	*n_bytes += block->size_bytes;
	return true;
}

static int sum_live_at_end(void *user, const struct stacks *stacks, const struct live *live,
			   const struct replay_totals *totals, struct err *err)
{
	(void)stacks;
	(void)totals;
	(void)err;
	live_each(live, add_live, user);
	return 0;
}

TEST(a_block_whose_realloc_never_ended_is_among_the_live_ones)
{
	uint64_t n_bytes = 0;
	struct replay_callbacks c = {.user = &n_bytes, .on_end = sum_live_at_end};
	struct replay_totals t = {0};
	struct recording *r = NULL;
	struct err err = {0};

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_malloc(&a, 11, 0x2000, 16, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 30, 0x2000, 0, 0);
	synth_malloc(&b, 40, 0x2000, 4, 0);
	synth_flush(&s, &a, true);
	synth_flush(&s, &b, false);
	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	CHECK_OK(replay_run(r, &c, &t, NULL, &err));
	CHECK_EQ(t.live_bytes, 12);
	CHECK_EQ(n_bytes, 12);
	CHECK_EQ(t.live_count, 2);
	recording_close(r);
	synth_fini(&s);
}

TEST(events_at_impossible_times_are_damage_with_place_and_count)
{
	struct replay_totals t = {0};
	struct recording *r = NULL;
	struct err err = {0};

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_malloc(&a, UINT64_MAX / 4, 0x2000, 16, 0);
	synth_free(&a, UINT64_MAX / 4 + 10, 0x2000);
	synth_flush(&s, &a, true);
	synth_malloc(&b, 20, 0x3000, 4, 0);
	synth_flush(&s, &b, false);
	synth_end(&s, END_BY_EXIT);
	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	CHECK_OK(replay_run(r, NULL, &t, NULL, &err));
	CHECK_EQ(t.allocations, 2);
	CHECK_EQ(t.frees, 0);
	CHECK_EQ(t.live_bytes, 12);
	CHECK(timebase_is_possible(&r->time, t.last_ticks));
	CHECK_EQ(r->damage.n_ranges, 1);
	CHECK(strstr(r->damage.range[0].text, "2 events at impossible times, in block 0") != NULL);
	CHECK(r->damage.range[0].offset > 0);
	recording_close(r);
	synth_fini(&s);
}

TEST(a_realloc_across_a_lost_block_does_not_pair_with_a_later_one)
{
	struct replay_totals t;

	begin(0);
	synth_malloc(&a, 10, 0x1000, 8, 0);
	synth_malloc(&a, 11, 0x2000, 9, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 20, 0x1000, 0, 0);
	synth_flush(&s, &a, true);
	a.lane_index++; /* one block is lost, and the END with it */
	synth_call(&a, EVENT_REALLOC_END, 30, 0x3000, 1, 0);
	t = run_two_lanes();
	CHECK_EQ(t.untracked_reallocations, 1);
	CHECK_STR_EQ(story.text, "+1 +2 -1u1 +3 ");
}

TEST(many_odd_events_at_one_time_are_bounded_and_counted)
{
	struct replay_totals t;

	begin(0);
	for (unsigned i = 0; i < 2000; i++)
		synth_free(&a, 100, 0x10000 + 16 * (i % 700));
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees, 2000);
	CHECK_EQ(t.frees, 2000);
}

TEST(a_handoff_storm_with_inversions_pairs_exactly)
{
	struct replay_totals t;
	unsigned n = 2000;

	begin(0);
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = 100 + i * 50;

		/* one address goes round: a allocates, b frees, stamps off by up to 3 either way */
		synth_malloc(&a, at + i % 4, 0x1000, i, 0);
		synth_free(&b, at + 25 - (i % 7 == 0 ? 27 : 0) - i % 3, 0x1000);
	}
	t = run_two_lanes();
	CHECK_EQ(t.unknown_frees + t.duplicate_allocations, 0);
	CHECK_EQ(t.live_count, 0);
	CHECK(t.repaired > 100);
	CHECK_EQ(story.n_unequal, 0);
}

TEST(lost_events_are_the_sum_over_lanes)
{
	struct replay_totals t;

	begin(0);
	synth_rare(&a, EVENT_LOST, 10, 7);
	synth_rare(&a, EVENT_LOST, 20, 2);
	b.lost_before = 5;
	synth_malloc(&b, 30, 0x1000, 1, 0);
	t = run_two_lanes();
	CHECK_EQ(t.lost_events, 14);
}

TEST(an_exec_that_failed_is_no_end)
{
	struct replay_totals t;

	begin(0);
	event_put_rare(&a.enc, EVENT_PROCESS_END, SYNTH_START_TICKS + 10,
		       (uint64_t[]){END_BY_EXEC, 0}, 2);
	synth_rare(&a, EVENT_EXEC_FAILED, 20, 2);
	t = run_two_lanes();
	CHECK_EQ(t.end_how, 0);
}

TEST(stacks_of_events_are_counted_by_the_reason_they_end)
{
	struct replay_totals t;
	uint32_t end, frame, guess, inner;

	begin(0);
	end = event_put_stack_end(&a.enc, STACK_END_NO_INFO);
	frame = event_put_stack(&a.enc, 0x5000, end);
	guess = event_put_stack_guess(&a.enc, frame);
	inner = event_put_stack(&a.enc, 0x6000, guess);
	synth_malloc(&a, 10, 0x1000, 1, inner);
	synth_malloc(&a, 20, 0x2000, 1, frame);
	synth_malloc(&a, 30, 0x3000, 1, 0);
	t = run_two_lanes();
	CHECK_EQ(t.truncated[STACK_END_NO_INFO], 2);
	CHECK_EQ(t.guessed, 1);
	CHECK_EQ(t.stacks, 3);
	CHECK_EQ(t.deepest_stack, 2);
}

/* ---- a random history of which the truth is known ---- */

#define N_LANES 8
#define N_ADDRESSES 48
#define N_STEPS 60000
#define STEP_TICKS 25
#define JITTER_TICKS 20 /* two neighbours in time may be swapped, no others */

static struct synth_lane lanes[N_LANES];
static uint64_t expected[N_LANES + 1][2 * N_STEPS]; /* thread, release -> size of the block */
static uint64_t n_releases[N_LANES + 1];
static uint64_t live_size[N_ADDRESSES]; /* the size is unique and names the block; 0: free */
static uint64_t n_wrong_pairs;
static uint64_t random_state;

static uint64_t next_random(uint64_t n)
{
	return random_next(&random_state) % n;
}

static void on_free_check(void *user, const struct live_block *block,
			  const struct replay_release *how)
{
	(void)user;
	n_wrong_pairs += expected[how->thread][how->ordinal] != block->size_bytes;
}

static uint64_t stamp(uint64_t step)
{
	return 1000 + step * STEP_TICKS + next_random(2 * JITTER_TICKS + 1) - JITTER_TICKS;
}

static void put(struct synth_lane *l, unsigned kind, uint64_t step, size_t at, uint64_t size)
{
	synth_call(l, kind, stamp(step), 0x10000 + at * 64, size, 0);
	if (kind == EVENT_FREE || kind == EVENT_REALLOC_BEGIN) {
		expected[l->thread][n_releases[l->thread]++] = live_size[at];
		live_size[at] = 0;
	} else {
		live_size[at] = size;
	}
}

/* One thing that a program could do next; returns the steps it took. */
static uint64_t do_something(uint64_t step)
{
	struct synth_lane *l = &lanes[next_random(N_LANES)];
	size_t at = next_random(next_random(2) ? N_ADDRESSES : 4), to = next_random(N_ADDRESSES);

	if (!event_encoder_has_room(&l->enc, 8))
		synth_flush(&s, l, step % 2);
	if (!live_size[at]) {
		put(l, EVENT_MALLOC, step, at, step + 1);
		return 1;
	}
	if (next_random(4)) {
		put(l, EVENT_FREE, step, at, 0);
		return 1;
	}
	put(l, EVENT_REALLOC_BEGIN, step, at, 0);
	put(l, EVENT_REALLOC_END, step + 1, live_size[to] ? at : to, step + 1);
	return 2;
}

TEST(random_histories_with_jitter_are_paired_exactly)
{
	struct replay_callbacks c = {.on_free = on_free_check};
	struct replay_totals t = {0};
	struct recording *r = NULL;
	struct err err = {0};

	for (random_state = 1; random_state < 6;) {
		uint64_t seed = random_state, n_live = 0;

		random_state *= 0x9e3779b97f4a7c15ull;
		memset(n_releases, 0, sizeof(n_releases));
		memset(live_size, 0, sizeof(live_size));
		n_wrong_pairs = 0;
		synth_begin(&s, 0);
		for (uint32_t i = 0; i < N_LANES; i++)
			synth_lane_begin(&lanes[i], i + 1, 0);
		for (uint64_t step = 0; step < N_STEPS;)
			step += do_something(step);
		for (uint32_t i = 0; i < N_LANES; i++)
			synth_flush(&s, &lanes[i], true);
		synth_end(&s, END_BY_EXIT);
		CHECK_OK(recording_open(synth_save(&s), &r, &err));
		CHECK_OK(replay_run(r, &c, &t, NULL, &err));
		recording_close(r);
		synth_fini(&s);
		for (size_t i = 0; i < N_ADDRESSES; i++)
			n_live += live_size[i] != 0;
		CHECK_EQ(n_wrong_pairs, 0);
		CHECK_EQ(t.unknown_frees + t.duplicate_allocations + t.untracked_reallocations, 0);
		CHECK_EQ(t.live_count, n_live);
		CHECK(t.repaired > 100);
		random_state = seed + 1;
	}
}
