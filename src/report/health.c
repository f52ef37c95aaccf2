/* report/health.c - see health.h. */
#include "report/health.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/health_i.h"
#include "store/suppressed.h"
#include "util/human.h"

/* How notes begin: notes that the recorder wrote, and notes on pauses and a late start. */
#define RECORDER_NOTE "recorder: "
#define NOT_RECORDED_NOTE RECORDER_NOTE "not recorded: " /* as format/format.h has it */
#define PART_NOTE "recording "

const char *health_state_name(enum health_state s)
{
	static const char *const name[] = {"ok", "warn", "bad"};

	return name[s];
}

const char *health_end_words(unsigned end)
{
	/* in the order of store_end_name() */
	static const char *const words[] = {
		"complete",
		"code without unwind information",
		"unwind information that is wrong",
		"memory that could not be read",
		"a return address outside of all code",
		"unwind information that leads nowhere",
		"more frames than are recorded",
		"the part of the recording that defined it is lost",
	};

	return end < ARRAY_LEN(words) ? words[end] : "not known";
}

struct health_line *health_add(struct health *h, enum health_about about, enum health_state state,
			       const char *title, ...)
{
	struct health_line *l;
	va_list ap;

	if (h->n_lines < HEALTH_MAX_LINES)
		h->n_lines++;
	l = &h->line[h->n_lines - 1];
	*l = (struct health_line){.about = about, .state = state};
	va_start(ap, title);
	vsnprintf(l->title, sizeof(l->title), title, ap);
	va_end(ap);
	return l;
}

