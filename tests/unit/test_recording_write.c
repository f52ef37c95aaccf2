/* Recordings written from recordings: copied, and stripped; on recordings made here. */
#include "harness/test.h"

#include "recording/merge.h"
#include "recording_synth.h"
#include "rewrite/recording_copy.h"
#include "rewrite/recording_write.h"
#include "rewrite/strip.h"

static struct synth s;
static struct synth_lane a, b;
static char out_path[64];

static void begin(void)
{
	synth_begin(&s, 0);
	synth_process(&s, 0);
	synth_module(&s, 1, "/bin/app", 0x1000, 0x9000, 0);
	synth_module(&s, 2, "/lib/new.so", 0x4000, 0x6000, 2);
	synth_lane_begin(&a, 1, 0);
	synth_lane_begin(&b, 2, 0);
	strcpy(out_path, "/tmp/test_recording_write.XXXXXX");
	CHECK(close(mkstemp(out_path)) == 0);
}

static struct recording *open_it(const char *path)
{
	struct recording *r = NULL;
	struct err err = {0};

	CHECK_OK(recording_open(path, &r, &err));
	return r;
}

static void end(struct recording *r)
{
	recording_close(r);
	unlink(out_path);
	synth_fini(&s);
}

static uint64_t copy(struct recording *r, struct recording_copy_result *result)
{
	struct recording_writer *w = NULL;
	struct err err = {0};
	uint64_t size = 0;

	CHECK_OK(recording_writer_create(out_path, r, "test", true, &w, &err));
	CHECK_OK(recording_copy_metadata(w, r, &err));
	CHECK_OK(recording_copy_events(w, r, result, &err));
	CHECK_OK(recording_writer_commit(w, r->n_missing_blocks + result->n_unreadable_blocks,
					 &size, &err));
	return size;
}

/* The next event but EVENT_ALLOCATOR, which each encoder puts where it needs one: calls say which
 * allocator they are about. */
static int next_event(struct merge *m, struct merge_event *ret)
{
	struct err err = {0};
	int n;

	do {
		n = merge_next(m, ret, &err);
	} while (n > 0 && ret->event->kind == EVENT_ALLOCATOR);
	return n;
}

