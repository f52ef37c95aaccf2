/* incremental.h: resuming a recording that has grown gives the store that reading it in full gives. */
#include "base/units.h"
#include "harness/test.h"
#include "ingest/build.h"
#include "recording_synth.h"
#include "store/checksum64.h"
#include "store/store.h"
#include "store/store_write.h"

#define N_LANES 4u
#define N_CALLS 60000u
#define BLOCK_CALLS 700u /* of a lane, then its block is full */
#define N_ADDRESSES 400u
#define TICKS_PER_S (NS_PER_S / 2) /* recording_synth.h: a tick is 2 ns */

/* What the lanes do, in the order of time. */
struct call {
	uint64_t ticks;
	uint64_t addr;
	uint64_t size_bytes;
	uint32_t lane;
	uint32_t stack; /* it is defined before the call if it is new */
	uint8_t kind;
};

static struct call script[N_CALLS];
static bool is_only_growing; /* the script: nothing is released */
static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

#define BURST_CALLS 3000u /* that come one after the other, then nothing for long */

/* Many are so near to each other, in different lanes, that they are in the wrong order. A second half of
 * a realloc follows its first half in the lane, other lanes may come in between. */
static void make_script(uint64_t start_seed, uint64_t total_ticks)
{
	uint64_t last[N_LANES] = {0}, now = 100;
	uint32_t n_stacks[N_LANES] = {0};
	bool is_live[N_ADDRESSES] = {false}, is_open[N_LANES] = {false};

	seed = start_seed;
	for (size_t i = 0; i < N_CALLS; i++) {
		struct call *c = &script[i];
		uint32_t lane = random_below(N_LANES * 8), at = random_below(N_ADDRESSES);

		lane = lane < N_LANES ? lane : lane % 2; /* two do most of it */
		now += i % BURST_CALLS ? random_below(30) : total_ticks / (N_CALLS / BURST_CALLS);
		*c = (struct call){.lane = lane,
				   .addr = 0x10000 + 64ull * at,
				   .size_bytes = 1 + random_below(2000) + i / 8,
				   .ticks = now + random_below(60)};
		if (c->ticks < last[lane])
			c->ticks = last[lane];
		last[lane] = c->ticks;
		if (n_stacks[lane] == 0 || random_below(300) == 0)
			n_stacks[lane]++;
		c->stack = random_below(40) ? 1 + random_below(n_stacks[lane]) : n_stacks[lane];
		if (is_only_growing) {
			c->kind = EVENT_MALLOC;
			c->addr = 0x10000 + 4096 * i;
		} else if (is_open[lane]) {
			c->kind = random_below(20) ? EVENT_REALLOC_END : EVENT_REALLOC_CANCEL;
			is_open[lane] = false;
			is_live[at] |= c->kind == EVENT_REALLOC_END;
		} else if (!is_live[at] || random_below(500) == 0) {
			c->kind = EVENT_MALLOC;
			is_live[at] = true;
		} else if (random_below(5) == 0) {
			c->kind = EVENT_REALLOC_BEGIN;
			is_open[lane] = true;
			is_live[at] = false;
		} else {
			c->kind = EVENT_FREE;
			is_live[at] = false;
		}
	}
}

static void put_sample(struct synth *s, uint64_t ticks)
{
	uint8_t buf[64];
	struct field_writer w = field_writer_make(buf, sizeof(buf));

	field_put_u64(&w, SAMPLE_TICKS, SYNTH_START_TICKS + ticks);
	field_put_u64(&w, SAMPLE_MONOTONIC_NS, 5000 + ticks * 2);
	field_put_u64(&w, SAMPLE_RSS_BYTES, ticks);
	synth_chunk(s, CHUNK_SAMPLE, 0, buf, w.len, w.len);
}

static void put_call(struct synth_lane *l, const struct call *c, uint32_t *n_stacks)
{
	while (*n_stacks < c->stack) {
		event_put_stack(&l->enc, 0x401000 + 16ull * *n_stacks * (1 + c->lane % 2),
				*n_stacks / 2);
		++*n_stacks;
	}
	if (c->kind == EVENT_REALLOC_CANCEL)
		event_put_rare(&l->enc, c->kind, SYNTH_START_TICKS + c->ticks, NULL, 0);
	else
		synth_call(l, c->kind, c->ticks, c->addr,
			   event_is_release(c->kind) ? 0 : c->size_bytes, c->stack);
}

/* How a recording at one moment differs from what is usual. */
struct oddity {
	size_t late_call; /* is not there yet, nor what its lane did after it; 0: nothing is late */
	size_t begun_call; /* is a REALLOC_BEGIN instead ... */
	bool is_in_place; /* ... that turned out to be in place; 0: none is */
	bool has_late_module;
	bool has_ended;
};

