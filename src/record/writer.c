/* record/writer.c - see writer.h. */
#include "record/writer.h"

#include <string.h>
#include <sys/file.h>

#include "format/compress.h"
#include "record/allocator_stats.h"
#include "record/clock.h"
#include "record/credentials.h"
#include "record/cull.h"
#include "record/lane.h"
#include "record/log.h"
#include "record/options.h"
#include "record/own_memory.h"
#include "record/pool.h"
#include "record/sys.h"
#include "record/thread.h"
#include "record/writer_i.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define SAMPLE_NS (100 * NS_PER_MS)
#define HOUSEKEEPING_NS NS_PER_S
#define START_PATIENCE_NS (5 * NS_PER_S)
#define MAX_STARTS 100 /* of a writer that somebody kills again and again */
#define EXIT_EMBED_NS (30 * NS_PER_MS) /* an exiting program waits this long for its binaries */
#define EXEC_LOOK_NS NS_PER_MS /* how often to see whether an exec has succeeded ... */
#define EXEC_SOON_NS (100 * NS_PER_MS) /* ... for so long, then at every sample */

/* The number of calls in a block that could not be written. */
static uint64_t count_events(const struct block *block)
{
	struct event_decoder d;
	struct block_header h;
	struct event ev;
	uint64_t n = 0;

	if (!block_decode((const uint8_t *)block, &h))
		return 0;
	event_decoder_init(&d, &h, block->data, h.used_bytes);
	while (event_decode(&d, &ev) > 0)
		n += event_is_call(ev.kind);
	return n;
}

/* Appends a full block as a chunk, or counts its loss, and gives the block back. */
void writer_write_block(struct writer *w, struct session *s, struct area *area, uint32_t slot)
{
	struct block *block = &area->blocks[slot];
	uint8_t head[BLOCK_HEADER_BYTES];
	struct session_chunk c = {
		.type = CHUNK_EVENTS,
		.head = head,
		.head_bytes = sizeof(head),
		.data = block->data,
		.data_bytes = atomic_load(&block->used_bytes),
		.effort = writer_effort_choose(&w->effort, block->thread, w->n_full,
					       atomic_load(&w->rec->n_waiting) > 0),
	};
	long ret = 0;

	memcpy(head, block, sizeof(head));
	store_le32(head + 4, 0); /* state means nothing in a chunk */
	if (c.data_bytes) {
		clock_heartbeat_start(); /* while it compresses; session_append() stops it */
		ret = session_append(s, &w->buffers, &c);
	}
	if (ret < 0 && w->is_completing && !s->cull) {
		session_keep_areas(s, ret);
		return;
	}
	if (ret < 0) {
		session_count_lost(s, count_events(block), 1, ret);
		atomic_fetch_add(&s->redefine, 1);
		atomic_fetch_add(&record_epoch, 1);
	} else {
		s->status.field[STATUS_N_BLOCKS]++;
		writer_effort_learn(&w->effort, c.effort, c.data_bytes, c.stored_bytes);
	}
	pool_give_back(w->rec, area, slot);
}

void writer_write_culled(void *user, struct session *s, struct area *area, uint32_t slot)
{
	writer_write_block(user, s, area, slot);
}

/* Culls what threads have published. 0: there was nothing. */
static unsigned drain_culled(struct writer *w, struct session *s)
{
	bool is_lively, has_taken;

	if (s == w->session) {
		has_taken = cull_step(s->cull, &is_lively);
		if (is_lively)
			writer_effort_note_full(&w->effort);
		return has_taken;
	}
	cull_flush(s->cull, false);
	return 0;
}

/* Writes the full blocks of one session. Returns how many there were. */
unsigned writer_drain_session(struct writer *w, struct session *s)
{
	uint32_t n_areas = atomic_load(&s->n_areas);
	unsigned n = 0;

	if (s->fd < 0)
		return 0;
	if (s->cull)
		return drain_culled(w, s);
	w->n_full = pool_count_full(s);
	for (uint32_t i = 0; i < n_areas; i++) {
		uint64_t bits = pool_take_full(&s->area[i]);

		for (; bits; bits &= bits - 1, n++) {
			writer_write_block(w, s, &s->area[i], (uint32_t)__builtin_ctzll(bits));
			w->n_full -= w->n_full > 0;
		}
	}
	return n;
}