/* All events of the two, side by side. */
static void check_same_events(struct recording *x, struct recording *y)
{
	struct merge *mx = NULL, *my = NULL;
	struct merge_event ex, ey;
	struct err err = {0};
	int n;

	CHECK_OK(merge_create(x, &mx, &err));
	CHECK_OK(merge_create(y, &my, &err));
	while ((n = next_event(mx, &ex)) > 0) {
		CHECK_EQ(next_event(my, &ey), 1);
		CHECK_MEM_EQ(ex.event, ey.event, sizeof(*ex.event));
		CHECK_EQ(ex.lane, ey.lane);
		CHECK_EQ(ex.generation, ey.generation);
		CHECK_EQ(ex.is_after_gap, ey.is_after_gap);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(next_event(my, &ey), 0);
	merge_destroy(mx);
	merge_destroy(my);
}

TEST(every_kind_is_copied)
{
	static const uint64_t field[EVENT_MAX_FIELDS] = {3, 5, 2, 1, 11, 4, 0};
	struct recording_copy_result result = {0};
	struct event_call odd = {
		.ticks = SYNTH_START_TICKS + 50,
		.addr = 0x123457,
		.size_bytes = 1ull << 50,
		.usable_extra_bytes = 77,
		.alignment = 4096,
		.extras = EVENT_EXTRA_USABLE | EVENT_EXTRA_ALIGNMENT,
	};
	struct recording *r, *q;

	begin();
	event_put_stack(&a.enc, 0x1100, 0);
	event_put_stack_end(&a.enc, STACK_END_BAD_MEMORY);
	event_put_stack_guess(&a.enc, 2);
	event_put_stack(&a.enc, 0xffffffffffff0000, 3);
	odd.stack = 4;
	event_put_call(&a.enc, EVENT_ALIGNED, &odd);
	for (unsigned kind = EVENT_TIME; kind <= EVENT_FORGET + 5; kind++) { /* and unknown ones */
		if (kind % 8 && kind != EVENT_STACK_END && kind != EVENT_STACK_GUESS &&
		    kind != EVENT_ALLOCATOR)
			event_put_rare(&a.enc, kind, SYNTH_START_TICKS + 100 + kind, field, 6);
	}
	synth_malloc(&a, 20, 0x5000, 0, 1); /* the clock went back */
	event_put_allocator(&a.enc, 3);
	synth_call(&a, EVENT_REALLOC_BEGIN, 800, 0x5000, 0, 2);
	synth_call(&a, EVENT_REALLOC_END, 801, 0x6000, 100, 2);
	synth_flush(&s, &a, true);
	a.generation = 3; /* as the event has set it */
	synth_free(&a, 900, 0x6000);
	synth_flush(&s, &a, false);
	synth_end(&s, END_BY_EXIT);
	r = open_it(synth_save(&s));
	copy(r, &result);
	CHECK_EQ(result.n_unknown_events, 0);
	CHECK_EQ(r->damage.n_ranges, 0);
	q = open_it(out_path);
	CHECK_EQ(q->n_blocks, 1);
	CHECK_EQ(q->damage.n_ranges, 0);
	CHECK(memcmp(q->header.recording_id, r->header.recording_id, 16) != 0);
	check_same_events(r, q);
	recording_close(q);
	end(r);
}

TEST(gaps_and_damage_stay_gaps)
{
	struct recording_copy_result result = {0};
	struct recording *r, *q;

	begin();
	event_put_stack(&a.enc, 0x1100, 0);
	synth_malloc(&a, 10, 0x5000, 16, 1);
	synth_flush(&s, &a, true);
	a.lane_index++; /* lost */
	a.first_stack = a.enc.next_stack = 10;
	a.lost_before = 5;
	event_put_stack(&a.enc, 0x1200, 0);
	synth_malloc(&a, 20, 0x6000, 16, 10);
	synth_flush(&s, &a, true);
	synth_malloc(&a, 30, 0x7000, 16, 10);
	a.enc.pos[0] = 0; /* no kind */
	a.enc.pos += 8;
	synth_flush(&s, &a, true);
	synth_malloc(&a, 40, 0x8000, 16, 10);
	synth_flush(&s, &a, true);
	synth_malloc(&b, 15, 0x9000, 16, 0);
	synth_flush(&s, &b, true);
	synth_end(&s, END_BY_EXIT);
	r = open_it(synth_save(&s));
	CHECK_EQ(r->n_missing_blocks, 1);
	copy(r, &result);
	CHECK_EQ(result.n_unreadable_blocks, 1);
	CHECK_EQ(r->damage.n_ranges, 1);
	q = open_it(out_path);
	CHECK_EQ(q->damage.n_ranges, 0);
	CHECK_EQ(q->n_missing_blocks, 2);
	CHECK_EQ(q->status.field[STATUS_LOST_BLOCKS], 2);
	check_same_events(r, q);
	recording_close(q);
	end(r);
}

TEST(more_lanes_than_blocks_in_memory)
{
	enum {
		N = RECORDING_WRITER_MAX_OPEN + 500
	};
	struct recording_copy_result result = {0};
	struct recording *r, *q;

	begin();
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < N; i++) {
			synth_lane_begin(&a, i + 1, 0);
			a.lane_index = round;
			synth_malloc(&a, 10 * round + 1, 0x10000 + 16 * (i + N * round), 16, 0);
			synth_flush(&s, &a, false);
		}
	}
	synth_end(&s, END_BY_EXIT);
	r = open_it(synth_save(&s));
	CHECK_EQ(r->n_lanes, N);
	copy(r, &result);
	CHECK_EQ(result.n_events, 2 * N);
	q = open_it(out_path);
	check_same_events(r, q);
	recording_close(q);
	end(r);
}

/* ---- strip ---- */

static struct strip_result strip_it(struct recording *r, bool has_threshold, uint64_t threshold_ns)
{
	const struct strip_rule rule = {has_threshold, threshold_ns, "/tmp"};
	struct strip_result result = {0};
	struct err err = {0};

	CHECK_OK(strip_run(r, &rule, out_path, &result, &err));
	return result;
}

