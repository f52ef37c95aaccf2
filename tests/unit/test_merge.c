/* The merged stream: order between lanes by time, order inside a lane as in the file. */
#include "harness/test.h"
#include "recording/merge.h"
#include "recording_synth.h"

static struct synth s;
static struct synth_lane lane[40];

/* Addresses of all events in the order of the stream, as text. */
static void get_order(char *out, size_t capacity)
{
	struct recording *r = NULL;
	struct merge *m = NULL;
	struct merge_event e;
	struct err err = {0};
	uint64_t last = 0;
	size_t len = 0;
	int n;

	synth_end(&s, END_BY_EXIT);
	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	CHECK_OK(merge_create(r, &m, &err));
	out[0] = 0;
	while ((n = merge_next(m, &e, &err)) > 0) {
		CHECK(e.order_ticks >= last);
		last = e.order_ticks;
		len += (size_t)snprintf(out + len, capacity - len, "%s%x",
					e.is_after_gap ? "!" : "", (unsigned)(e.event->addr >> 4));
	}
	CHECK_EQ(n, 0);
	merge_destroy(m);
	recording_close(r);
	synth_fini(&s);
}

static void begin(unsigned n_lanes)
{
	synth_begin(&s, 0);
	for (unsigned i = 0; i < n_lanes; i++)
		synth_lane_begin(&lane[i], 1 + i / 2, i % 2);
}

TEST(lanes_are_merged_by_time)
{
	char order[64];

	begin(3);
	synth_free(&lane[0], 10, 0x10);
	synth_free(&lane[1], 20, 0x20);
	synth_free(&lane[2], 30, 0x30);
	synth_free(&lane[1], 40, 0x40);
	synth_free(&lane[0], 50, 0x50);
	synth_free(&lane[0], 60, 0x60);
	for (int i = 2; i >= 0; i--)
		synth_flush(&s, &lane[i], i == 1);
	get_order(order, sizeof(order));
	CHECK_STR_EQ(order, "123456");
}

TEST(a_lane_whose_time_goes_back_keeps_its_order)
{
	char order[64];

	begin(2);
	synth_free(&lane[0], 10, 0x10);
	synth_free(&lane[0], 50, 0x20);
	synth_free(&lane[0], 20, 0x30); /* time went back */
	synth_free(&lane[0], 60, 0x40);
	synth_free(&lane[1], 40, 0xa0);
	synth_free(&lane[1], 55, 0xb0);
	synth_flush(&s, &lane[0], true);
	synth_flush(&s, &lane[1], true);
	get_order(order, sizeof(order));
	CHECK_STR_EQ(order, "1a203b4"); /* 0: the TIME record */
}

TEST(blocks_of_a_lane_follow_each_other_whatever_their_place_in_the_file)
{
	static struct synth_lane copy;
	char order[64];

	begin(2);
	synth_free(&lane[0], 10, 0x10);
	copy = lane[0];
	copy.enc.pos = copy.data + (lane[0].enc.pos - lane[0].data);
	lane[0].lane_index++;
	synth_lane_reset(&lane[0]);
	synth_free(&lane[0], 30, 0x30);
	synth_flush(&s, &lane[0], false); /* index 1 first */
	synth_events(&s, &copy, 50, false);
	synth_free(&lane[1], 20, 0x20);
	synth_flush(&s, &lane[1], false);
	get_order(order, sizeof(order));
	CHECK_STR_EQ(order, "123");
}

TEST(a_gap_in_a_lane_is_marked)
{
	char order[64];

	begin(1);
	synth_free(&lane[0], 10, 0x10);
	synth_flush(&s, &lane[0], false);
	lane[0].lane_index++;
	synth_free(&lane[0], 20, 0x20);
	synth_free(&lane[0], 30, 0x30);
	synth_flush(&s, &lane[0], false);
	get_order(order, sizeof(order));
	CHECK_STR_EQ(order, "1!23");
}

TEST(many_lanes_with_many_blocks_come_out_sorted)
{
	static char order[200000];
	unsigned n = 40;

	begin(n);
	for (unsigned i = 0; i < 20000; i++) {
		struct synth_lane *l = &lane[i * 7 % n];

		synth_free(l, i, 0x10 * (1 + i % 15));
		if (i % 97 == 0)
			synth_flush(&s, l, i % 2);
	}
	for (unsigned i = 0; i < n; i++)
		synth_flush(&s, &lane[i], true);
	get_order(order, sizeof(order));
	CHECK_EQ(strlen(order), 20000);
	for (unsigned i = 0; i < 20000; i++)
		CHECK_EQ(order[i], "123456789abcdef"[i % 15]);
}
