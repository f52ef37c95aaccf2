/* cli/cmd_info.c - `memory-profiler-cli info`: what is in a recording. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/info_text.h"
#include "cli/open_args.h"
#include "ingest/overview.h"
#include "recording/shared_binary.h"
#include "util/human.h"
#include "util/json_write.h"

static void json_process(struct json *j, const struct recording *r)
{
	const struct metadata_process *p = &r->metadata.process;
	char buf[HUMAN_BYTES];

	json_u64(j, "pid", r->header.pid);
	json_text(j, "executable", p->executable.bytes);
	json_list(j, "cmdline", p->cmdline.bytes, p->cmdline.len);
	json_text(j, "arch", overview_arch(r));
	json_text(j, "host", p->host.bytes);
	json_text(j, "started_at", human_time(r->header.start_realtime_ns, buf));
}

static void json_totals(struct json *j, const struct overview *o)
{
	const struct replay_totals *t = &o->totals;

	json_u64(j, "threads", o->n_threads);
	json_u64(j, "allocations", t->allocations);
	json_u64(j, "reallocations", t->reallocations);
	json_u64(j, "frees", t->frees);
	json_u64(j, "bytes_allocated", t->bytes_allocated);
	json_u64(j, "culled_allocations", t->culled_allocations);
	json_u64(j, "culled_reallocations", t->culled_reallocations);
	json_u64(j, "culled_bytes", t->culled_bytes);
	json_u64(j, "live_count", t->live_count);
	json_u64(j, "live_bytes", t->live_bytes);
	json_u64(j, "peak_bytes", t->peak_bytes);
	json_u64(j, "peak_at_ns", o->peak_at_ns);
	json_u64(j, "unknown_frees", t->unknown_frees);
	json_u64(j, "untracked_frees", t->untracked_frees);
	json_u64(j, "untracked_reallocations", t->untracked_reallocations);
	json_u64(j, "failed_reallocations", t->failed_reallocations);
	json_u64(j, "duplicate_allocations", t->duplicate_allocations);
	json_u64(j, "crossed_blocks", t->crossed);
	json_u64(j, "repaired_inversions", t->repaired);
	json_u64(j, "mmaps", t->mmaps);
	json_u64(j, "munmaps", t->munmaps);
	json_u64(j, "mremaps", t->mremaps);
	json_u64(j, "brks", t->brks);
	json_u64(j, "markers", t->markers);
	json_u64(j, "forks", t->forks);
	json_u64(j, "stacks", t->stacks);
	json_u64(j, "deepest_stack", t->deepest_stack);
	json_object(j, "truncated_stacks");
	for (unsigned i = STACK_END_NO_INFO; i < STACK_N_ENDS; i++) {
		if (t->truncated[i])
			json_u64(j, stacks_end_name(i), t->truncated[i]);
	}
	json_end_object(j);
	json_u64(j, "guessed_stacks", t->guessed);
}

static void json_allocators(struct json *j, const struct metadata *f)
{
	json_array(j, "allocators");
	for (size_t i = 0; i < f->n_allocators; i++) {
		const struct metadata_allocator *a = &f->allocator[i];

		json_object(j, NULL);
		json_u64(j, "number", a->number);
		json_text(j, "name", a->name.bytes);
		json_text(j, "prefix", a->prefix.bytes);
		json_text(j, "module", a->module.bytes);
		json_u64(j, "functions", a->n_functions);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_dropped(struct json *j, const struct metadata_dropped *d)
{
	if (d->n_runs == 0) {
		json_null(j, "stripped");
		return;
	}
	json_object(j, "stripped");
	if (d->has_threshold)
		json_u64(j, "threshold_ns", d->threshold_ns);
	else
		json_null(j, "threshold_ns");
	json_u64(j, "allocations", d->n_allocations);
	json_u64(j, "bytes", d->n_bytes);
	json_u64(j, "events", d->n_events);
	json_end_object(j);
}

/* The files that belong to the recording and lie beside it. */
static void json_beside(struct json *j, const struct metadata *m)
{
	json_array(j, "files_beside");
	for (size_t i = 0; i < m->n_embedded; i++) {
		const struct metadata_file *f = &m->embedded[i];
		char *name = f->is_beside ? shared_binary_name(f) : NULL;

		if (!name)
			continue;
		json_object(j, NULL);
		json_text(j, "path", f->path.bytes);
		json_text(j, "file", name);
		json_bool(j, "found", f->is_complete);
		json_end_object(j);
		free(name);
	}
	json_end_array(j);
}