/* The calls of a recording as text: kind and address. */
static const char *story(struct recording *r)
{
	static char text[4096];
	struct merge *m = NULL;
	struct merge_event e;
	struct err err = {0};

	text[0] = 0;
	CHECK_OK(merge_create(r, &m, &err));
	while (merge_next(m, &e, &err) > 0) {
		static const char *const name[] = {"?",     "malloc", "calloc", "aligned",
						   "begin", "end",    "free"};
		unsigned kind = e.event->kind;
		size_t len = strlen(text);

		if (kind == EVENT_TIMESTAMP_OVERRIDE)
			snprintf(text + len, sizeof(text) - len, "override ");
		else if (kind == EVENT_MARKER)
			snprintf(text + len, sizeof(text) - len, "marker ");
		else if (kind == EVENT_REALLOC_UNTRACKED)
			snprintf(text + len, sizeof(text) - len, "untracked ");
		else if (kind < EVENT_STACK)
			snprintf(text + len, sizeof(text) - len, "%s:%x ", name[kind],
				 (unsigned)e.event->addr);
	}
	merge_destroy(m);
	return text;
}

static struct recording *end_and_open(void)
{
	synth_flush(&s, &a, true);
	if (b.enc.pos > b.data)
		synth_flush(&s, &b, true);
	synth_end(&s, END_BY_EXIT);
	return open_it(synth_save(&s));
}

TEST(chains_go_or_stay_as_a_whole)
{
	struct strip_result result;
	struct recording *r, *q;

	begin();
	/* 0x100 is short; 0x200 -> 0x300 -> freed after 1000 ticks = 2000 ns; 0x400 -> 0x500 leaks */
	synth_malloc(&a, 10, 0x100, 10, 0);
	synth_malloc(&a, 11, 0x200, 20, 0);
	synth_malloc(&a, 12, 0x400, 40, 0);
	synth_free(&a, 13, 0x100);
	synth_call(&a, EVENT_REALLOC_BEGIN, 900, 0x200, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 901, 0x300, 30, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 902, 0x400, 0, 0);
	synth_call(&a, EVENT_REALLOC_END, 903, 0x500, 50, 0);
	synth_rare(&a, EVENT_MARKER, 904, 7);
	synth_free(&b, 1011, 0x300);
	r = end_and_open();
	result = strip_it(r, false, 0);
	CHECK_EQ(result.dropped.n_allocations, 3);
	CHECK_EQ(result.dropped.n_bytes, 60);
	CHECK_EQ(result.dropped.n_events, 6);
	q = open_it(out_path);
	CHECK_STR_EQ(story(q), "malloc:400 begin:400 end:500 marker ");
	CHECK_EQ(q->metadata.dropped.n_allocations, 3);
	recording_close(q);
	strip_it(r, true, 2000);
	q = open_it(out_path);
	CHECK_STR_EQ(story(q), "malloc:200 malloc:400 begin:200 end:300 begin:400 end:500 marker "
			       "free:300 ");
	recording_close(q);
	strip_it(r, true, 2001);
	q = open_it(out_path);
	CHECK_STR_EQ(story(q), "malloc:400 begin:400 end:500 marker ");
	CHECK_EQ(q->metadata.dropped.threshold_ns, 2001);
	recording_close(q);
	end(r);
}

TEST(unknown_frees_open_reallocs_and_overrides)
{
	struct recording *r, *q;

	begin();
	synth_free(&a, 5, 0x900); /* of nothing we know */
	synth_rare(&a, EVENT_TIMESTAMP_OVERRIDE, 9, 1); /* of what is left out */
	synth_malloc(&a, 10, 0x100, 10, 0);
	synth_free(&a, 11, 0x100);
	synth_rare(&a, EVENT_TIMESTAMP_OVERRIDE, 12, 2);
	synth_malloc(&a, 13, 0x200, 10, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 5000, 0x200, 0, 0);
	event_put_rare(&a.enc, EVENT_REALLOC_CANCEL, SYNTH_START_TICKS + 5001, NULL, 0);
	synth_call(&a, EVENT_REALLOC_BEGIN, 6000, 0x200, 0, 0); /* killed in the middle */
	r = end_and_open();
	strip_it(r, false, 0);
	q = open_it(out_path);
	CHECK_STR_EQ(story(q), "free:900 override malloc:200 begin:200 ");
	recording_close(q);
	end(r);
}