/* The same of all sessions. */
static unsigned drain(struct writer *w)
{
	unsigned n = 0;

	for (struct session *s = w->session; s; s = s->older)
		n += writer_drain_session(w, s);
	return n;
}

static bool thread_is_gone(struct writer *w, uint32_t tid)
{
	return arch_syscall3(SYS_tgkill, w->rec->pid, tid, 0) == SYS_ESRCH;
}

/* Ends the slot of a thread that is gone: hands over its blocks and frees the slot. A new thread
 * with the same tid may be taking the slot over at this moment; thread_claim_slot() lets one of the
 * two win. */
static void reap(struct writer *w, struct thread *t, uint32_t tid)
{
	if (!thread_claim_slot(t, tid))
		return;
	(void)atomic_load_explicit(&t->depth, memory_order_acquire); /* its last hook is over */
	for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
		if (!t->lane[i])
			continue;
		lane_finish_block(t->lane[i]);
		atomic_fetch_add(&w->rec->lost_events, t->lane[i]->lost_events);
		COUNT_RESET(t->lane[i]->lost_events);
		stack_id_cache_reset(&t->lane[i]->stack_ids); /* its memory is for others now */
	}
	if (t->session)
		describe_thread(&w->describer, w->session, t, tid, clock_ticks());
	t->session = NULL;
	thread_forget_epoch(t);
	atomic_store(&t->owner_tid, 0);
}

/* Ends the slots of threads that are gone, and describes new threads. */
static void look_at_threads(struct writer *w)
{
	for (struct thread *t = atomic_load(&w->rec->threads); t; t = t->next) {
		uint32_t tid = atomic_load(&t->owner_tid);

		if (!tid || tid == THREAD_SLOT_CLAIMED || !t->session)
			continue;
		if (thread_is_gone(w, tid)) {
			reap(w, t, tid);
			continue;
		}
		if (t->announced_number != t->number) {
			t->announced_number = t->number;
			t->n_announced = 0;
		}
		if (t->n_announced < 3) { /* names are often set a little after the start */
			t->n_announced++;
			describe_thread(&w->describer, w->session, t, tid, 0);
		}
	}
}

/* Helps threads that wait for a free block: adds an area if no block can become free soon, as long
 * as the number of blocks stays bounded. No more than needed: where threads outrun the writer they
 * fill any number of blocks, and then wait all the same (measured with 8 threads on 2 CPUs: 128
 * blocks instead of 16 make a tenth of the waits and do not save time). */
static void help_waiting(struct writer *w)
{
	struct session *s = w->session;
	struct area *area;
	uint32_t slot;

	if (!atomic_load(&w->rec->n_waiting) || !s)
		return;
	if (pool_try_take(s, &area, &slot)) {
		pool_give_free(w->rec, area, slot); /* there is one; wake them */
		return;
	}
	look_at_threads(w); /* threads that are gone may hold blocks */
	if (drain(w) == 0 &&
	    (atomic_load(&s->n_areas) + 1) * RECORD_AREA_BLOCKS <= thread_max_blocks(w->rec))
		session_add_area(s, &w->buffers, RECORD_AREA_BLOCKS);
	atomic_fetch_add(&w->rec->free_word, 1);
	sys_futex_wake_all(&w->rec->free_word);
}

/* What is due by time: samples, threads, losses, credentials; and new modules. */
static void keep_house(struct writer *w)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC), rss_bytes;

	if (now_ns >= w->next_sample_ns && writer_process_target_is_stopped(&w->process))
		w->next_sample_ns = w->next_housekeeping_ns = now_ns + SAMPLE_NS;
	if (now_ns >= w->next_sample_ns) {
		w->next_sample_ns = now_ns + SAMPLE_NS;
		rss_bytes = describe_sample(&w->describer, w->session);
		if (resident_maps_is_due(&w->resident_maps, rss_bytes, now_ns))
			resident_maps_put(&w->resident_maps, &w->describer, w->session, rss_bytes,
					  RESIDENT_MAPS_RUNNING_NS);
		describe_allocator_stats(&w->describer, w->session, now_ns);
		if (options_active.ALLOCATOR_STATISTICS && !w->rec->parent_pid &&
		    allocator_stats_want(now_ns))
			atomic_fetch_add(&record_epoch, 1); /* leads hooks to the slow path */
		session_put_status(w->rec, w->session, FORMAT_STATE_RECORDING);
	}
	if (now_ns >= w->next_housekeeping_ns) {
		w->next_housekeeping_ns = now_ns + HOUSEKEEPING_NS;
		look_at_threads(w);
		writer_report_losses(w);
		credentials_follow(w->rec->pid);
		writer_effort_count_cpus(&w->effort);
	}
	if (describe_modules(&w->describer, w->session))
		describe_maps(&w->describer, w->session);
}