static void put_begun(struct synth_lane *l, const struct call *c, bool is_in_place)
{
	struct event_call call = {
		.ticks = SYNTH_START_TICKS + c->ticks, .addr = c->addr, .size_bytes = 100};
	uint8_t *record;

	event_put_rare(&l->enc, EVENT_TIME, call.ticks, NULL, 0);
	synth_malloc(l, c->ticks, c->addr, 50, 0); /* near, so that the next one is short */
	synth_free(l, c->ticks, c->addr);
	synth_malloc(l, c->ticks, c->addr, 50, 0);
	record = l->enc.pos;
	CHECK(event_put_short(&l->enc, EVENT_REALLOC_BEGIN, &call));
	if (is_in_place)
		event_make_in_place(record);
}

/* The recording as it is after so many ticks. Blocks keep their numbers while it grows. */
static void make_recording(struct synth *s, uint64_t until, const struct oddity *odd)
{
	static struct synth_lane lane[N_LANES];
	const struct synth_lane *open[N_LANES] = {NULL};
	uint32_t n_calls[N_LANES] = {0}, n_stacks[N_LANES] = {0};
	uint64_t next_sample = 0;

	synth_begin(s, 0);
	synth_process(s, 0);
	synth_module(s, 1, "/usr/bin/app", 0x400000, 0x401100, 0);
	if (odd->has_late_module)
		synth_module(s, 2, "/usr/lib/late.so", 0x401100, 0x480000, 0);
	for (uint32_t i = 0; i < N_LANES; i++)
		synth_lane_begin(&lane[i], i + 1, 0);
	for (size_t i = 0; i < N_CALLS; i++) {
		const struct call *c = &script[i];
		struct synth_lane *l = &lane[c->lane];

		if (c->ticks > until || (odd->late_call && i >= odd->late_call &&
					 c->lane == script[odd->late_call].lane))
			continue;
		for (; next_sample <= c->ticks; next_sample += TICKS_PER_S / 10)
			put_sample(s, next_sample);
		if (i == odd->begun_call && i)
			put_begun(l, c, odd->is_in_place);
		else
			put_call(l, c, &n_stacks[c->lane]);
		if (++n_calls[c->lane] % BLOCK_CALLS)
			continue;
		synth_events(s, l, 1 + c->lane * 1000ull + l->lane_index, true);
		l->lane_index++;
		synth_lane_reset(l);
	}
	for (uint32_t i = 0; i < N_LANES; i++) {
		if (n_calls[i] % BLOCK_CALLS == 0)
			continue;
		open[i] = &lane[i];
		if (odd->has_ended)
			synth_events(s, &lane[i], 1 + i * 1000ull + lane[i].lane_index, true);
	}
	s->last_ticks = SYNTH_START_TICKS + until;
	if (odd->has_ended) {
		synth_end(s, END_BY_EXIT);
	} else {
		for (uint32_t i = 0; i < N_LANES; i++) { /* one area per lane: any sequence */
			if (open[i])
				synth_area(s, &open[i], 1, 1 + i * 1000ull + lane[i].lane_index);
		}
		s->last_ticks = SYNTH_START_TICKS + until;
		synth_status(s, FORMAT_STATE_RECORDING);
	}
}

static int build(uint64_t until, const struct oddity *odd, const char *store,
		 const struct build_options *o)
{
	struct recording *r = NULL;
	struct err err = {0};
	struct synth s;
	int n;

	make_recording(&s, until, odd);
	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	n = build_store(r, store, o, &err);
	recording_close(r);
	synth_fini(&s);
	return n;
}

/* All that is in them, to the last bit; not how it lies there. */
static void check_same(const char *path_a, const char *path_b)
{
	static uint64_t x[STORE_BLOCK_ROWS], y[STORE_BLOCK_ROWS];
	struct store *a = NULL, *b = NULL;
	struct err err = {0};

	CHECK_OK(store_open(path_a, &a, &err));
	CHECK_OK(store_open(path_b, &b, &err));
	for (unsigned t = 0; t < STORE_N_TABLES; t++) {
		size_t n_a, n_b;
		const void *in_a = store_table(a, t, &n_a), *in_b = store_table(b, t, &n_b);

		if (t == STORE_UNDO || t == STORE_STATE)
			continue; /* only one of them has to go on */
		CHECK_EQ(n_a, n_b);
		CHECK_EQ(memcmp(in_a, in_b, n_a * store_item_bytes[t]), 0);
	}
	CHECK_EQ(store_n_rows(a), store_n_rows(b));
	CHECK_EQ(store_n_blocks(a), store_n_blocks(b));
	for (uint64_t block = 0; block < store_n_blocks(a); block++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			store_read_block(a, c, block, x);
			store_read_block(b, c, block, y);
			CHECK_EQ(memcmp(x, y, store_block_rows(a, block) * sizeof(*x)), 0);
		}
	}
	store_close(a);
	store_close(b);
}

