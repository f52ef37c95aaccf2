/* record/writer_notes.c - what the recording says about itself while it goes on. See writer_i.h. */
#include "record/log.h"
#include "record/options.h"
#include "record/unrecorded.h"
#include "record/writer_i.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

/* The program has put itself into a sandbox in which the recorder goes on. */
static void note_sandbox(struct writer *w)
{
	char line[256];
	struct text text = text_make(line, sizeof(line));

	if (w->has_noted_sandbox || !atomic_load(&w->rec->is_confined))
		return;
	w->has_noted_sandbox = true;
	text_put(&text,
		 "the program forbade itself system calls (seccomp): from then on code that is "
		 "made at run time may cut stacks");
	if (options_active.TRACK_CHILD_PROCESSES)
		text_put(&text, ", and forked children are not recorded");
	session_put_note(w->session, &w->buffers, LOG_WARN, line);
}

/* Forked children could not begin a recording. */
static void note_unrecorded_children(struct writer *w)
{
	bool is_last = w->is_completing || atomic_load(&w->rec->ending);
	char line[256];
	struct text text = text_make(line, sizeof(line));
	uint32_t n = unrecorded_report(w->n_children_reported, is_last, &text);

	if (n != w->n_children_reported)
		session_put_note(w->session, &w->buffers, LOG_WARN, line);
	w->n_children_reported = n;
}

/* Appends NOTE chunks about events that were lost since the last one (the disk may have room again),
 * about a sandbox, and about children that are not recorded. */
void writer_report_losses(struct writer *w)
{
	struct session *s = w->session;
	char line[256];
	struct text text = text_make(line, sizeof(line));

	note_sandbox(w);
	note_unrecorded_children(w);
	if (s->lost_in_blocks == s->lost_reported)
		return;
	text_put_u64(&text, s->lost_in_blocks - s->lost_reported);
	text_put(&text, " events could not be written: ");
	text_put(&text, log_errno_name((long)s->status.field[STATUS_FIRST_ERROR]));
	s->lost_reported = s->lost_in_blocks;
	session_put_note(s, &w->buffers, LOG_ERROR, line);
}
