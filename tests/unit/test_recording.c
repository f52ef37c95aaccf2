/* Opening recordings: what is there, what is missing, what is damaged. */
#include "harness/test.h"
#include "ingest/overview.h"
#include "recording_synth.h"

static struct synth s;
static struct synth_lane a, b;

static struct recording *open_ok(void)
{
	struct recording *r = NULL;
	struct err err = {0};

	CHECK_OK(recording_open(synth_save(&s), &r, &err));
	return r;
}

static struct overview sum_up(struct recording *r)
{
	struct overview o = {0};
	struct err err = {0};

	CHECK_OK(overview_make(r, &o, &err));
	return o;
}

static bool has_note(const struct overview *o, const char *part)
{
	for (size_t i = 0; i < o->n_notes; i++) {
		if (strstr(o->note[i], part))
			return true;
	}
	return false;
}

/* Two lanes with two blocks each, ended in order. */
static void make_sample(void)
{
	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_lane_begin(&b, 2, 0);
	synth_process(&s, 0);
	synth_module(&s, 1, "/usr/bin/app", 0x400000, 0x500000, 0);
	for (int i = 0; i < 2; i++) {
		uint32_t stack = event_put_stack(&a.enc, 0x400100 + (unsigned)i, 0);

		synth_malloc(&a, 10 + 100 * (unsigned)i, 0x1000 + 0x100 * (unsigned)i, 32, stack);
		synth_free(&b, 50 + 100 * (unsigned)i, 0x1000 + 0x100 * (unsigned)i);
		synth_flush(&s, &a, true);
		synth_flush(&s, &b, false);
	}
	synth_end(&s, END_BY_EXIT);
}

static void check_open_fails(const char *path, enum err_code code, const char *part)
{
	struct recording *r = (void *)1;
	struct err err = {0};

	CHECK_ERR(recording_open(path, &r, &err), code);
	CHECK_PTR_EQ(r, (void *)1);
	CHECK(strstr(err.text, path));
	if (!strstr(err.text, part))
		CHECK_STR_EQ(err.text, part); /* shows both */
}

TEST(a_whole_recording_is_read_as_it_was_written)
{
	struct recording *r;
	struct overview o;

	make_sample();
	r = open_ok();
	CHECK_EQ(r->n_blocks, 4);
	CHECK_EQ(r->n_lanes, 2);
	CHECK_EQ(r->header.pid, SYNTH_PID);
	CHECK_STR_EQ(r->metadata.process.executable.bytes, "/usr/bin/app");
	CHECK_EQ(r->metadata.process.cmdline.len, 14);
	o = sum_up(r);
	CHECK(o.is_complete);
	CHECK_STR_EQ(o.ended, "exit");
	CHECK_EQ(o.totals.allocations, 2);
	CHECK_EQ(o.totals.frees, 2);
	CHECK_EQ(o.totals.unknown_frees, 0);
	CHECK_EQ(o.n_threads, 2);
	CHECK_EQ(o.n_modules, 1);
	CHECK_EQ(o.duration_ns, 300); /* 150 ticks of 2 ns */
	CHECK_EQ(o.n_notes, 0);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(files_that_are_no_recordings_get_a_hint)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum err_code code;
		const char *hint;
	} foreign[] = {
		{"", 0, ERR_FORMAT, "is empty"},
		{"\x1f\x8b\x08\0\0\0\0\0\0\0", 10, ERR_FOREIGN, "gzip"},
		{"\x28\xb5\x2f\xfd....", 8, ERR_FOREIGN, "zstd"},
		{"\x7f"
		 "ELF\2\1\1\0\0\0\0\0",
		 12, ERR_FOREIGN, "program or library"},
		{"v 10500 3\nx /usr/bin/app\n", 25, ERR_FOREIGN, "heaptrack"},
		{"\x01\x00\x10\x00\x00\xf2\x14\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, ERR_FOREIGN,
		 "bytehound"},
		{"hello world, hello", 18, ERR_FOREIGN, "right file"},
		{"\x89MPROF\n\x1a\1\0", 10, ERR_FORMAT, "ends inside its header"},
	};

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		memset(&s, 0, sizeof(s));
		synth_append(&s, foreign[i].bytes, foreign[i].len);
		check_open_fails(synth_save(&s), foreign[i].code, foreign[i].hint);
		synth_fini(&s);
	}
	check_open_fails("/tmp", ERR_FOREIGN, "is a directory");
	check_open_fails("/dev/null", ERR_FOREIGN, "not a regular file");
	check_open_fails("/nonexistent/x.dat", ERR_IO, "No such file");
}