/* Another run of this test may be under way. */
static const char *store_path(const char *name)
{
	static char path[2][64];
	static unsigned i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "/tmp/test_incremental.%d.%s.store", (int)getpid(),
		 name);
	return path[i];
}

#define STORE_A store_path("on")
#define STORE_B store_path("whole")

static const struct oddity usual;

/* Cuts are a second before the end: some are between calls that are near to each other. Between two and
 * four seconds a tick stays what it is. */
static void check_moments(uint64_t start_seed, bool without_rows)
{
	struct build_options on = {.how = BUILD_RESUMABLE, .without_rows = without_rows};
	struct build_options whole = {.without_rows = without_rows};
	size_t i = 0;

	make_script(start_seed, 4 * TICKS_PER_S);
	while (script[i].ticks < 11 * TICKS_PER_S / 10)
		i++;
	for (; script[i].ticks < 29 * TICKS_PER_S / 10; i += 500 + random_below(4000)) {
		uint64_t until = script[i].ticks + TICKS_PER_S;

		CHECK_OK(build(until, &usual, STORE_A, &on));
		CHECK_OK(build(until, &usual, STORE_B, &whole));
		check_same(STORE_A, STORE_B);
		on.how = BUILD_RESUME;
	}
	CHECK_EQ(on.how, BUILD_RESUME);
	unlink(STORE_A);
	unlink(STORE_B);
}

TEST(resuming_gives_what_reading_in_full_gives)
{
	for (uint64_t i = 1; i <= 6; i++)
		check_moments(i, false);
}

TEST(so_it_does_at_a_peak)
{
	is_only_growing = true;
	check_moments(13, false);
	is_only_growing = false;
}

TEST(so_it_does_without_rows)
{
	check_moments(77, true);
}

/* Begins at 2.5 s, where the checkpoint is at 1.5 s, and is resumed at 3 s. */
static int resume_with(const struct oddity *first, const struct oddity *then)
{
	struct build_options o = {.how = BUILD_RESUMABLE};
	int n;

	CHECK_OK(build(5 * TICKS_PER_S / 2, first, STORE_A, &o));
	o.how = BUILD_RESUME;
	n = build(3 * TICKS_PER_S, then, STORE_A, &o);
	if (n == 0) {
		o.how = BUILD_WHOLE;
		CHECK_OK(build(3 * TICKS_PER_S, then, STORE_B, &o));
		check_same(STORE_A, STORE_B);
		unlink(STORE_B);
	} else { /* what was there is there */
		o.how = BUILD_WHOLE;
		CHECK_OK(build(5 * TICKS_PER_S / 2, first, STORE_B, &o));
		check_same(STORE_A, STORE_B);
		unlink(STORE_B);
	}
	unlink(STORE_A);
	return n;
}

static size_t first_call_after(uint64_t ticks, uint32_t lane)
{
	size_t i = 0;

	while (script[i].ticks <= ticks || script[i].lane != lane)
		i++;
	return i;
}

TEST(what_comes_late_is_found)
{
	struct oddity late = {0}, module = {.has_late_module = true}, ended = {.has_ended = true};

	make_script(5, 4 * TICKS_PER_S);
	CHECK_EQ(resume_with(&usual, &usual), 0);
	late.late_call = first_call_after(TICKS_PER_S, 3); /* before the checkpoint */
	CHECK_EQ(resume_with(&late, &usual), -ERR_REFUSED);
	late.late_call = first_call_after(7 * TICKS_PER_S / 4, 3); /* after it */
	CHECK_EQ(resume_with(&late, &usual), 0);
	CHECK_EQ(resume_with(&usual, &module), -ERR_REFUSED);
	CHECK_EQ(resume_with(&usual, &ended), -ERR_REFUSED);
}

/* A thread is in realloc() while the recording is read, and its last event is another one afterwards. */
TEST(a_checkpoint_lies_before_a_realloc_under_way)
{
	struct oddity first = {0}, then = {.is_in_place = true};

	make_script(8, 4 * TICKS_PER_S);
	first.begun_call = then.begun_call = first_call_after(TICKS_PER_S, 3);
	while (script[first.begun_call].kind != EVENT_FREE || script[first.begun_call].lane != 3)
		first.begun_call++;
	then.begun_call = first.begun_call;
	first.late_call = first.begun_call + 1;
	while (script[first.late_call].lane != 3)
		first.late_call++;
	CHECK(script[first.begun_call].ticks <
	      5 * TICKS_PER_S / 4); /* before the usual checkpoint */
	CHECK_EQ(resume_with(&first, &then), 0);
}

