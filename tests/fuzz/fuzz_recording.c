/* Any bytes as a recording (harness/recording_fuzz.h says how). What could be read is, for some
 * inputs, copied and stripped (which takes long): the results must be free of damage, and have the
 * events that they should.
 */
#include "harness/fuzz.h"

#include <fcntl.h>

#include "harness/recording_fuzz.h"
#include "ingest/overview.h"
#include "rewrite/recording_copy.h"
#include "rewrite/strip.h"

static char out_path[64];

/* Replays the recording that was written; it must be sound. */
static struct replay_totals reread(void)
{
	struct replay_totals t = {0};
	struct recording *r = NULL;
	struct err err = {0};

	if (recording_open(out_path, &r, &err) < 0 || replay_run(r, NULL, &t, NULL, &err) < 0 ||
	    r->damage.n_ranges > 0)
		abort();
	recording_close(r);
	return t;
}

static void check_copy(struct recording *r, const struct replay_totals *before)
{
	struct recording_copy_result result = {0};
	struct recording_writer *w = NULL;
	struct replay_totals after;
	struct err err = {0};
	uint64_t size_bytes;

	if (recording_writer_create(out_path, r, "fuzz", true, &w, &err) < 0 ||
	    recording_copy_metadata(w, r, &err) < 0 ||
	    recording_copy_events(w, r, &result, &err) < 0 ||
	    recording_writer_commit(w, result.n_unreadable_blocks, &size_bytes, &err) < 0)
		abort();
	after = reread();
	if (before->events != after.events || before->allocations != after.allocations ||
	    before->reallocations != after.reallocations || before->frees != after.frees ||
	    before->bytes_allocated != after.bytes_allocated)
		abort();
}

static void check_strip(struct recording *r, const struct replay_totals *before, bool has_threshold)
{
	const struct strip_rule rule = {has_threshold, 700, "/tmp"};
	struct strip_result result;
	struct replay_totals after;
	struct err err = {0};

	if (strip_run(r, &rule, out_path, &result, &err) < 0)
		abort();
	after = reread();
	if (before->allocations + before->reallocations !=
	    after.allocations + after.reallocations + result.dropped.n_allocations)
		abort();
	if (before->bytes_allocated != after.bytes_allocated + result.dropped.n_bytes)
		abort();
}

static void judge(const char *path, bool is_rewritten)
{
	struct recording *r = NULL;
	struct overview o = {0};
	struct err err = {0};

	if (recording_open(path, &r, &err) < 0) {
		if (!err.text[0])
			abort(); /* an error must say something */
		return;
	}
	if (overview_make(r, &o, &err) < 0 && !err.text[0])
		abort();
	if (o.is_complete && r->damage.n_bytes)
		abort();
	if (is_rewritten) {
		check_copy(r, &o.totals);
		check_strip(r, &o.totals, false);
		check_strip(r, &o.totals, true);
		unlink(out_path);
	}
	overview_fini(&o);
	recording_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	const char *path = recording_of(data, size_bytes);

	if (!out_path[0])
		snprintf(out_path, sizeof(out_path), "/tmp/fuzz_recording.%d", (int)getpid());
	if (path)
		judge(path, data[size_bytes - 1] % 4 == 0);
	return 0;
}
