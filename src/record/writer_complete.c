/* record/writer_complete.c - the target is gone: completes the file. See writer_i.h. */
#include "record/clock.h"
#include "record/cull.h"
#include "record/options.h"
#include "record/sys.h"
#include "record/thread.h"
#include "record/writer_i.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define DEATH_EMBED_NS                                                                             \
	(2 * NS_PER_S) /* of a dead program, whose memory stays taken until the writer ends */

/* Writes what is left when no thread of the target can write any more: full blocks, and those that
 * threads were filling. */
static void drain_what_is_left(struct writer *w)
{
	for (struct session *s = w->session; s; s = s->older) {
		uint32_t n_areas = s->fd < 0 ? 0 : atomic_load(&s->n_areas);

		if (s->fd >= 0 && s->cull) {
			cull_flush(s->cull, true);
			continue;
		}
		for (uint32_t i = 0; i < n_areas; i++) {
			struct area *area = &s->area[i];

			for (uint32_t slot = 0; slot < area->n_blocks; slot++) {
				uint32_t state = atomic_load(&area->blocks[slot].state);

				if (state == BLOCK_OPEN || state == BLOCK_FULL)
					writer_write_block(w, s, area, slot);
			}
		}
	}
}

/* All threads are gone, in the middle of a hook perhaps: their lanes are not touched. */
static void describe_last_threads(struct writer *w)
{
	for (struct thread *t = atomic_load(&w->rec->threads); t; t = t->next) {
		uint32_t tid = atomic_load(&t->owner_tid);

		if (tid && tid != THREAD_SLOT_CLAIMED && t->session == w->session)
			describe_thread(&w->describer, w->session, t, tid, clock_ticks());
	}
}

void writer_close_sessions(struct writer *w)
{
	for (struct session *s = w->session; s; s = s->older) {
		if (s->fd >= 0)
			session_finish(s, &w->buffers);
	}
}

/* The end of a program that did not announce it: _exit() did, in an event. */
static void describe_death(struct writer *w)
{
	int status = writer_process_target_status(&w->process);

	if (status < 0)
		describe_end(&w->describer, w->session, END_BY_DEATH, -1);
	else if (status & 0x7f)
		describe_end(&w->describer, w->session, END_BY_SIGNAL, status & 0x7f);
	else
		describe_end(&w->describer, w->session, END_BY_EXIT_GROUP, status >> 8 & 0xff);
}

/* Clients of the server receive the rest, as long as MEMORY_PROFILER_SERVER_EXIT_WAIT allows. */
static void serve_to_the_end(struct writer *w)
{
	const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC);

	while (w->server && stream_server_is_behind(w->server) &&
	       sys_clock_ns(CLOCK_MONOTONIC) - began_ns <
		       options_active.SERVER_EXIT_WAIT * NS_PER_MS) {
		stream_server_step(w->server, w->session);
		arch_syscall2(SYS_nanosleep, &pause, NULL);
	}
}

void writer_complete(struct writer *w)
{
	struct session *s = w->session;
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC), before = s->end_offset;
	bool had_ended = s->is_ended;

	clock_heartbeat_stop();
	w->is_completing = true;
	if (!s->is_ended) {
		managed_runtime_end(&w->managed_runtime, &w->describer, s);
		resident_maps_put(&w->resident_maps, &w->describer, s,
				  describe_sample(&w->describer, s), RESIDENT_MAPS_GONE_NS);
	}
	drain_what_is_left(w);
	describe_modules(&w->describer, s);
	if (!had_ended) {
		jit_images_step(&w->jit_images, &w->describer, s, true);
		embed_jit_files(&w->describer, s);
	}
	if (!had_ended || !w->server)
		describe_last_threads(w);
	writer_report_losses(w);
	while (sys_clock_ns(CLOCK_MONOTONIC) - began_ns < DEATH_EMBED_NS &&
	       (other_allocator_step(&w->other_allocator, &w->describer, s) ||
		embed_step(&w->embed, &w->describer, s)))
		;
	if (!s->is_ended) {
		describe_death(w);
		s->is_ended = true; /* clients of the server get the rest, and the end */
	}
	/* A client of the server may have all of it already. */
	if (!had_ended || !w->server || s->end_offset != before)
		writer_put_last_status(w);
	serve_to_the_end(w);
	writer_close_sessions(w);
	writer_log_flush(&w->log, w->rec);
}