/* The status of a recording that has ended. */
void writer_put_last_status(struct writer *w)
{
	bool is_given_up = atomic_load(&w->rec->why_given_up) != NULL;

	session_put_status(w->rec, w->session,
			   is_given_up ? FORMAT_STATE_GAVE_UP : FORMAT_STATE_ENDED);
}

/* Ends the recording if the program is ending, which waits for it: everything is drained, small
 * binaries are embedded, the end is written. True: requests to sync may be answered. False: more
 * binaries are to be embedded first. */
static bool finish(struct writer *w, bool embedding)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

	if (!atomic_load(&w->rec->ending) || w->session->is_ended)
		return true;
	if (!w->exit_began_ns)
		w->exit_began_ns = now_ns;
	if (embedding && now_ns - w->exit_began_ns < EXIT_EMBED_NS)
		return false;
	look_at_threads(w);
	drain(w);
	if (w->session->cull)
		cull_flush(w->session->cull, false);
	describe_modules(&w->describer, w->session); /* what these blocks refer to */
	writer_report_losses(w);
	managed_runtime_end(&w->managed_runtime, &w->describer, w->session);
	resident_maps_put(&w->resident_maps, &w->describer, w->session,
			  describe_sample(&w->describer, w->session), RESIDENT_MAPS_ENDING_NS);
	jit_images_step(&w->jit_images, &w->describer, w->session, true);
	embed_jit_files(&w->describer, w->session);
	if (atomic_load(&w->rec->why_given_up))
		session_put_note(w->session, &w->buffers, LOG_WARN,
				 atomic_load(&w->rec->why_given_up));
	else
		describe_end(&w->describer, w->session, atomic_load(&w->rec->ending), -1);
	w->session->is_ended = true;
	writer_put_last_status(w);
	return true;
}

/* Must the exit of the program wait, because a client of the server has not received the end? */
static bool must_wait_for_clients(const struct writer *w)
{
	return stream_server_is_behind(w->server) &&
	       sys_clock_ns(CLOCK_MONOTONIC) - w->exit_began_ns <
		       options_active.SERVER_EXIT_WAIT * NS_PER_MS;
}

/* Answers writer_sync() calls up to this ticket. */
static void answer_sync(struct writer *w, uint32_t wanted)
{
	if (wanted == atomic_load(&w->rec->sync_done))
		return;
	if (!w->session->is_ended)
		session_put_status(w->rec, w->session, FORMAT_STATE_RECORDING);
	writer_log_flush(&w->log, w->rec);
	atomic_store(&w->rec->sync_done, wanted);
	sys_futex_wake_all(&w->rec->sync_done);
}

/* Nobody is to see the writer. It stays for the end: an exec leaves the program in its place. */
static bool is_brief(const struct writer *w)
{
	return atomic_load(&w->rec->is_writer_brief) && !atomic_load(&w->rec->ending);
}

/* Does once all that is due. False: there is nothing to do but wait. */
static bool turn(struct writer *w)
{
	uint32_t sync_wanted = atomic_load(&w->rec->sync_wanted);
	bool busy, embedding;

	writer_switch_session(w);
	writer_rotate(w);
	busy = drain(w) > 0;
	help_waiting(w);
	writer_retire_sessions(w);
	if (!atomic_load(&w->rec->ending)) { /* or not any more: an exec failed */
		w->session->is_ended = false;
		w->exit_began_ns = 0;
	}
	if (w->session->is_ended) {
		/* of destructors that still run */
		if (describe_modules(&w->describer, w->session) || busy)
			writer_put_last_status(w);
		embedding = false;
	} else {
		keep_house(w);
		jit_images_step(&w->jit_images, &w->describer, w->session, false);
		managed_runtime_step(&w->managed_runtime, &w->describer, w->session);
		embedding = !is_brief(w) &&
			    (other_allocator_step(&w->other_allocator, &w->describer, w->session) ||
			     embed_step(&w->embed, &w->describer, w->session));
		if (!finish(w, embedding))
			sync_wanted = atomic_load(&w->rec->sync_done);
	}
	stream_server_step(w->server, w->session);
	if (!w->session->is_ended || !must_wait_for_clients(w))
		answer_sync(w, sync_wanted);
	writer_log_flush(&w->log, w->rec);
	return busy || embedding;
}