static struct dropped_group group;
static unsigned n_groups, n_frames;

static void on_node(void *user, const struct dropped_node *n)
{
	(void)user;
	n_frames += n->kind == DROPPED_NODE_FRAME;
}

static void on_group(void *user, const struct dropped_group *g)
{
	(void)user;
	n_groups++;
	group = *g;
}

static int find_dropped(void *user, const struct chunk_header *h, const uint8_t *payload,
			struct err *err)
{
	const struct dropped_callbacks c = {.on_node = on_node, .on_group = on_group};

	(void)user;
	if (h->type != CHUNK_DROPPED)
		return 0;
	CHECK_EQ(h->flags & CHUNK_FLAG_LZ4, 0); /* too small to gain by it */
	return dropped_chunk_decode(payload, h->stored_bytes, &c, err);
}

TEST(sums_of_what_was_left_out)
{
	struct recording *r, *q;
	struct err err = {0};

	begin();
	event_put_stack(&a.enc, 0x1100, 0);
	event_put_stack(&a.enc, 0x1200, 1);
	for (unsigned i = 0; i < 10; i++) {
		synth_malloc(&a, 10 + 2 * i, 0x100, 100 - i, 2);
		synth_free(&a, 11 + 2 * i, 0x100);
	}
	r = end_and_open();
	strip_it(r, false, 0);
	q = open_it(out_path);
	n_groups = n_frames = 0;
	CHECK_OK(chunk_walk(q, find_dropped, NULL, &err));
	CHECK_EQ(n_groups, 1);
	CHECK_EQ(n_frames, 2);
	CHECK_EQ(group.node, 2);
	CHECK_EQ(group.n_allocations, 10);
	CHECK_EQ(group.n_bytes, 955);
	CHECK_EQ(group.min_bytes, 91);
	CHECK_EQ(group.max_bytes, 100);
	CHECK_EQ(group.first_ns, 2 * 10);
	CHECK_EQ(group.last_ns, 2 * 28);
	recording_close(q);
	end(r);
}

/* An address that belongs to another module after code was unloaded keeps the one it had. */
TEST(stacks_keep_their_modules)
{
	struct replay_totals before = {0}, after = {0};
	struct recording *r, *q;
	struct merge *m = NULL;
	struct stacks *stacks = NULL;
	struct merge_event e;
	struct err err = {0};
	unsigned n_checked = 0;

	begin();
	event_put_stack(&a.enc, 0x4500, 0); /* id 1: module 1 */
	synth_malloc(&a, 10, 0x100, 10, 1);
	synth_rare(&a, EVENT_GENERATION, 20, 2);
	event_put_stack(&a.enc, 0x4500, 0); /* id 2: module 2 */
	synth_malloc(&a, 30, 0x200, 10, 2);
	synth_malloc(&a, 40, 0x300, 10, 1); /* odd, but as recorded */
	synth_free(&a, 50, 0x100);
	r = end_and_open();
	CHECK_OK(replay_run(r, NULL, &before, NULL, &err));
	strip_it(r, false, 0);
	q = open_it(out_path);
	CHECK_OK(replay_run(q, NULL, &after, NULL, &err));
	CHECK_EQ(after.live_bytes, before.live_bytes);
	CHECK_OK(merge_create(q, &m, &err));
	CHECK_OK(stacks_create(&q->metadata, q->n_lanes, &stacks, &err));
	while (merge_next(m, &e, &err) > 0) {
		const struct stack_node *n;

		if (e.event->kind == EVENT_STACK)
			CHECK_OK(stacks_define(stacks, e.lane, e.event, e.generation, &err));
		if (e.event->kind != EVENT_MALLOC)
			continue;
		n = stacks_get(stacks, stacks_find(stacks, e.lane, e.event->stack));
		CHECK_EQ(q->metadata.module[n->module].id, e.event->addr == 0x200 ? 2 : 1);
		n_checked++;
	}
	CHECK_EQ(n_checked, 2);
	merge_destroy(m);
	stacks_destroy(stacks);
	recording_close(q);
	end(r);
}