void health_detail(struct health_line *l, const char *fmt, ...)
{
	size_t len = strlen(l->detail);
	va_list ap;

	if (len > 0 && len + 2 < sizeof(l->detail)) {
		memcpy(l->detail + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(l->detail + len, sizeof(l->detail) - len, fmt, ap);
	va_end(ap);
}

/* The text of the recorder's last note: why it ended the recording itself. "": it wrote none. */
static const char *last_note(const struct store *s)
{
	size_t n;
	const struct store_note *note = store_table(s, STORE_NOTES, &n);

	while (n-- > 0) {
		const char *text = store_string(s, note[n].text, NULL);

		if (strncmp(text, RECORDER_NOTE, strlen(RECORDER_NOTE)) == 0)
			return text + strlen(RECORDER_NOTE);
	}
	return "";
}

#define OUT_OF_MEMORY_SHARE 0.90 /* of the limit: the rest may be files and other processes */

#define NO_END "killed or still running" /* store_facts.ended: the recording has no end */

/* What the process may use, and what it used at the end. False: that is not nearly all of it. */
static bool is_memory_used_up(const struct store *s, uint64_t *used, uint64_t *limit)
{
	const struct store_facts *f = store_facts(s);
	size_t n;
	const struct store_sample *sample = store_table(s, STORE_SAMPLES, &n);

	*limit = f->memory_limit_bytes ? f->memory_limit_bytes : f->memory_bytes;
	*used = f->live_bytes;
	if (n > 0 && sample[n - 1].rss_bytes > *used)
		*used = sample[n - 1].rss_bytes;
	return *limit > 0 && (double)*used >= OUT_OF_MEMORY_SHARE * (double)*limit;
}

bool health_is_out_of_memory(const struct store *s)
{
	uint64_t used, limit;

	return strcmp(store_string(s, store_facts(s)->ended, NULL), NO_END) == 0 &&
	       !store_identity_grows(store_identity(s)) && is_memory_used_up(s, &used, &limit);
}

static void add_out_of_memory(struct health *h, const struct store *s)
{
	struct health_line *l =
		health_add(h, HEALTH_END, HEALTH_WARN, "Killed, most likely out of memory");
	uint64_t used, limit;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	is_memory_used_up(s, &used, &limit);
	health_detail(l,
		      "%s of the %s that %s were in use when the recording broke off, as it does "
		      "when the kernel kills for want of memory; every event up to then is here, "
		      "and \"leaked\" is what was allocated at that moment",
		      human_size(used, a), human_size(limit, b),
		      store_facts(s)->memory_limit_bytes ? "its control group may use"
							 : "the machine has");
}

static void add_no_end(struct health *h, const struct store *s)
{
	struct health_line *l;

	if (store_identity_grows(store_identity(s))) {
		l = health_add(h, HEALTH_END, HEALTH_WARN, "Still running");
		health_detail(l, "the recording has no end yet: all figures are those up to its "
				 "last event, and \"leaked\" is what is allocated at that moment");
		return;
	}
	if (health_is_out_of_memory(s)) {
		add_out_of_memory(h, s);
		return;
	}
	l = health_add(h, HEALTH_END, HEALTH_WARN, "The recording has no end");
	health_detail(l,
		      "the program was killed or crashed, or it still ran when the recording was "
		      "copied; every event up to then is here, and \"leaked\" is what was "
		      "allocated at that moment");
}

static void add_end(struct health *h, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	const char *ended = store_string(s, f->ended, NULL);
	struct health_line *l;

	if (strcmp(ended, NO_END) == 0) {
		add_no_end(h, s);
	} else if (strncmp(ended, "recording ended", 15) == 0) {
		l = health_add(h, HEALTH_END, HEALTH_BAD, "The recording ended too early");
		health_detail(l, "the recorder stopped before the program ended, so \"leaked\" is "
				 "what was allocated then");
		if (*last_note(s))
			health_detail(l, "%s", last_note(s));
	} else {
		l = health_add(h, HEALTH_END, HEALTH_OK,
			       f->is_complete ? "Complete" : "Ended in order");
		if (strncmp(ended, "killed by", 9) == 0)
			health_detail(l, "the program was %s", ended);
		else if (strcmp(ended, "exit_group") == 0)
			health_detail(l, "the program ended by the system call exit_group()");
		else if (strcmp(ended, "exit") == 0)
			health_detail(l, "the program ended by exit()");
		else if (strcmp(ended, "_exit") == 0 || strcmp(ended, "quick_exit") == 0)
			health_detail(l, "the program ended by %s(), status %llu", ended,
				      (unsigned long long)f->end_status);
		else if (strcmp(ended, "exec") == 0)
			health_detail(l, "the process went on as another program (exec)");
		else if (strncmp(ended, "switched", 8) == 0)
			health_detail(l, "the recording goes on in another file");
		else
			health_detail(l, "how the program ended is not known");
	}
}

/* Adds the reason of a loss, if the recorder saw the error, and its consequence. */
static void add_reason(struct health_line *l, const struct store_facts *f)
{
	if (f->write_errno)
		health_detail(l, "the recorder could not write: %s", strerror((int)f->write_errno));
	health_detail(l, "totals are too small, and what was freed may be shown as leaked");
}

static void add_events(struct health *h, const struct store_facts *f)
{
	struct health_line *l;
	char a[HUMAN_BYTES];

	if (f->lost_events) {
		l = health_add(h, HEALTH_EVENTS, HEALTH_BAD, "%s event%s lost",
			       human_count(f->lost_events, a), f->lost_events == 1 ? "" : "s");
		add_reason(l, f);
	}
	if (f->lost_blocks) {
		l = health_add(h, HEALTH_EVENTS, HEALTH_BAD, "%s block%s of events missing",
			       human_count(f->lost_blocks, a), f->lost_blocks == 1 ? "" : "s");
		health_detail(l, "how many events they held is not known");
		add_reason(l, f);
	}
	if (f->lost_events == 0 && f->lost_blocks == 0) {
		l = health_add(h, HEALTH_EVENTS, HEALTH_OK, "No event lost");
		health_detail(l, "%s event%s read", human_count(f->n_events, a),
			      f->n_events == 1 ? "" : "s");
	}
	if (f->damaged_bytes) {
		l = health_add(h, HEALTH_DAMAGE, HEALTH_BAD,
			       "%s bytes of the file are damaged or missing",
			       human_count(f->damaged_bytes, a));
		health_detail(l, "what they held is in no figure; 'memory-profiler-cli info' lists "
				 "where they are");
	}
}

static void add_frees(struct health *h, const struct store_facts *f)
{
	struct health_line *l;
	char a[HUMAN_BYTES];

	if (f->unknown_frees) {
		l = health_add(h, HEALTH_FREES, HEALTH_WARN, "%s free%s of unknown blocks",
			       human_count(f->unknown_frees, a), f->unknown_frees == 1 ? "" : "s");
		health_detail(l, "the allocation of these blocks is not in the recording");
	}
	if (f->duplicate_allocations) {
		l = health_add(h, HEALTH_FREES, HEALTH_WARN, "%s free%s missing",
			       human_count(f->duplicate_allocations, a),
			       f->duplicate_allocations == 1 ? "" : "s");
		health_detail(l, "an address was given out again while its block was still "
				 "allocated; the older block counts as freed then");
	}
	if (f->crossed) {
		l = health_add(h, HEALTH_FREES, HEALTH_BAD, "%s block%s freed by another allocator",
			       human_count(f->crossed, a), f->crossed == 1 ? "" : "s");
		health_detail(l, "an allocator got a block back that it had not given: an error of "
				 "the program; the filter crossed=yes shows the blocks");
	}
	if (f->untracked_frees) {
		l = health_add(h, HEALTH_FREES, HEALTH_WARN, "%s free%s of earlier blocks",
			       human_count(f->untracked_frees, a),
			       f->untracked_frees == 1 ? "" : "s");
		health_detail(l, "the blocks were allocated before the recording began, or while "
				 "it was paused: they are in no other figure");
	}
}

/* Allocations that have no rows, because the recorder left short-lived ones out. */
static void add_culled(struct health *h, const struct store_facts *f)
{
	struct health_line *l;
	char a[HUMAN_BYTES];

	if (f->n_culled == 0)
		return;
	l = health_add(h, HEALTH_CULLED, HEALTH_OK, "%s short-lived allocations left out (culled)",
		       human_rough(f->n_culled, a));
	health_detail(l, "%s in all; they count in totals, call sites, threads and rates",
		      human_size(f->culled_bytes, a));
	health_detail(l,
		      "they are not in what is alive, sizes, lifetimes and single allocations, and "
		      "match no filter about these or a time");
}

/* What does not count as leaked, if the reader gave suppressions. */
static void add_suppressed(struct health *h, const struct store *s)
{
	uint64_t n_bytes = 0, n_stacks = 0;
	struct health_line *l;
	char a[HUMAN_BYTES];
	size_t n;
	const struct store_suppression *by = store_suppressions(s, &n);

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		n_bytes += by[i].leaked_bytes;
		n_stacks += by[i].n_stacks;
	}
	if (n_stacks == 0) {
		l = health_add(h, HEALTH_SUPPRESSED, HEALTH_OK, "No leak suppressed");
		health_detail(l, "none of %zu suppressions names a leak", n);
		return;
	}
	l = health_add(h, HEALTH_SUPPRESSED, HEALTH_WARN, "%s of leaks suppressed",
		       human_size(n_bytes, a));
	health_detail(l, "they count as not leaked");
	for (size_t i = 0; i < n; i++) {
		if (by[i].n_stacks)
			health_detail(l, "leak:%s %s in %llu call site%s", by[i].pattern,
				      human_size(by[i].leaked_bytes, a),
				      (unsigned long long)by[i].n_stacks,
				      by[i].n_stacks == 1 ? "" : "s");
	}
}

/* The CPU time of the program is that of the last sample. */
static void add_recorder(struct health *h, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	size_t n;
	const struct store_sample *sample = store_table(s, STORE_SAMPLES, &n);
	uint64_t cpu_ns = n ? sample[n - 1].cpu_ns : 0;
	struct health_line *l;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (f->writer_cpu_ns == 0)
		return;
	l = health_add(h, HEALTH_RECORDER, HEALTH_OK, "Recorder's writer: %s of CPU time",
		       human_duration(f->writer_cpu_ns, a));
	if (cpu_ns > f->writer_cpu_ns)
		health_detail(l, "%s of what the program used, %s",
			      human_share(f->writer_cpu_ns, cpu_ns, a), human_duration(cpu_ns, b));
	if (f->recorder_bytes)
		health_detail(l, "%s reserved, counted in RSS only",
			      human_size(f->recorder_bytes, a));
	health_detail(l, "time of the hooks in the program's threads is not measured");
}

const char *health_not_recorded(const struct store *s)
{
	size_t n;
	const struct store_note *note = store_table(s, STORE_NOTES, &n);

	for (size_t i = 0; i < n; i++) {
		const char *text = store_string(s, note[i].text, NULL);

		if (strncmp(text, NOT_RECORDED_NOTE, strlen(NOT_RECORDED_NOTE)) == 0)
			return text + strlen(NOT_RECORDED_NOTE);
	}
	return NULL;
}

bool health_is_warning(const char *note)
{
	return strncmp(note, RECORDER_NOTE, strlen(RECORDER_NOTE)) == 0 ||
	       strncmp(note, PART_NOTE, strlen(PART_NOTE)) == 0;
}

static void add_notes(struct health *h, const struct store *s)
{
	size_t n, n_added = 0;
	const struct store_note *note = store_table(s, STORE_NOTES, &n);

	for (size_t i = 0; i < n && n_added < HEALTH_MAX_NOTES; i++) {
		const char *text = store_string(s, note[i].text, NULL);

		struct health_line *l;

		if (strncmp(text, RECORDER_NOTE, strlen(RECORDER_NOTE)) == 0) {
			l = health_add(h, HEALTH_NOTE, HEALTH_WARN, "The recorder noted");
			text += strlen(RECORDER_NOTE);
		} else if (strncmp(text, PART_NOTE, strlen(PART_NOTE)) == 0) {
			l = health_add(h, HEALTH_NOTE, HEALTH_WARN, "Not the whole run");
		} else {
			continue; /* the lines above say the same */
		}
		health_detail(l, "%s", text);
		n_added++;
	}
}

int health_make(const struct store *store, struct frames *frames, const atomic_bool *cancel,
		struct health *ret, struct err *err)
{
	struct health h = {0};
	int r;

	add_end(&h, store);
	add_events(&h, store_facts(store));
	add_culled(&h, store_facts(store));
	add_frees(&h, store_facts(store));
	r = health_add_stacks(&h, store, err);
	if (r == 0 && cancel && atomic_load(cancel))
		r = err_set(err, ERR_CANCELLED, "stopped");
	if (r == 0)
		r = health_add_names(&h, store, frames, err);
	if (r == 0) {
		add_suppressed(&h, store);
		add_recorder(&h, store);
		add_notes(&h, store);
		r = health_add_facts(&h, store, err);
	}
	if (r < 0) {
		health_fini(&h);
		return r;
	}
	*ret = h;
	return 0;
}

void health_fini(struct health *h)
{
	for (size_t i = 0; i < h->n_facts; i++)
		free(h->fact[i].value);
	*h = (struct health){0};
}
