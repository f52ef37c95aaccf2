/* ingest/overview.c - see overview.h. */
#include "ingest/overview.h"

#include <elf.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/shared_name.h"
#include "util/human.h"
#include "util/vec.h"

#define NOTES_MAX 200 /* of the recorder; a broken recorder must not flood us */

static int PRINTF_LIKE(3, 4) add_note(struct overview *o, struct err *err, const char *fmt, ...)
{
	int r = vec_reserve(&o->note, &o->cap_notes, o->n_notes + 1, sizeof(*o->note), err);
	char *text = NULL;
	va_list ap;

	if (r < 0)
		return r;
	va_start(ap, fmt);
	r = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (r < 0)
		return err_set_memory(err, strlen(fmt));
	o->note[o->n_notes++] = text;
	return 0;
}

const char *overview_arch(const struct recording *r)
{
	if (r->metadata.process.arch.bytes)
		return r->metadata.process.arch.bytes;
	switch (r->header.machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	case EM_386:
		return "i386";
	case EM_ARM:
		return "arm";
	case EM_RISCV:
		return "riscv64";
	case EM_MIPS:
		return "mips64";
	default:
		return "unknown";
	}
}

static const char *end_name(uint64_t how)
{
	switch (how) {
	case END_BY_EXIT:
		return "exit";
	case END_BY__EXIT:
		return "_exit";
	case END_BY_QUICK_EXIT:
		return "quick_exit";
	case END_BY_EXEC:
		return "exec";
	case END_BY_SWITCH:
		return "switched to a new file";
	default:
		return NULL;
	}
}

/* Of the signals that end programs every day. */
static const char *signal_end_name(uint64_t number)
{
	switch (number) {
	case SIGHUP:
		return "killed by SIGHUP";
	case SIGINT:
		return "killed by SIGINT";
	case SIGQUIT:
		return "killed by SIGQUIT";
	case SIGILL:
		return "killed by SIGILL";
	case SIGTRAP:
		return "killed by SIGTRAP";
	case SIGABRT:
		return "killed by SIGABRT";
	case SIGBUS:
		return "killed by SIGBUS";
	case SIGFPE:
		return "killed by SIGFPE";
	case SIGKILL:
		return "killed by SIGKILL";
	case SIGSEGV:
		return "killed by SIGSEGV";
	case SIGPIPE:
		return "killed by SIGPIPE";
	case SIGTERM:
		return "killed by SIGTERM";
	case SIGXCPU:
		return "killed by SIGXCPU";
	case SIGSYS:
		return "killed by SIGSYS";
	default:
		return "killed by a signal";
	}
}

