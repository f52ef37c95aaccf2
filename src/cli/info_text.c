/* cli/info_text.c - see info_text.h. */
#include "cli/info_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/event.h"
#include "format/shared_name.h"
#include "recording/shared_binary.h"
#include "util/human.h"

static void print_label(const char *label)
{
	printf("  %-16s ", label);
}

static void print_text(const char *label, const struct metadata_text *text)
{
	print_label(label);
	if (text->bytes)
		human_print_text(stdout, text->bytes, text->len);
	else
		fputs("not known", stdout);
	putchar('\n');
}

/* Prints the parts of a list; a part with blanks is quoted. */
static void print_list(const char *label, const struct metadata_text *text)
{
	print_label(label);
	for (size_t at = 0; at < text->len;) {
		const char *part = text->bytes + at;
		size_t len = strnlen(part, text->len - at);
		bool is_quoted = len == 0 || memchr(part, ' ', len);

		printf("%s%s", at ? " " : "", is_quoted ? "'" : "");
		human_print_text(stdout, part, len);
		printf("%s", is_quoted ? "'" : "");
		at += len + 1;
	}
	puts(text->len ? "" : "not known");
}

/* Prints a warning, red on a terminal. */
static void print_loud(const char *text)
{
	bool is_bold = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

	printf("%s%s%s", is_bold ? "\033[1;31m" : "", text, is_bold ? "\033[0m" : "");
}

static void print_size(uint64_t n_bytes)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	printf("%s", human_size(n_bytes, a));
	if (n_bytes >= 1024)
		printf(" (%s bytes)", human_count(n_bytes, b));
}

static bool has_given_up(const struct recording *r)
{
	return r->has_status && r->status.field[STATUS_STATE] == FORMAT_STATE_GAVE_UP;
}

/* What must not be overlooked comes first: the figures are those of a part of the run. */
static void print_early_end(const struct recording *r)
{
	const struct metadata *m = &r->metadata;

	if (!has_given_up(r))
		return;
	print_loud("  The recording ended before the program did");
	if (m->n_notes && m->note[m->n_notes - 1].text.len) {
		fputs(": ", stdout);
		human_print_text(stdout, m->note[m->n_notes - 1].text.bytes,
				 m->note[m->n_notes - 1].text.len);
	}
	putchar('\n');
}

static void print_process(const struct recording *r, const struct overview *o)
{
	const struct metadata_process *p = &r->metadata.process;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	print_text("Executable", &p->executable);
	print_list("Command", &p->cmdline);
	print_label("Process");
	printf("%" PRIu32 ", %s, %" PRIu64 " thread%s\n", r->header.pid, overview_arch(r),
	       o->n_threads, o->n_threads == 1 ? "" : "s");
	print_label("Started");
	printf("%s\n", human_time(r->header.start_realtime_ns, a));
	print_label("Lasted");
	if (o->has_duration)
		printf("%s (%s ns)\n", human_duration(o->duration_ns, a),
		       human_count(o->duration_ns, b));
	else
		puts("not known");
	print_label("Ended");
	fputs(o->ended, stdout);
	/* After exit() the status is not known: the recorder only sees the destructors run. */
	if (o->totals.end_how == END_BY__EXIT || o->totals.end_how == END_BY_QUICK_EXIT)
		printf(", status %" PRIu64, o->totals.end_status);
	putchar('\n');
}

static void print_loss(uint64_t n, const char *thing, const char *what, const char **separator)
{
	char text[128], a[HUMAN_BYTES];

	if (n == 0)
		return;
	snprintf(text, sizeof(text), "%s%s %s%s%s", *separator, human_count(n, a), thing,
		 n == 1 ? "" : "s", what);
	print_loud(text);
	*separator = ", ";
}

static void print_completeness(const struct recording *r, const struct overview *o)
{
	const char *separator = "NO: ";
	char text[160];

	print_label("Complete");
	if (o->is_complete && r->has_status && r->status.field[STATUS_FIRST_ERROR]) {
		snprintf(text, sizeof(text),
			 "all events, but not all binaries: the recorder could not write (%s)",
			 strerror((int)r->status.field[STATUS_FIRST_ERROR]));
		print_loud(text);
		putchar('\n');
		return;
	}
	if (o->is_complete) {
		puts("yes");
		return;
	}
	print_loss(o->lost_events, "event", " lost", &separator);
	print_loss(o->lost_blocks, "block", " of events lost", &separator);
	print_loss(r->damage.n_bytes, "byte", " damaged or missing", &separator);
	if (strcmp(separator, ", ") != 0)
		print_loud(has_given_up(r) ? "no: what the program did afterwards is not recorded"
					   : "no: the program was killed or is still running; "
					     "nothing known to be lost");
	putchar('\n');
}

static void print_count(const char *label, uint64_t n)
{
	char a[HUMAN_BYTES];

	print_label(label);
	printf("%s\n", human_count(n, a));
}