/* From 4 s on a tick has another length: times before stay. */
TEST(a_tick_that_is_known_better_changes_later_times_only)
{
	struct build_options o = {.how = BUILD_RESUMABLE};

	make_script(6, 5 * TICKS_PER_S);
	CHECK_OK(build(3 * TICKS_PER_S, &usual, STORE_A, &o));
	o.how = BUILD_RESUME;
	CHECK_OK(build(9 * TICKS_PER_S / 2, &usual, STORE_A, &o));
	o.how = BUILD_WHOLE;
	CHECK_OK(build(9 * TICKS_PER_S / 2, &usual, STORE_B, &o));
	check_same(STORE_A, STORE_B);
	unlink(STORE_A);
	unlink(STORE_B);
}

/* The state is damaged in any way: refused, or the same result; nothing breaks. */
TEST(a_damaged_state_is_refused)
{
	struct build_options o = {.how = BUILD_RESUMABLE};
	struct store *s = NULL;
	struct err err = {0};
	uint64_t offset;
	size_t len;

	make_script(9, 4 * TICKS_PER_S);
	CHECK_OK(build(5 * TICKS_PER_S / 2, &usual, STORE_A, &o));
	CHECK_OK(store_open(STORE_A, &s, &err));
	store_table(s, STORE_STATE, &len);
	offset = store_state_offset(s);
	store_close(s);
	o.how = BUILD_RESUME;
	for (size_t i = 0; i < 64; i++) {
		uint64_t at = offset + len * i / 64;
		FILE *f = fopen(STORE_A, "r+b");
		int was;

		CHECK(f != NULL);
		fseek(f, (long)at, SEEK_SET);
		was = fgetc(f);
		fseek(f, (long)at, SEEK_SET);
		fputc(was ^ 0x41, f);
		fclose(f);
		CHECK_EQ(build(3 * TICKS_PER_S, &usual, STORE_A, &o), -ERR_FORMAT);
		f = fopen(STORE_A, "r+b");
		CHECK(f != NULL);
		fseek(f, (long)at, SEEK_SET);
		fputc(was, f);
		fclose(f);
	}
	CHECK_OK(build(3 * TICKS_PER_S, &usual, STORE_A, &o));
	unlink(STORE_A);
}

static size_t load_file(const char *path, uint8_t **ret)
{
	FILE *f = fopen(path, "rb");
	size_t len;

	CHECK_NOT_NULL(f);
	fseek(f, 0, SEEK_END);
	len = (size_t)ftell(f);
	rewind(f);
	*ret = malloc(len);
	CHECK_NOT_NULL(*ret);
	CHECK_EQ(fread(*ret, 1, len, f), len);
	fclose(f);
	return len;
}

static void save_file(const char *path, const uint8_t *data, size_t len)
{
	FILE *f = fopen(path, "wb");

	CHECK_NOT_NULL(f);
	CHECK_EQ(fwrite(data, 1, len, f), len);
	fclose(f);
}

/* The checksum is right, but not what it is of: nothing of that kind is made by us, and it must do no
 * harm. What comes out may be wrong. */
TEST(a_state_with_wrong_numbers_does_no_harm)
{
	struct build_options o = {.how = BUILD_RESUMABLE};
	struct store *s = NULL;
	struct err err = {0};
	uint8_t *file = NULL, *state;
	size_t len, n_state, n_refused = 0;

	make_script(10, 4 * TICKS_PER_S);
	CHECK_OK(build(5 * TICKS_PER_S / 2, &usual, STORE_A, &o));
	CHECK_OK(store_open(STORE_A, &s, &err));
	store_table(s, STORE_STATE, &n_state);
	len = load_file(STORE_A, &file);
	state = file + store_state_offset(s);
	store_close(s);
	o.how = BUILD_RESUME;
	for (size_t i = 0; i < 150; i++) {
		size_t at = random_below(i % 2 ? 4096 : (uint32_t)n_state - 8);
		uint8_t was = state[at];
		uint64_t sum;

		state[at] = (uint8_t)(i % 3 ? was ^ (1u << random_below(8)) : 0xff);
		sum = checksum64_of(state, n_state - 8);
		memcpy(state + n_state - 8, &sum, sizeof(sum));
		save_file(STORE_A, file, len);
		n_refused += build(3 * TICKS_PER_S, &usual, STORE_A, &o) < 0;
		state[at] = was;
	}
	CHECK(n_refused > 0);
	free(file);
	unlink(STORE_A);
}