static const char *chunk_end_name(const struct metadata_end *end)
{
	switch (end->how) {
	case END_BY_DEATH:
		return "killed, or ended without the C library";
	case END_BY_SIGNAL:
		return signal_end_name(end->status);
	case END_BY_EXIT_GROUP:
		return end->status ? "exit_group, with an error" : "exit_group";
	default:
		return end_name(end->how);
	}
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The later one of two times; ticks that are not possible do not count. */
static uint64_t later(const struct recording *r, uint64_t last, uint64_t ticks)
{
	return timebase_is_possible(&r->time, ticks) ? max_u64(last, ticks) : last;
}

static void set_times(struct overview *o, const struct recording *r)
{
	uint64_t last = o->totals.last_ticks;

	if (r->has_status)
		last = later(r, last, r->status.field[STATUS_TICKS]);
	if (r->metadata.end.is_known)
		last = later(r, last, r->metadata.end.ticks);
	for (size_t i = 0; i < r->metadata.n_samples; i++)
		last = later(r, last, r->metadata.sample[i].ticks);
	o->has_duration = timebase_is_known(&r->time);
	o->duration_ns = timebase_ns(&r->time, last);
	o->peak_at_ns = o->totals.peak_bytes ? o->totals.peak_ns : 0;
	if (r->has_status)
		o->longest_heartbeat_ns = timebase_ns(
			&r->time,
			r->time.start_ticks + r->status.field[STATUS_LONGEST_HEARTBEAT_TICKS]);
}

static void set_end(struct overview *o, const struct recording *r)
{
	uint64_t state = r->has_status ? r->status.field[STATUS_STATE] : 0;
	/* An end that was written before an exec is none if the exec failed: the recorder went
	 * on. */
	bool has_end = r->metadata.end.is_known && state != FORMAT_STATE_RECORDING;

	o->ended = end_name(o->totals.end_how);
	if (!o->ended && has_end)
		o->ended = chunk_end_name(&r->metadata.end);
	if (!o->ended && state == FORMAT_STATE_GAVE_UP)
		o->ended = "recording ended before the program";
	if (!o->ended && (has_end || state == FORMAT_STATE_ENDED))
		o->ended = "in an unknown way";
	o->is_complete = o->ended && o->lost_events == 0 && o->lost_blocks == 0 &&
			 r->damage.n_ranges == 0 && state != FORMAT_STATE_GAVE_UP;
	if (r->has_status && r->status.field[STATUS_LOST_CHUNKS])
		o->is_complete = false;
	if (!o->ended)
		o->ended = "killed or still running";
}

/* Counts the threads that have a chunk, and those that only blocks name. */
static uint64_t count_threads(const struct recording *r)
{
	uint64_t n = r->metadata.n_threads;

	for (size_t i = 0; i < r->n_lanes; i++) {
		bool is_first = i == 0 || r->lane[i].thread != r->lane[i - 1].thread;

		if (is_first && !metadata_find_thread(&r->metadata, r->lane[i].thread))
			n++;
	}
	return n;
}

static int count_modules(struct overview *o, const struct recording *r, struct err *err)
{
	struct module_map *map = NULL;
	int n = module_map_create(&r->metadata, &map, err);

	if (n < 0)
		return n;
	o->n_modules = module_map_count(map);
	module_map_destroy(map);
	return 0;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static int add_status_notes(struct overview *o, const struct recording *r, struct err *err)
{
	const uint64_t *f = r->status.field;
	int n = 0;

	if (!r->has_status)
		return 0;
	if (f[STATUS_STATE] == FORMAT_STATE_GAVE_UP)
		n = add_note(o, err, "the recorder gave up before the program ended");
	if (n == 0 && f[STATUS_FIRST_ERROR])
		n = add_note(o, err, "the recorder could not write: %s",
			     strerror((int)(f[STATUS_FIRST_ERROR] & 0xffff)));
	if (n == 0 && (f[STATUS_LOST_BLOCKS] || f[STATUS_LOST_CHUNKS]))
		n = add_note(o, err,
			     "the recorder lost %" PRIu64 " block%s of events and %" PRIu64
			     " other chunk%s",
			     f[STATUS_LOST_BLOCKS], plural(f[STATUS_LOST_BLOCKS]),
			     f[STATUS_LOST_CHUNKS], plural(f[STATUS_LOST_CHUNKS]));
	return n;
}

static int add_beside_notes(struct overview *o, const struct recording *r, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < r->metadata.n_embedded; i++)
		n += r->metadata.embedded[i].is_beside && !r->metadata.embedded[i].is_complete;
	if (n == 0)
		return 0;
	return add_note(o, err,
			"%zu binar%s not here: copy the folder " SHARED_NAME_FOLDER
			" together with the recording",
			n, n == 1 ? "y is" : "ies are");
}

static int add_piece_notes(struct overview *o, const struct recording *r, struct err *err)
{
	uint32_t first = r->piece[0].header.piece;
	int n = 0;

	if (r->n_pieces > 1)
		n = add_note(o, err, "pieces %" PRIu32 " to %" PRIu32 " of a run", first,
			     r->piece[r->n_pieces - 1].header.piece);
	else if (first > 1)
		n = add_note(o, err,
			     "piece %" PRIu32 " of a run: blocks of earlier pieces are not known "
			     "here; open all pieces together to see them",
			     first);
	if (n == 0 && r->n_missing_pieces)
		n = add_note(o, err, "%" PRIu64 " piece%s missing between these",
			     r->n_missing_pieces, r->n_missing_pieces == 1 ? " is" : "s are");
	return n;
}

static int add_loss_notes(struct overview *o, const struct recording *r, struct err *err)
{
	const struct replay_totals *t = &o->totals;
	char count[HUMAN_BYTES], size[HUMAN_BYTES];
	int n = add_status_notes(o, r, err);

	if (n == 0 && r->n_missing_blocks)
		n = add_note(o, err,
			     "%" PRIu64 " block%s missing: an unknown number of events was lost",
			     r->n_missing_blocks, r->n_missing_blocks == 1 ? " is" : "s are");
	if (n == 0)
		n = add_piece_notes(o, r, err);
	if (n == 0)
		n = add_beside_notes(o, r, err);
	if (n == 0 && t->culled_allocations)
		n = add_note(
			o, err,
			"%s short-lived allocations of %s were left out while recording "
			"(culled): they count in totals, call sites, threads and rates, and not "
			"in what is alive, sizes, lifetimes and filters about these or a time",
			human_count(t->culled_allocations, count),
			human_size(t->culled_bytes, size));
	if (n == 0 && t->pauses)
		n = add_note(o, err, "recording was paused %" PRIu64 " time%s", t->pauses,
			     plural(t->pauses));
	if (n == 0 && r->header.flags & FORMAT_LATE_START && r->piece[0].header.piece <= 1)
		n = add_note(o, err, "recording began after the program had already allocated");
	if (n == 0 && r->metadata.process.parent_pid)
		n = add_note(o, err, "forked child of process %" PRIu64 ", which was recorded, too",
			     r->metadata.process.parent_pid);
	if (n == 0 && t->untracked_reallocations)
		n = add_note(o, err, "%" PRIu64 " reallocation%s of blocks that were not recorded",
			     t->untracked_reallocations, plural(t->untracked_reallocations));
	if (n == 0 && !o->has_duration)
		n = add_note(
			o, err,
			"the clock was read only once: the duration is not known, times are in "
			"ticks");
	if (n == 0 && r->metadata.n_unknown_chunks)
		n = add_note(o, err,
			     "%" PRIu64 " chunk%s of a kind that this version does not know",
			     r->metadata.n_unknown_chunks, plural(r->metadata.n_unknown_chunks));
	return n;
}

static int add_damage_notes(struct overview *o, const struct recording *r, struct err *err)
{
	const struct damage *d = &r->damage;
	int n = 0;

	for (size_t i = 0; n == 0 && i < d->n_kept; i++)
		n = add_note(o, err, "offset %" PRIu64 ", %" PRIu64 " bytes: %s",
			     d->range[i].offset, d->range[i].n_bytes, d->range[i].text);
	if (n == 0 && d->n_ranges > d->n_kept)
		n = add_note(o, err, "%" PRIu64 " more damaged place%s", d->n_ranges - d->n_kept,
			     plural(d->n_ranges - d->n_kept));
	return n;
}

static int add_notes(struct overview *o, const struct recording *r, struct err *err)
{
	const struct metadata *f = &r->metadata;
	int n = add_loss_notes(o, r, err);

	if (n == 0)
		n = add_damage_notes(o, r, err);
	for (size_t i = 0; n == 0 && i < f->n_notes && i < NOTES_MAX; i++)
		n = add_note(o, err, f->note[i].level == 3 ? "%s" : "recorder: %s",
			     f->note[i].text.bytes ?: "(empty note)");
	if (n == 0 && f->n_notes > NOTES_MAX)
		n = add_note(o, err, "%zu more notes of the recorder", f->n_notes - NOTES_MAX);
	return n;
}

int overview_of_totals(const struct recording *r, const struct replay_totals *totals,
		       struct overview *ret, struct err *err)
{
	struct overview o = {.totals = *totals};
	int n = count_modules(&o, r, err);

	if (n < 0)
		return n;
	o.lost_events = o.totals.lost_events;
	o.lost_blocks = r->n_missing_blocks;
	if (r->has_status) {
		o.lost_events = max_u64(o.lost_events, r->status.field[STATUS_LOST_EVENTS]);
		o.lost_blocks = max_u64(o.lost_blocks, r->status.field[STATUS_LOST_BLOCKS]);
	}
	o.n_threads = count_threads(r);
	for (size_t i = 0; i < r->metadata.n_embedded; i++) {
		o.n_embedded += r->metadata.embedded[i].is_complete;
		if (r->metadata.embedded[i].is_beside)
			o.n_beside++;
		else
			o.embedded_bytes += r->metadata.embedded[i].covered_bytes;
	}
	if (o.totals.events)
		o.bytes_per_event = (double)r->event_bytes / (double)o.totals.events;
	set_times(&o, r);
	set_end(&o, r);
	n = add_notes(&o, r, err);
	if (n < 0) {
		overview_fini(&o);
		return n;
	}
	*ret = o;
	return 0;
}

int overview_make(struct recording *r, struct overview *ret, struct err *err)
{
	struct replay_totals totals;
	int n = replay_run(r, NULL, &totals, NULL, err);

	return n < 0 ? n : overview_of_totals(r, &totals, ret, err);
}

void overview_fini(struct overview *o)
{
	for (size_t i = 0; i < o->n_notes; i++)
		free(o->note[i]);
	free(o->note);
	*o = (struct overview){0};
}