static void print_odd_count(const char *label, uint64_t n, const char *meaning)
{
	char text[160], a[HUMAN_BYTES];

	if (n == 0)
		return;
	print_label(label);
	snprintf(text, sizeof(text), "%s %s\n", human_count(n, a), meaning);
	print_loud(text);
}

static void print_allocations(const struct overview *o)
{
	const struct replay_totals *t = &o->totals;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	print_label("Allocations");
	printf("%s, %s of them by realloc\n", human_count(t->allocations + t->reallocations, a),
	       human_count(t->reallocations, b));
	print_count("Frees", t->frees);
	print_label("Allocated");
	print_size(t->bytes_allocated);
	printf(" in all\n");
	print_label("Live at the end");
	print_size(t->live_bytes);
	printf(" in %s block%s\n", human_count(t->live_count, a), t->live_count == 1 ? "" : "s");
	print_label("Peak");
	print_size(t->peak_bytes);
	if (o->has_duration)
		printf(" after %s", human_duration(o->peak_at_ns, a));
	putchar('\n');
	print_odd_count("Unknown frees", t->unknown_frees, "of blocks that were never seen");
	print_odd_count("Duplicates", t->duplicate_allocations, "allocations of a live address");
	print_odd_count("Crossed blocks", t->crossed,
			"went back to another allocator than the one that gave them");
	if (t->untracked_frees) {
		print_label("Untracked frees");
		printf("%s of blocks from before or beside the recording\n",
		       human_count(t->untracked_frees, a));
	}
}

static void print_stacks(const struct overview *o)
{
	const struct replay_totals *t = &o->totals;
	char a[HUMAN_BYTES];
	const char *separator = "";

	print_label("Stacks");
	printf("%s different, the deepest of %" PRIu32 " frames\n", human_count(t->stacks, a),
	       t->deepest_stack);
	for (unsigned i = STACK_END_NO_INFO; i < STACK_N_ENDS; i++) {
		if (t->truncated[i] == 0)
			continue;
		if (!*separator)
			print_label("Cut off");
		printf("%s%s event%s: %s", separator, human_count(t->truncated[i], a),
		       t->truncated[i] == 1 ? "" : "s", stacks_end_name(i));
		separator = ", ";
	}
	if (*separator)
		putchar('\n');
	if (t->guessed) {
		print_label("Guessed");
		printf("%s events with outer frames found by the frame pointer alone\n",
		       human_count(t->guessed, a));
	}
}

static void print_dropped(const struct metadata_dropped *d)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];

	if (d->n_runs == 0)
		return;
	print_label("Stripped");
	printf("%s allocations of %s in all were left out: ", human_count(d->n_allocations, a),
	       human_size(d->n_bytes, b));
	if (d->has_threshold)
		printf("those that lived shorter than %s\n", human_duration(d->threshold_ns, c));
	else
		puts("all that were freed");
}

static void print_allocators(const struct metadata *f)
{
	char a[HUMAN_BYTES];

	for (size_t i = 0; i < f->n_allocators; i++) {
		const struct metadata_allocator *from = &f->allocator[i];

		print_label(i ? "" : "Allocators");
		human_print_text(stdout, from->name.bytes ? from->name.bytes : "", from->name.len);
		if (from->prefix.len) {
			fputs(" (", stdout);
			human_print_text(stdout, from->prefix.bytes, from->prefix.len);
			fputs("*)", stdout);
		}
		fputs(" in ", stdout);
		if (from->module.len)
			human_print_text(stdout, from->module.bytes, from->module.len);
		else
			fputs("the program", stdout);
		printf(", %s functions hooked\n", human_count(from->n_functions, a));
	}
}

static void print_allocator_name(const struct metadata *f, uint64_t number)
{
	for (size_t i = 0; i < f->n_allocators; i++) {
		const struct metadata_allocator *a = &f->allocator[i];

		if (a->number == number && a->name.bytes) {
			human_print_text(stdout, a->name.bytes, a->name.len);
			return;
		}
	}
	fputs("libc", stdout);
}

/* Prints what each allocator said last of itself. */
static void print_allocator_stats(const struct metadata *f)
{
	const struct metadata_allocator_sample *last[EVENT_N_ALLOCATORS] = {NULL};
	bool is_first = true;
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	for (size_t i = 0; i < f->n_allocator_samples; i++) {
		if (f->allocator_sample[i].number < EVENT_N_ALLOCATORS)
			last[f->allocator_sample[i].number] = &f->allocator_sample[i];
	}
	for (unsigned i = 0; i < EVENT_N_ALLOCATORS; i++) {
		if (!last[i] || last[i]->mapped_bytes == UINT64_MAX)
			continue;
		print_label(is_first ? "Allocators hold" : "");
		is_first = false;
		printf("%s from the system", human_size(last[i]->mapped_bytes, a));
		if (last[i]->allocated_bytes != UINT64_MAX)
			printf(", %s of it in blocks", human_size(last[i]->allocated_bytes, b));
		fputs(" (", stdout);
		print_allocator_name(f, i);
		fputs(", last sample)\n", stdout);
	}
}