TEST(other_versions_and_damaged_headers_are_refused_with_a_remedy)
{
	struct file_header h = {.version_major = FORMAT_VERSION_MAJOR + 1,
				.block_bytes = FORMAT_BLOCK_BYTES};

	make_sample();
	s.data[57] ^= 1;
	check_open_fails(synth_save(&s), ERR_FORMAT, "header is damaged");
	file_header_encode(&h, s.data);
	check_open_fails(synth_save(&s), ERR_VERSION, "use a newer memory-profiler-cli");
	h.version_major = 1;
	h.version_minor = 1;
	file_header_encode(&h, s.data);
	check_open_fails(synth_save(&s), ERR_VERSION, "format 1.1; this program reads format 4");
	check_open_fails(synth_save(&s), ERR_VERSION, "record again");
	synth_fini(&s);
}

TEST(blocks_in_an_area_are_read)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_lane_begin(&b, 2, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_malloc(&b, 20, 0x2000, 64, 0);
	synth_area(&s, (const struct synth_lane *[]){&a, NULL, &b}, 3, 1);
	synth_status(&s, FORMAT_STATE_RECORDING);
	r = open_ok();
	CHECK_EQ(r->n_blocks, 2);
	o = sum_up(r);
	CHECK_EQ(o.totals.live_bytes, 96);
	CHECK_EQ(r->damage.n_ranges, 0);
	CHECK(!o.is_complete);
	CHECK_STR_EQ(o.ended, "killed or still running");
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(a_block_in_an_area_and_in_a_chunk_counts_once_and_the_chunk_wins)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_area(&s, (const struct synth_lane *[]){&a}, 1, 7);
	synth_malloc(&a, 20, 0x2000, 64, 0); /* came after the area was read */
	synth_events(&s, &a, 7, true);
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	CHECK_EQ(r->n_blocks, 1);
	CHECK_EQ(r->n_duplicate_blocks, 1);
	o = sum_up(r);
	CHECK_EQ(o.totals.allocations, 2);
	CHECK(o.is_complete);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(the_copy_in_an_area_replaces_a_damaged_chunk)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_area(&s, (const struct synth_lane *[]){&a}, 1, 7);
	synth_events(&s, &a, 7, false);
	s.data[s.len - 8] ^= 1; /* in the payload */
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	o = sum_up(r);
	CHECK_EQ(o.totals.allocations, 1);
	CHECK_EQ(r->damage.n_ranges, 1);
	CHECK(!o.is_complete);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(missing_blocks_are_counted_and_noted)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	a.lane_index = 2; /* 0 and 1 are missing */
	synth_flush(&s, &a, true);
	a.lane_index += 3;
	synth_free(&a, 20, 0x1000);
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	CHECK_EQ(r->n_missing_blocks, 5);
	o = sum_up(r);
	CHECK(!o.is_complete);
	CHECK_EQ(o.lost_blocks, 5);
	CHECK(has_note(&o, "unknown number of events"));
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(stacks_defined_in_a_lost_block_are_lost_stacks)
{
	struct recording *r;
	struct overview o;
	uint32_t stack;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	stack = event_put_stack(&a.enc, 0x1234, 0);
	synth_lane_reset(&a); /* that block never reaches the file */
	a.lane_index++;
	synth_malloc(&a, 10, 0x1000, 32, stack);
	synth_malloc(&a, 11, 0x2000, 32, event_put_stack(&a.enc, 0x5678, stack));
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	o = sum_up(r);
	CHECK_EQ(o.totals.truncated[STACK_END_LOST], 2);
	CHECK_EQ(o.totals.stacks, 2);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(unknown_chunks_are_skipped)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_chunk(&s, 999, 0, "from the future", 15, 15);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	o = sum_up(r);
	CHECK(o.is_complete);
	CHECK_EQ(o.totals.allocations, 1);
	CHECK(has_note(&o, "1 chunk of a kind that this version does not know"));
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

/* Two recordings in one file, the second without its header. */
TEST(a_second_process_is_damage)
{
	struct recording *r;
	struct overview o;
	size_t at;

	make_sample();
	at = s.len;
	synth_process(&s, 77);
	r = open_ok();
	CHECK_EQ(r->damage.n_ranges, 1);
	CHECK_EQ(r->damage.range[0].offset, at);
	CHECK_EQ(r->metadata.process.parent_pid, 0);
	o = sum_up(r);
	CHECK(!o.is_complete);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(the_walk_goes_on_behind_a_damaged_header)
{
	struct recording *r;
	struct overview o;
	size_t at;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	at = s.len;
	synth_flush(&s, &a, true);
	synth_malloc(&a, 20, 0x2000, 64, 0);
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	s.data[at + 9] ^= 0x40;
	r = open_ok();
	CHECK_EQ(r->damage.n_ranges, 1);
	CHECK_EQ(r->damage.range[0].offset, at);
	o = sum_up(r);
	CHECK_EQ(o.totals.allocations, 1);
	CHECK_EQ(r->n_missing_blocks, 1);
	CHECK(!o.is_complete);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(blocks_are_found_although_the_header_of_their_area_is_lost)
{
	struct recording *r;
	size_t at;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_lane_begin(&b, 2, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_malloc(&b, 10, 0x2000, 32, 0);
	at = s.len;
	synth_area(&s, (const struct synth_lane *[]){&a, &b}, 2, 1);
	synth_end(&s, END_BY_EXIT);
	/* the AREA's header lies right before a page boundary */
	memset(s.data + align_up(at + 64, 4096) - 32, 0xaa, 32);
	r = open_ok();
	CHECK_EQ(r->n_blocks, 2);
	CHECK(r->damage.n_bytes > 0);
	recording_close(r);
	synth_fini(&s);
}

TEST(zeros_behind_the_last_chunk_are_no_damage)
{
	struct recording *r;

	make_sample();
	synth_append(&s, NULL, 70000);
	r = open_ok();
	CHECK_EQ(r->damage.n_ranges, 0);
	recording_close(r);
	synth_fini(&s);
}

TEST(a_chunk_being_written_when_the_program_died_is_no_damage)
{
	struct recording *r;
	size_t at;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_area(&s, (const struct synth_lane *[]){&a}, 1, 1);
	synth_status(&s, FORMAT_STATE_RECORDING);
	at = s.len;
	synth_events(&s, &a, 1, false);
	s.len = at + 50; /* cut inside its payload */
	r = open_ok();
	CHECK_EQ(r->damage.n_ranges, 0);
	CHECK_EQ(r->unfinished_bytes, 50);
	CHECK_EQ(r->n_blocks, 1);
	recording_close(r);
	synth_fini(&s);
}

TEST(a_file_cut_between_chunks_is_noticed_by_its_status)
{
	struct recording *r;
	struct overview o;
	size_t cut;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	synth_flush(&s, &a, true);
	cut = s.len;
	synth_malloc(&a, 20, 0x2000, 32, 0);
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	s.len = cut;
	r = open_ok();
	o = sum_up(r);
	CHECK(!o.is_complete);
	CHECK_EQ(r->damage.n_ranges, 1);
	CHECK_EQ(r->damage.range[0].offset, cut);
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(malformed_events_end_their_block_only)
{
	struct recording *r;
	struct overview o;

	synth_begin(&s, 0);
	synth_lane_begin(&a, 1, 0);
	synth_malloc(&a, 10, 0x1000, 32, 0);
	*a.enc.pos++ = 0; /* kind 0 does not exist */
	*a.enc.pos++ = 0;
	synth_malloc(&a, 11, 0x2000, 32, 0);
	synth_flush(&s, &a, true);
	synth_malloc(&a, 20, 0x3000, 32, 0);
	synth_flush(&s, &a, true);
	synth_end(&s, END_BY_EXIT);
	r = open_ok();
	o = sum_up(r);
	CHECK_EQ(o.totals.allocations, 2);
	CHECK(!o.is_complete);
	CHECK(has_note(&o, "malformed event"));
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

/* Opens and sums up whatever it is; it must end in an error with a text or in numbers. */
static void try_file(void)
{
	struct recording *r = NULL;
	struct overview o = {0};
	struct err err = {0};
	const char *path = synth_save(&s);

	if (recording_open(path, &r, &err) < 0) {
		CHECK(strstr(err.text, path));
		return;
	}
	CHECK_OK(overview_make(r, &o, &err));
	CHECK(o.totals.allocations <= 2);
	overview_fini(&o);
	recording_close(r);
}

/* Does the byte mean nothing: the rest of the first page, or between two chunks? */
static bool is_unused(size_t i)
{
	struct chunk_header h;

	if (i < FORMAT_HEADER_BYTES) /* the sample has one status, in the second slot */
		return i >= FILE_HEADER_FIXED_BYTES &&
		       (i < FILE_STATUS_OFFSET + FILE_STATUS_BYTES ||
			i >= FILE_STATUS_OFFSET + 2 * FILE_STATUS_BYTES);
	for (size_t at = FORMAT_HEADER_BYTES; at < s.len; at += chunk_total_bytes(&h)) {
		CHECK(chunk_decode(s.data + at, &h));
		if (i < at + chunk_total_bytes(&h))
			return i >= at + CHUNK_HEADER_BYTES + h.stored_bytes;
	}
	return false;
}

TEST(damage_at_any_byte_is_survived_and_noticed)
{
	struct recording *r = NULL;
	struct overview o;
	struct err err;

	make_sample();
	for (size_t i = 0; i < s.len; i++) {
		bool unused = is_unused(i);

		s.data[i] ^= 0x5a;
		synth_save(&s);
		err = (struct err){0};
		if (recording_open(s.path, &r, &err) == 0) {
			CHECK_OK(overview_make(r, &o, &err));
			CHECK_EQ(o.is_complete, unused);
			CHECK_EQ(r->damage.n_bytes == 0, unused);
			overview_fini(&o);
			recording_close(r);
		} else {
			CHECK(i < FILE_HEADER_FIXED_BYTES);
			CHECK(err.text[0]);
		}
		s.data[i] ^= 0x5a;
	}
	synth_fini(&s);
}

TEST(a_cut_at_any_byte_is_survived)
{
	size_t len;

	make_sample();
	len = s.len;
	for (s.len = 0; s.len < len; s.len += s.len < 128 || s.len >= 4090 ? 1 : 61)
		try_file();
	synth_fini(&s);
}

TEST(a_status_is_not_needed)
{
	struct recording *r;
	struct overview o;

	make_sample();
	memset(s.data + FILE_STATUS_OFFSET, 0, 1024);
	r = open_ok();
	o = sum_up(r);
	CHECK(!r->has_status);
	CHECK(!o.has_duration);
	CHECK_EQ(o.totals.allocations, 2);
	CHECK(has_note(&o, "duration is not known"));
	overview_fini(&o);
	recording_close(r);
	synth_fini(&s);
}

TEST(samples_give_the_length_of_a_tick_as_well)
{
	uint8_t buf[64];
	struct field_writer w = field_writer_make(buf, sizeof(buf));
	struct recording *r;

	make_sample();
	memset(s.data + FILE_STATUS_OFFSET, 0, 1024);
	field_put_u64(&w, SAMPLE_TICKS, SYNTH_START_TICKS + 1000);
	field_put_u64(&w, SAMPLE_MONOTONIC_NS, 5000 + 4000);
	synth_chunk(&s, CHUNK_SAMPLE, 0, buf, w.len, w.len);
	r = open_ok();
	CHECK(timebase_is_known(&r->time));
	CHECK_EQ(timebase_ns(&r->time, SYNTH_START_TICKS + 10), 40);
	recording_close(r);
	synth_fini(&s);
}