static void json_file(struct json *j, const struct recording *r, const struct overview *o)
{
	const uint64_t *f = r->status.field;

	json_u64(j, "lost_events", o->lost_events);
	json_u64(j, "lost_blocks", o->lost_blocks);
	json_u64(j, "damaged_bytes", r->damage.n_bytes);
	json_u64(j, "modules", o->n_modules);
	json_u64(j, "embedded_files", o->n_embedded);
	json_beside(j, &r->metadata);
	json_u64(j, "samples", r->metadata.n_samples);
	json_bool(j, "has_symbols", r->metadata.n_symbols > 0);
	json_allocators(j, &r->metadata);
	json_dropped(j, &r->metadata.dropped);
	json_u64(j, "file_bytes", r->file_bytes);
	json_u64(j, "events", o->totals.events);
	json_u64(j, "event_bytes", r->event_bytes);
	json_double(j, "bytes_per_event", o->bytes_per_event, 3);
	json_array(j, "notes");
	for (size_t i = 0; i < o->n_notes; i++)
		json_text(j, NULL, o->note[i]);
	json_end_array(j);
	json_object(j, "recorder");
	json_text(j, "version", r->metadata.process.recorder.bytes);
	json_u64(j, "writer_cpu_ns", f[STATUS_WRITER_CPU_NS]);
	json_u64(j, "recorder_bytes", f[STATUS_RECORDER_BYTES]);
	json_u64(j, "n_blocks", f[STATUS_N_BLOCKS]);
	json_u64(j, "bytes_embedded", f[STATUS_BYTES_EMBEDDED]);
	json_u64(j, "n_waits", f[STATUS_N_WAITS]);
	json_u64(j, "n_walks", f[STATUS_N_WALKS]);
	json_u64(j, "n_slow_walks", f[STATUS_N_SLOW_WALKS]);
	json_u64(j, "n_rule_misses", f[STATUS_N_RULE_MISSES]);
	json_u64(j, "n_path_walks", f[STATUS_N_PATH_WALKS]);
	json_u64(j, "n_known_stacks", f[STATUS_N_KNOWN_STACKS]);
	json_u64(j, "n_fresh_frames", f[STATUS_N_FRESH_FRAMES]);
	json_u64(j, "n_estimated_times", f[STATUS_N_ESTIMATED_TIMES]);
	json_u64(j, "longest_heartbeat_ns", o->longest_heartbeat_ns);
	json_u64(j, "n_audited", f[STATUS_N_AUDITED]);
	json_u64(j, "n_differing", f[STATUS_N_DIFFERING]);
	json_end_object(j);
}

static void print_json(const char *path, const struct recording *r, const struct overview *o)
{
	char version[HUMAN_BYTES];
	struct json j;

	snprintf(version, sizeof(version), "%u.%u", r->header.version_major,
		 r->header.version_minor);
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_text(&j, "file", path);
	json_text(&j, "version", version);
	if (r->piece[0].header.piece)
		json_u64(&j, "piece", r->piece[0].header.piece);
	else
		json_null(&j, "piece");
	json_u64(&j, "pieces", r->n_pieces);
	json_bool(&j, "complete", o->is_complete);
	json_text(&j, "ended", o->ended);
	json_process(&j, r);
	if (o->has_duration)
		json_u64(&j, "duration_ns", o->duration_ns);
	else
		json_null(&j, "duration_ns");
	json_totals(&j, o);
	json_file(&j, r, o);
	json_end_object(&j);
	json_line(&j);
}

/* n_paths: the pieces of one recording, or one file. */
static int show(char *const *paths, size_t n_paths, bool as_json, struct err *err)
{
	const char *path = paths[0];
	struct recording *r = NULL;
	struct progress progress;
	char label[PROGRESS_LABEL_BYTES];
	struct overview o = {0};
	int n = recording_open_pieces((const char *const *)paths, n_paths, &r, err);

	if (n < 0)
		return n;
	snprintf(label, sizeof(label), "reading %s", path);
	progress_start(&progress, label, r->event_bytes, PROGRESS_BYTES);
	r->progress = &progress;
	n = overview_make(r, &o, err);
	r->progress = NULL;
	progress_end(&progress);
	if (n < 0)
		err_prefix(err, "%s", path);
	else if (as_json)
		print_json(path, r, &o);
	else
		info_text_print(path, r, &o);
	overview_fini(&o);
	recording_close(r);
	return n;
}

int cmd_info(int argc, char **argv)
{
	bool as_json = false, together = false;
	const char *memory = NULL;
	struct err err = {0};
	const struct args_option option[] = {
		{.name = "together",
		 .help = "the files are pieces of one run: show them as one recording",
		 .flag = &together},
		{.name = "json",
		 .help = "print one JSON object per file and line",
		 .flag = &as_json},
		MEMORY_ARG(memory),
	};
	const struct args_command command = {
		.name = "info",
		.operands = "FILE...",
		.help = "Shows what is in recordings: process, time, threads, counts and bytes of\n"
			"allocations, live memory at the end and at the peak, stacks, and what was "
			"lost. A\n"
			"recording can be read while it is being written.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
		.min_operands = 1,
	};
	int first, end, n_each;
	int status = args_parse(&command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	n_each = together ? end - first : 1;
	status = CLI_OK;
	if (open_args_set_memory(memory, &err) < 0) {
		args_complain("info: %s", err.text);
		return CLI_USAGE;
	}
	for (int i = first; i < end; i += n_each) {
		if (!as_json && i > first)
			putchar('\n');
		if (show(argv + i, (size_t)n_each, as_json, &err) < 0) {
			args_complain("%s", err.text);
			status = CLI_FAILED;
		}
	}
	return status;
}