/* The end of the recording is written, and the program is about to become another one. */
static bool is_exec_due(const struct writer *w)
{
	return w->session->is_ended && atomic_load(&w->rec->ending) == END_BY_EXEC;
}

/* Sleeps until somebody raises `work` from the value seen, or the next heartbeat or sample is
 * due. */
static void sleep_until_work(struct writer *w, uint32_t seen)
{
	uint64_t at_most_ns = SAMPLE_NS;

	if (w->server)
		at_most_ns = stream_server_pause_ns(w->server);
	if (is_exec_due(w) && sys_clock_ns(CLOCK_MONOTONIC) - w->exit_began_ns < EXEC_SOON_NS)
		at_most_ns = EXEC_LOOK_NS;
	else if (writer_effort_is_lively(&w->effort) && clock_heartbeat_start())
		at_most_ns = CLOCK_HEARTBEAT_NS;
	atomic_store(&w->rec->is_writer_asleep, 1);
	if (atomic_load(&w->rec->work) == seen)
		sys_futex_wait(&w->rec->work, seen, at_most_ns);
	atomic_store(&w->rec->is_writer_asleep, 0);
	clock_heartbeat_stop();
}

/* Maps the buffers and opens the log. False: no memory. */
static bool prepare(struct writer *w)
{
	uint8_t *memory = own_memory_map(SESSION_CHUNK_CAPACITY + 2 * SESSION_MAX_DATA +
					 COMPRESS_STATE_BYTES);

	if (!memory)
		return false;
	w->buffers.chunk = memory;
	w->describer.scratch = memory + SESSION_CHUNK_CAPACITY;
	w->describer.fields = w->describer.scratch + SESSION_MAX_DATA;
	w->buffers.lz4_state = w->describer.fields + SESSION_MAX_DATA;
	w->describer.rec = w->rec;
	w->describer.buffers = &w->buffers;
	writer_effort_count_cpus(&w->effort);
	writer_log_open(&w->log, w->rec);
	return true;
}

/* The main loop. Returns when the writer must end. */
static int work(struct writer *w)
{
	for (;;) {
		uint32_t seen = atomic_load(&w->rec->work);

		if (writer_process_has_lost_target(&w->process, is_exec_due(w))) {
			writer_complete(w);
			return 0;
		}
		if (atomic_load(&w->rec->is_writer_unwanted)) {
			writer_close_sessions(w);
			return 0;
		}
		if (turn(w))
			continue;
		if (!is_brief(w)) {
			sleep_until_work(w, seen);
		} else if (atomic_load(&w->rec->work) == seen) {
			clock_heartbeat_stop();
			return 0;
		}
	}
}

static int writer_main(void *arg)
{
	struct writer *w = arg;
	struct recorder *rec = w->rec;

	clock_heartbeat_reset();
	writer_process_settle(&w->process, log_wants(LOG_MUST));
	rec->is_writer_safe = writer_process_is_safe();
	if (prepare(w))
		writer_switch_session(w);
	w->server = stream_server_create(rec);
	for (unsigned i = 0; w->session && i < rec->n_complaints; i++)
		session_put_note(w->session, &w->buffers, LOG_WARN, rec->complaint[i]);
	writer_log_flush(&w->log, rec);
	writer_log_settle(&w->log);
	atomic_store(&rec->ready, w->session ? 1 : 2);
	sys_futex_wake_all(&rec->ready);
	return w->session ? work(w) : 0;
}

