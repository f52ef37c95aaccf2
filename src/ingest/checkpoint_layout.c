/* ingest/checkpoint_layout.c - see checkpoint_layout.h. */
#include "ingest/checkpoint_layout.h"

#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "ingest/replay_i.h"
#include "ingest/row.h"
#include "ingest/site_stats.h"

/* One list for each struct of which a checkpoint holds the bytes: X(struct, field) ... */
/* clang-format off */
#define CURSOR(X, S) \
	X(S, data) X(S, len) X(S, pos) X(S, failed)
#define EVENT_DECODER(X, S) \
	X(S, in) X(S, ticks) X(S, addr) X(S, code) X(S, stack) X(S, next_stack) \
	X(S, generation) X(S, lane) X(S, allocator) X(S, is_in_place) X(S, in_place_bytes) \
	X(S, recent)
#define EVENT(X, S) \
	X(S, kind) X(S, ticks) X(S, addr) X(S, size_bytes) X(S, stack) X(S, parent) \
	X(S, usable_extra_bytes) X(S, alignment) X(S, allocator) X(S, field)
#define EVENT_COMPACT(X, S) \
	X(S, at_ns) X(S, addr) X(S, size_bytes) X(S, stack) X(S, lane) X(S, extra_bytes) \
	X(S, kind) X(S, flags)
#define STREAM_COUNTS(X, S) \
	X(S, calls) X(S, truncated) X(S, guessed) X(S, last_ticks)
#define STACK_NODE(X, S) \
	X(S, addr) X(S, parent) X(S, module) X(S, generation) X(S, n_frames) X(S, kind) \
	X(S, end) X(S, has_guess) X(S, tag)
#define LIVE_BLOCK(X, S) \
	X(S, addr) X(S, size_bytes) X(S, at_ns) X(S, ordinal) X(S, tag) X(S, chain) \
	X(S, thread) X(S, stack) X(S, extra_bytes) X(S, kind) X(S, allocator)
#define REPLAY_RELEASE(X, S) \
	X(S, how) X(S, allocator) X(S, at_ns) X(S, ordinal) X(S, n_allocs) X(S, thread) X(S, stack)
#define REPLAY_STEP(X, S) \
	X(S, at_ns) X(S, size_bytes) X(S, lifetime_ns) X(S, stack) X(S, release_stack) \
	X(S, thread) X(S, release_thread) X(S, flags)
#define REPLAY_TOTALS(X, S) \
	X(S, events) X(S, allocations) X(S, reallocations) X(S, frees) X(S, bytes_allocated) \
	X(S, live_count) X(S, live_bytes) X(S, peak_bytes) X(S, peak_ns) X(S, unknown_frees) \
	X(S, untracked_frees) X(S, untracked_reallocations) X(S, duplicate_allocations) \
	X(S, crossed) X(S, repaired) X(S, failed_reallocations) X(S, truncated) X(S, guessed) \
	X(S, lost_events) X(S, mmaps) X(S, munmaps) X(S, mremaps) X(S, brks) X(S, markers) \
	X(S, forks) X(S, pauses) X(S, culled_allocations) X(S, culled_reallocations) \
	X(S, culled_bytes) X(S, last_ticks) X(S, end_how) X(S, end_status) \
	X(S, stacks) X(S, deepest_stack)
#define REPLAY_THREAD(X, S) \
	X(S, n_allocs) X(S, n_releases)
#define PAIRING_OP(X, S) \
	X(S, block) X(S, old) X(S, release) X(S, deadline_ns) X(S, lane) X(S, open) \
	X(S, is_alloc) X(S, has_old) X(S, is_begin) X(S, is_waiting) X(S, is_foreign)
#define PAIRING_OPEN(X, S) \
	X(S, state) X(S, block) X(S, release) X(S, addr)
#define ROW_ALLOC(X, S) \
	X(S, alloc_ns) X(S, size_bytes) X(S, addr) X(S, marker) X(S, stack) X(S, thread) \
	X(S, extra_bytes)
#define ROW_END(X, S) \
	X(S, lifetime_ns) X(S, chain) X(S, chain_position) X(S, free_stack) \
	X(S, free_thread) X(S, flags)
#define ALLOC_SUM(X, S) \
	X(S, n_allocs) X(S, n_bytes) X(S, extra_bytes) X(S, first_ns) X(S, last_ns) \
	X(S, min_size_bytes) X(S, max_size_bytes) X(S, n_culled)
#define SITE_STAT(X, S) \
	X(S, live_bytes) X(S, live_count) X(S, max_bytes) X(S, max_at_ns) \
	X(S, lifetime_sum_ns) X(S, n_releases) X(S, n_temporary) X(S, changed_since) \
	X(S, unused) X(S, temporary_bytes) X(S, peak_bytes) X(S, peak_count) X(S, n_leaked) \
	X(S, leaked_bytes) X(S, leaked_extra_bytes) X(S, leaked_early_bytes) \
	X(S, leaked_late_bytes)
