/* record/writer_pieces.c - the recording goes on in a new file. See writer_i.h. */
#include "record/clock.h"
#include "record/cull.h"
#include "record/log.h"
#include "record/options.h"
#include "record/sys.h"
#include "record/thread.h"
#include "record/writer_i.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

/* The current session is over: its last blocks come when their threads move on. */
static void end_piece(struct writer *w)
{
	if (w->session->cull) {
		cull_close(w->session->cull);
		cull_flush(w->session->cull, false);
	}
	describe_modules(&w->describer, w->session);
	describe_end(&w->describer, w->session, END_BY_SWITCH, -1);
	session_put_status(w->rec, w->session, FORMAT_STATE_ENDED);
}

/* Closes the files of the oldest sessions, should many be in use (rotation.h). */
static void close_old_files(struct writer *w)
{
	unsigned n = 0;

	for (struct session *s = w->session->older; s; s = s->older) {
		if (s->fd < 0 || ++n <= ROTATION_MAX_OPEN)
			continue;
		writer_drain_session(w, s);
		if (s->cull)
			cull_flush(s->cull, true);
		session_close_file(s);
	}
}

/* Culls the new session, if that is wanted, and says so in the recording. */
static void begin_culling(struct writer *w, struct session *s)
{
	char line[160];
	struct text text = text_make(line, sizeof(line));

	if (!cull_is_wanted())
		return;
	s->cull = cull_create(w->rec, s, &w->buffers, writer_write_culled, w);
	if (!s->cull)
		return;
	text_put(&text, "allocations that live less than ");
	text_put_u64(&text, options_active.TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD);
	text_put(&text, " ms are left out and only counted, per call stack");
	session_put_note(s, &w->buffers, LOG_INFO, line);
}

/* The recording goes on in this session. An old session stays readable; the writer takes its
 * remaining blocks when their threads move on or end. Whoever opens the new file alone finds
 * everything in it that its events refer to. */
static void begin_piece(struct writer *w, struct session *fresh)
{
	if (w->session)
		end_piece(w);
	session_begin_counters(w->rec, fresh);
	fresh->older = w->session;
	w->session = fresh;
	close_old_files(w);
	session_put_status(w->rec, fresh, FORMAT_STATE_RECORDING);
	describe_process(&w->describer, fresh);
	describe_maps(&w->describer, fresh); /* before any module, should we be killed */
	describe_modules(&w->describer, fresh);
	for (struct thread *t = atomic_load(&w->rec->threads); t; t = t->next)
		t->n_announced = 0;
	begin_culling(w, fresh);
	w->next_sample_ns = w->next_housekeeping_ns = 0;
	rotation_on_piece(&w->rotation, w->rec, fresh, sys_clock_ns(CLOCK_MONOTONIC));
	atomic_store(&w->rec->session, fresh);
}

void writer_switch_session(struct writer *w)
{
	uint32_t want = atomic_load(&w->rec->want_session);
	struct session *fresh;

	if (want == atomic_load(&w->rec->have_session))
		return;
	fresh = session_create(w->rec, &w->buffers);
	if (fresh)
		begin_piece(w, fresh);
	else
		rotation_on_failure(&w->rotation, sys_clock_ns(CLOCK_MONOTONIC));
	atomic_store(&w->rec->have_session, want);
	sys_futex_wake_all(&w->rec->have_session);
}

void writer_rotate(struct writer *w)
{
	struct session *before = w->session;

	if (atomic_load(&w->rec->ending) || before->is_ended ||
	    atomic_load(&record_mode) != RECORD_ON ||
	    !rotation_is_due(&w->rotation, before, sys_clock_ns(CLOCK_MONOTONIC)))
		return;
	atomic_fetch_add(&w->rec->want_session, 1);
	writer_switch_session(w);
	if (w->session != before)
		atomic_fetch_add(&record_epoch, 1);
}

/* Does anybody use this old session? A thread names the session that it takes blocks from before it
 * takes one, and then checks again that this is the current one (thread_refresh()). So when no
 * thread names an old session and all its blocks are free, nobody will touch them again. */
static bool is_in_use(struct writer *w, const struct session *s)
{
	uint32_t n_areas = atomic_load(&s->n_areas);

	for (struct thread *t = atomic_load(&w->rec->threads); t; t = t->next) {
		if (atomic_load(&t->session) == s)
			return true;
	}
	for (uint32_t i = 0; i < n_areas; i++) {
		uint64_t all = (1ull << s->area[i].n_blocks) - 1;

		uint64_t idle = atomic_load(&s->area[i].free_bits);

		if (s->fd < 0) /* full blocks stay where they are */
			idle |= atomic_load(&s->area[i].full_bits);
		if (idle != all)
			return true;
	}
	return false;
}

/* A new session may get the address of such a struct: no thread
 * names the old one any more, and a thread that read the address before it names the session sees
 * afterwards that this is the current one. */
void writer_retire_sessions(struct writer *w)
{
	struct session **link = &w->session->older;

	while (*link) {
		struct session *s = *link;

		if (is_in_use(w, s)) {
			link = &s->older;
			continue;
		}
		*link = s->older;
		stream_server_keep(w->server, s);
		if (s->cull)
			cull_destroy(s->cull);
		session_retire(s);
	}
}
