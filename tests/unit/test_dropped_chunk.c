/* DROPPED payloads: worked bytes, round trips, cut and damaged ones. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "recording/dropped_chunk.h"

struct seen {
	struct dropped_summary summary;
	struct dropped_node node[8];
	struct dropped_group group[8];
	unsigned n_summaries, n_nodes, n_groups;
};

static void on_summary(void *user, const struct dropped_summary *s)
{
	struct seen *seen = user;

	seen->summary = *s;
	seen->n_summaries++;
}

static void on_node(void *user, const struct dropped_node *n)
{
	struct seen *seen = user;

	CHECK(n->parent < n->number);
	if (seen->n_nodes < 8)
		seen->node[seen->n_nodes++] = *n;
}

static void on_group(void *user, const struct dropped_group *g)
{
	struct seen *seen = user;

	if (seen->n_groups < 8)
		seen->group[seen->n_groups++] = *g;
}

static int decode(const void *bytes, size_t len, struct seen *seen)
{
	const struct dropped_callbacks c = {seen, on_summary, on_node, on_group};
	unsigned char *guarded = guard_buf_create(bytes, len);
	struct err err = {0};
	int r;

	memset(seen, 0, sizeof(*seen));
	r = dropped_chunk_decode(guarded, len, &c, &err);
	guard_buf_destroy(guarded, len);
	return r;
}

static void fill(struct dropped_writer *w)
{
	const struct dropped_summary s = {.has_threshold = true,
					  .threshold_ns = 500,
					  .n_allocations = 3,
					  .n_bytes = 96,
					  .n_events = 6};
	struct dropped_node outer = {.kind = DROPPED_NODE_END, .end = STACK_END_NO_INFO};
	struct dropped_node frame = {
		.kind = DROPPED_NODE_FRAME, .addr = 0x7f00deadbeef, .generation = 4};
	const struct dropped_group g = {
		.node = 2,
		.n_allocations = 3,
		.n_bytes = 96,
		.min_bytes = 16,
		.max_bytes = 48,
		.first_ns = 1000,
		.last_ns = UINT64_MAX,
	};
	struct err err = {0};

	CHECK_OK(dropped_writer_summary(w, &s, &err));
	CHECK_OK(dropped_writer_node(w, &outer, &err));
	frame.parent = outer.number;
	CHECK_OK(dropped_writer_node(w, &frame, &err));
	CHECK_EQ(frame.number, 2);
	CHECK_OK(dropped_writer_group(w, &g, &err));
}

TEST(what_is_written_reads_the_same)
{
	struct dropped_writer w = {0};
	struct seen seen;

	fill(&w);
	CHECK_OK(decode(w.data, w.len, &seen));
	CHECK_EQ(seen.n_summaries, 1);
	CHECK(seen.summary.has_threshold);
	CHECK_EQ(seen.summary.threshold_ns, 500);
	CHECK_EQ(seen.summary.n_events, 6);
	CHECK_EQ(seen.n_nodes, 2);
	CHECK_EQ(seen.node[0].kind, DROPPED_NODE_END);
	CHECK_EQ(seen.node[0].end, STACK_END_NO_INFO);
	CHECK_EQ(seen.node[1].addr, 0x7f00deadbeef);
	CHECK_EQ(seen.node[1].generation, 4);
	CHECK_EQ(seen.node[1].parent, 1);
	CHECK_EQ(seen.n_groups, 1);
	CHECK_EQ(seen.group[0].min_bytes, 16);
	CHECK_EQ(seen.group[0].max_bytes, 48);
	CHECK_EQ(seen.group[0].last_ns, UINT64_MAX);
	dropped_writer_fini(&w);
}

TEST(worked_bytes)
{
	/* summary without threshold of 1 allocation; a kind from the future; a group of the empty
	 * stack */
	static const uint8_t bytes[] = {1, 4, 0, 1, 16, 2, 99, 1, 7, 3, 7, 0, 1, 16, 16, 16, 5, 6};
	struct seen seen;

	CHECK_OK(decode(bytes, sizeof(bytes), &seen));
	CHECK(!seen.summary.has_threshold);
	CHECK_EQ(seen.summary.n_bytes, 16);
	CHECK_EQ(seen.group[0].node, 0);
	CHECK_EQ(seen.group[0].first_ns, 5);
	CHECK_EQ(seen.group[0].last_ns, 6);
}

TEST(cut_and_senseless_payloads_are_errors)
{
	static const uint8_t forward[] = {2, 4, 1, 1, 5, 0}; /* a parent that does not exist yet */
	static const uint8_t no_node[] = {3, 2, 1, 1}; /* a group of a node that is not there */
	static const uint8_t odd_kind[] = {2, 2, 9, 0};
	static const uint8_t long_record[] = {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0};
	struct dropped_writer w = {0};
	struct seen seen;
	unsigned n_good = 0;

	CHECK_ERR(decode(forward, sizeof(forward), &seen), ERR_FORMAT);
	CHECK_ERR(decode(no_node, sizeof(no_node), &seen), ERR_FORMAT);
	CHECK_ERR(decode(odd_kind, sizeof(odd_kind), &seen), ERR_FORMAT);
	CHECK_ERR(decode(long_record, sizeof(long_record), &seen), ERR_FORMAT);
	fill(&w);
	for (size_t len = 0; len < w.len; len++) {
		int r = decode(w.data, len, &seen);

		CHECK(r == 0 || r == -ERR_FORMAT);
		n_good += r == 0; /* between records */
	}
	CHECK_EQ(n_good, 4);
	dropped_writer_fini(&w);
}