static uint64_t count_beside(const struct metadata *m, bool is_found)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_embedded; i++)
		n += m->embedded[i].is_beside && m->embedded[i].is_complete == is_found;
	return n;
}

/* The files that must be copied together with the recording, and those of them that are missing. */
static void print_beside(const struct metadata *m)
{
	const struct metadata_text *exe = &m->process.executable;

	if (count_beside(m, true) + count_beside(m, false) == 0)
		return;
	print_label("Binaries");
	printf("%" PRIu64 " beside the recording, in " SHARED_NAME_FOLDER "\n",
	       count_beside(m, true));
	for (size_t i = 0; i < m->n_embedded; i++) {
		const struct metadata_file *f = &m->embedded[i];
		char *name = f->is_beside ? shared_binary_name(f) : NULL;
		const struct metadata_text *path = &f->path;

		if (!name)
			continue;
		if (path->bytes && exe->bytes && strcmp(path->bytes, "/proc/self/exe") == 0)
			path = exe;
		print_label(f->is_complete ? "" : "  MISSING");
		human_print_text(stdout, path->bytes ? path->bytes : "", path->len);
		printf(": %s\n", name + sizeof(SHARED_NAME_FOLDER));
		free(name);
	}
}

static void print_recording(const struct recording *r, const struct overview *o)
{
	uint64_t n_inside;
	char a[HUMAN_BYTES];

	print_label("Recording");
	print_size(r->file_bytes);
	printf(", %s events", human_count(o->totals.events, a));
	if (o->totals.events)
		printf(" of %.2f bytes", o->bytes_per_event);
	putchar('\n');
	print_label("Modules");
	n_inside = o->n_embedded - count_beside(&r->metadata, true);
	printf("%" PRIu64 ", %" PRIu64 " file%s embedded\n", o->n_modules, n_inside,
	       n_inside == 1 ? "" : "s");
	print_beside(&r->metadata);
	print_allocators(&r->metadata);
	print_allocator_stats(&r->metadata);
	print_dropped(&r->metadata.dropped);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_times(uint64_t n_estimated, const struct overview *o)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	print_label("  Times");
	if (n_estimated)
		printf("%s estimated, wrong by at most %s\n", human_count(n_estimated, a),
		       human_duration(o->longest_heartbeat_ns, b));
	else
		puts("the clock was read for each event");
}

/* Prints what recording itself took. */
static void print_recorder(const struct recording *r, const struct overview *o)
{
	const uint64_t *f = r->status.field;
	uint64_t n_known = f[STATUS_N_KNOWN_STACKS];
	uint64_t n_changed =
		f[STATUS_N_PATH_WALKS] > n_known ? f[STATUS_N_PATH_WALKS] - n_known : 0;
	uint64_t n_stacks = f[STATUS_N_PATH_WALKS] + f[STATUS_N_WALKS];
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (!r->has_status)
		return;
	puts("\n  Recorder");
	print_label("  Writer");
	printf("%s of processor time\n", human_duration(f[STATUS_WRITER_CPU_NS], a));
	print_label("  Memory");
	print_size(f[STATUS_RECORDER_BYTES]);
	puts(" reserved; only what is used takes memory");
	print_label("  Blocks");
	printf("%s written, waited for %s times\n", human_count(f[STATUS_N_BLOCKS], a),
	       human_count(f[STATUS_N_WAITS], b));
	print_label("  Stacks taken");
	printf("%s: %.1f %% known, %.1f %% changed", human_count(n_stacks, a),
	       percent(n_known, n_stacks), percent(n_changed, n_stacks));
	printf(" (%s frames), %.1f %% in full\n", human_count(f[STATUS_N_FRESH_FRAMES], a),
	       percent(f[STATUS_N_WALKS], n_stacks));
	print_label("  Rules read");
	printf("%s from unwind tables, %s stacks needed all registers\n",
	       human_count(f[STATUS_N_RULE_MISSES], a), human_count(f[STATUS_N_SLOW_WALKS], b));
	print_times(f[STATUS_N_ESTIMATED_TIMES], o);
	if (f[STATUS_N_AUDITED]) {
		print_label("  Audited");
		printf("%s stacks, %s differ\n", human_count(f[STATUS_N_AUDITED], a),
		       human_count(f[STATUS_N_DIFFERING], b));
	}
}

void info_text_print(const char *path, const struct recording *r, const struct overview *o)
{
	human_print_text(stdout, path, strlen(path));
	putchar('\n');
	print_early_end(r);
	print_process(r, o);
	print_completeness(r, o);
	putchar('\n');
	print_allocations(o);
	print_stacks(o);
	putchar('\n');
	print_recording(r, o);
	for (size_t i = 0; i < o->n_notes; i++) {
		print_label(i ? "" : "Notes");
		human_print_text(stdout, o->note[i], strlen(o->note[i]));
		putchar('\n');
	}
	print_recorder(r, o);
	fputs("\nNext: 'memory-profiler-cli report FILE' tells where the memory went, "
	      "'memory-profiler-cli dump FILE' the events.\n",
	      stdout);
}