/* Goes on where a writer was that somebody killed. Its descriptors are gone. */
static int writer_main_again(void *arg)
{
	struct writer *w = arg;

	clock_heartbeat_reset();
	stream_server_suspend(w->server);
	writer_process_settle(&w->process, w->log.fd == 2);
	if (w->log.fd != 2)
		writer_log_open(&w->log, w->rec);
	embed_restart(&w->embed);
	for (struct session *s = w->session; s; s = s->older) {
		if (s->fd < 0)
			continue;
		if (!session_reopen(s))
			return 0;
		for (uint32_t i = 0; i < atomic_load(&s->n_areas); i++)
			pool_retake(&s->area[i]);
		if (s->cull)
			cull_resume(s->cull);
	}
	if (!atomic_load(&w->rec->is_writer_brief))
		session_put_note(
			w->session, &w->buffers, LOG_WARN,
			"the process that writes the recording was killed; another one goes on");
	return work(w);
}

static bool fail_without_writer(struct recorder *rec, long error)
{
	atomic_store(&rec->start_error, (uint32_t)error);
	log_put_error(LOG_MUST, "nothing is recorded, no process can be started", "clone", error);
	writer_log_without_writer(rec);
	return false;
}

bool writer_start(struct recorder *rec)
{
	uint8_t *memory = own_memory_map(WRITER_PROCESS_STACKS_BYTES + sizeof(struct writer));
	struct writer *w = (struct writer *)(memory + WRITER_PROCESS_STACKS_BYTES);
	long ret;

	if (!memory)
		return fail_without_writer(rec, 12);
	w->rec = rec;
	w->process =
		(struct writer_process){.rec = rec, .stack = memory, .main = writer_main, .arg = w};
	rec->writer = w;
	rec->ensure_writer = writer_ensure;
	atomic_store(&rec->is_writer_brief, rec->parent_pid && rec->pid == 1 &&
						    !options_active.ENABLE_SERVER &&
						    !options_active.CULL_TEMPORARY_ALLOCATIONS);
	ret = writer_process_start(&w->process);
	if (ret < 0)
		return fail_without_writer(rec, -ret);
	for (unsigned i = 0; i < 100 && atomic_load(&rec->ready) == 0; i++)
		sys_futex_wait(&rec->ready, 0, START_PATIENCE_NS / 100);
	if (atomic_load(&rec->is_writer_brief))
		writer_process_await_end(&w->process);
	return atomic_load(&rec->ready) == 1;
}

void writer_ensure(struct recorder *rec)
{
	struct writer *w = rec->writer;
	uint32_t free = 0;

	if (!writer_process_is_dead(rec) || atomic_load(&rec->is_writer_unwanted) ||
	    atomic_load(&rec->is_sandboxed) || rec->pid != sys_getpid() ||
	    !atomic_compare_exchange_strong(&rec->is_writer_starting, &free, 1))
		return;
	clock_heartbeat_stop();
	if (writer_process_is_dead(rec) && rec->n_writer_starts < MAX_STARTS) {
		if (!atomic_load(&rec->is_writer_brief))
			rec->n_writer_starts++;
		w->process.main = writer_main_again;
		if (writer_process_start(&w->process) == 0) {
			for (unsigned i = 0; i < 100 && writer_process_is_dead(rec); i++)
				sys_futex_wait(&rec->writer_tid, 0, NS_PER_MS);
		}
		if (atomic_load(&rec->is_writer_brief) && !atomic_load(&rec->ending))
			writer_process_await_end(&w->process);
	}
	atomic_store(&rec->is_writer_starting, 0);
}

void writer_stay(struct recorder *rec)
{
	if (atomic_exchange(&rec->is_writer_brief, 0))
		writer_ensure(rec);
}

void writer_end(struct recorder *rec)
{
	const struct timespec pause = {.tv_nsec = 20000};

	atomic_store(&rec->is_writer_unwanted, 1);
	record_wake_writer(rec);
	for (unsigned i = 0; i < 50000 && atomic_load(&rec->writer_tid); i++)
		arch_syscall2(SYS_nanosleep, &pause, NULL);
}

void writer_sync(struct recorder *rec, uint64_t timeout_ns)
{
	uint32_t ticket;
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC);

	ticket = 1 + atomic_fetch_add(&rec->sync_wanted, 1);
	record_wake_writer(rec);
	for (;;) {
		uint32_t done = atomic_load(&rec->sync_done);

		if ((int32_t)(done - ticket) >= 0 ||
		    sys_clock_ns(CLOCK_MONOTONIC) - began_ns > timeout_ns)
			return;
		writer_ensure(rec);
		sys_futex_wait(&rec->sync_done, done, 10 * NS_PER_MS);
	}
}