#define STORE_BUCKET(X, S) \
	X(S, max_bytes) X(S, max_count) X(S, last_bytes) X(S, last_count) X(S, n_allocs) \
	X(S, n_releases) X(S, alloc_bytes) X(S, release_bytes) X(S, leaked_bytes) \
	X(S, n_leaked) X(S, n_culled) X(S, culled_bytes) X(S, n_culled_temporary)
#define STORE_THREAD(X, S) \
	X(S, tid) X(S, number) X(S, start_ns) X(S, end_ns) X(S, n_allocs) X(S, n_bytes) \
	X(S, n_frees) X(S, n_temporary) X(S, temporary_bytes) X(S, culled_from_ns) \
	X(S, culled_to_ns) X(S, name) X(S, unused)
#define STORE_CHAIN_ITEM(X, S) \
	X(S, first_row) X(S, last_row) X(S, first_size_bytes) X(S, last_size_bytes) \
	X(S, alloc_ns) X(S, lifetime_ns) X(S, length)
#define STORE_CALL_ITEM(X, S) \
	X(S, at_ns) X(S, field) X(S, kind) X(S, stack) X(S, thread) X(S, unused)
/* clang-format on */

#define FIELD(S, field) {#S "." #field, offsetof(S, field), sizeof(((S *)0)->field)},
#define SIZE(S, field) +sizeof(((S *)0)->field)
#define CHECK(S, list, padding)                                                                    \
	_Static_assert(0 list(SIZE, S) + (padding) == sizeof(S), #S ": list its fields")

CHECK(struct cursor, CURSOR, 7);
CHECK(struct event_decoder, EVENT_DECODER, 6);
CHECK(struct event, EVENT, 6);
CHECK(struct event_compact, EVENT_COMPACT, 0);
CHECK(struct stream_counts, STREAM_COUNTS, 0);
CHECK(struct stack_node, STACK_NODE, 1);
CHECK(struct live_block, LIVE_BLOCK, 2);
CHECK(struct replay_release, REPLAY_RELEASE, 0);
CHECK(struct replay_step, REPLAY_STEP, 4);
CHECK(struct replay_totals, REPLAY_TOTALS, 4);
CHECK(struct replay_thread, REPLAY_THREAD, 0);
CHECK(struct pairing_op, PAIRING_OP, 3);
CHECK(struct pairing_open, PAIRING_OPEN, 4);
CHECK(struct row_alloc, ROW_ALLOC, 4);
CHECK(struct row_end, ROW_END, 0);
CHECK(struct alloc_sum, ALLOC_SUM, 0);
CHECK(struct site_stat, SITE_STAT, 0);
CHECK(struct store_bucket, STORE_BUCKET, 0);
CHECK(struct store_thread, STORE_THREAD, 0);
CHECK(struct store_chain, STORE_CHAIN_ITEM, 0);
CHECK(struct store_call, STORE_CALL_ITEM, 0);

static const struct checkpoint_layout_field fields[] = {
	/* clang-format off */
	CURSOR(FIELD, struct cursor)
	EVENT_DECODER(FIELD, struct event_decoder)
	EVENT(FIELD, struct event)
	EVENT_COMPACT(FIELD, struct event_compact)
	STREAM_COUNTS(FIELD, struct stream_counts)
	STACK_NODE(FIELD, struct stack_node)
	LIVE_BLOCK(FIELD, struct live_block)
	REPLAY_RELEASE(FIELD, struct replay_release)
	REPLAY_STEP(FIELD, struct replay_step)
	REPLAY_TOTALS(FIELD, struct replay_totals)
	REPLAY_THREAD(FIELD, struct replay_thread)
	PAIRING_OP(FIELD, struct pairing_op)
	PAIRING_OPEN(FIELD, struct pairing_open)
	ROW_ALLOC(FIELD, struct row_alloc)
	ROW_END(FIELD, struct row_end)
	ALLOC_SUM(FIELD, struct alloc_sum)
	SITE_STAT(FIELD, struct site_stat)
	STORE_BUCKET(FIELD, struct store_bucket)
	STORE_THREAD(FIELD, struct store_thread)
	STORE_CHAIN_ITEM(FIELD, struct store_chain)
	STORE_CALL_ITEM(FIELD, struct store_call)
	/* clang-format on */
	{"calls of a batch", 0, STREAM_BATCH_CALLS},
	{"events held back", 0, PAIRING_MAX_PENDING},
};

uint64_t checkpoint_layout_hash(const struct checkpoint_layout_field *field, size_t n)
{
	uint64_t h = CHECKPOINT_LAYOUT_VERSION;

	for (size_t i = 0; i < n; i++) {
		h = hash_pair64(h, hash_bytes(field[i].name, strlen(field[i].name)));
		h = hash_pair64(h, field[i].offset);
		h = hash_pair64(h, field[i].size_bytes);
	}
	return h;
}

uint64_t checkpoint_layout(void)
{
	return checkpoint_layout_hash(fields, ARRAY_LEN(fields));
}
