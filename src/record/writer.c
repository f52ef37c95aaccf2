/* record/writer.c - see writer.h. */
#include "record/writer.h"

#include <linux/prctl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/file.h>

#include "format/compress.h"
#include "record/allocator_stats.h"
#include "record/clock.h"
#include "record/credentials.h"
#include "record/cull.h"
#include "record/describe.h"
#include "record/embed.h"
#include "record/jit_images.h"
#include "record/lane.h"
#include "record/log.h"
#include "record/options.h"
#include "record/other_allocator.h"
#include "record/own_memory.h"
#include "record/pool.h"
#include "record/rotation.h"
#include "record/session.h"
#include "record/stream_server.h"
#include "record/sys.h"
#include "record/thread.h"
#include "record/writer_effort.h"
#include "record/writer_log.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define STACK_BYTES (64 * KIB)
#define TLS_BYTES                                                                                  \
	(8 * KIB) /* in place of thread-local data: nothing should use it; a mistake hits zeros */
#define SAMPLE_NS (100 * NS_PER_MS)
#define HOUSEKEEPING_NS NS_PER_S
#define START_PATIENCE_NS (5 * NS_PER_S)
#define SPARE_BLOCKS 128 /* blocks that may exist beyond two per thread */
#define EXIT_EMBED_NS (30 * NS_PER_MS) /* an exiting program waits this long for its binaries */

struct writer {
	struct recorder *rec;
	uint8_t *stack; /* STACK_BYTES, and 2 * TLS_BYTES after it */
	struct session *session;
	struct session_buffers buffers;
	struct describer describer;
	struct embed embed;
	struct jit_images jit_images;
	struct other_allocator other_allocator;
	struct writer_log log;
	struct stream_server *server; /* NULL: none */
	uint64_t next_sample_ns;
	uint64_t next_housekeeping_ns;
	uint64_t exit_began_ns;
	struct writer_effort effort;
	struct rotation rotation;
	unsigned n_full; /* full blocks left to write in this round */
};

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
static void write_block(struct writer *w, struct session *s, struct area *area, uint32_t slot)
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
	if (ret < 0) {
		session_count_lost(s, count_events(block), 1, ret);
		atomic_fetch_add(&s->redefine, 1);
		atomic_fetch_add(&record_epoch, 1);
	} else {
		s->status.field[STATUS_N_BLOCKS]++;
		writer_effort_learn(&w->effort, c.effort, c.data_bytes, c.stored_bytes);
	}
	pool_give_free(w->rec, area, slot);
}

static void write_culled(void *user, struct session *s, struct area *area, uint32_t slot)
{
	write_block(user, s, area, slot);
}

/* Culls what threads have published. 0: there was nothing. */
static unsigned drain_culled(struct writer *w, struct session *s)
{
	if (s == w->session)
		return cull_step(s->cull);
	cull_flush(s->cull, false);
	return 0;
}

/* Writes the full blocks of one session. Returns how many there were. */
static unsigned drain_session(struct writer *w, struct session *s)
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
			write_block(w, s, &s->area[i], (uint32_t)__builtin_ctzll(bits));
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
		n += drain_session(w, s);
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

/* Blocks that may exist. The list has a slot for each thread that runs, or that ran at the same
 * time as others. */
static uint32_t max_blocks(const struct writer *w)
{
	uint32_t n = SPARE_BLOCKS;

	for (struct thread *t = atomic_load(&w->rec->threads); t; t = t->next)
		n += 2;
	return n;
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
	if (drain(w) == 0 && (atomic_load(&s->n_areas) + 1) * RECORD_AREA_BLOCKS <= max_blocks(w))
		session_add_area(s, &w->buffers, RECORD_AREA_BLOCKS);
	atomic_fetch_add(&w->rec->free_word, 1);
	sys_futex_wake_all(&w->rec->free_word);
}

/* Appends a NOTE chunk about events that were lost since the last one. The disk may have room
 * again. */
static void report_losses(struct writer *w)
{
	struct session *s = w->session;
	char line[256];
	struct text text = text_make(line, sizeof(line));

	if (s->lost_in_blocks == s->lost_reported)
		return;
	text_put_u64(&text, s->lost_in_blocks - s->lost_reported);
	text_put(&text, " events could not be written: ");
	text_put(&text, log_errno_name((long)s->status.field[STATUS_FIRST_ERROR]));
	s->lost_reported = s->lost_in_blocks;
	session_put_note(s, &w->buffers, LOG_ERROR, line);
}

/* What is due by time: samples, threads, losses, credentials; and new modules. */
static void keep_house(struct writer *w)
{
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);

	if (now_ns >= w->next_sample_ns) {
		w->next_sample_ns = now_ns + SAMPLE_NS;
		describe_sample(&w->describer, w->session);
		describe_allocator_stats(&w->describer, w->session, now_ns);
		if (options_active.ALLOCATOR_STATISTICS && !w->rec->parent_pid &&
		    allocator_stats_want(now_ns))
			atomic_fetch_add(&record_epoch, 1); /* leads hooks to the slow path */
		session_put_status(w->rec, w->session, FORMAT_STATE_RECORDING);
	}
	if (now_ns >= w->next_housekeeping_ns) {
		w->next_housekeeping_ns = now_ns + HOUSEKEEPING_NS;
		look_at_threads(w);
		report_losses(w);
		credentials_follow();
		writer_effort_count_cpus(&w->effort);
	}
	if (describe_modules(&w->describer, w->session))
		describe_maps(&w->describer, w->session);
}

/* The current session is over: its last blocks come when their threads move on. */
static void end_piece(struct writer *w)
{
	if (w->session->cull) {
		cull_close(w->session->cull);
		cull_flush(w->session->cull, false);
	}
	describe_modules(&w->describer, w->session);
	describe_end(&w->describer, w->session, END_BY_SWITCH);
	session_put_status(w->rec, w->session, FORMAT_STATE_ENDED);
}

/* Closes the files of the oldest sessions, should many be in use (rotation.h). */
static void close_old_files(struct writer *w)
{
	unsigned n = 0;

	for (struct session *s = w->session->older; s; s = s->older) {
		if (s->fd < 0 || ++n <= ROTATION_MAX_OPEN)
			continue;
		drain_session(w, s);
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
	s->cull = cull_create(w->rec, s, &w->buffers, write_culled, w);
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

/* Creates the session that is wanted, if there is none. */
static void switch_session(struct writer *w)
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

/* Begins a new piece when one is due by size or time. Threads move to it with their next event. */
static void rotate(struct writer *w)
{
	struct session *before = w->session;

	if (atomic_load(&w->rec->ending) || before->is_ended ||
	    atomic_load(&record_mode) != RECORD_ON ||
	    !rotation_is_due(&w->rotation, before, sys_clock_ns(CLOCK_MONOTONIC)))
		return;
	atomic_fetch_add(&w->rec->want_session, 1);
	switch_session(w);
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

/* Closes old sessions that nobody uses. A new session may get the address of such a struct: no thread
 * names the old one any more, and a thread that read the address before it names the session sees
 * afterwards that this is the current one. */
static void retire_sessions(struct writer *w)
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

/* The status of a recording that has ended. */
static void put_last_status(struct writer *w)
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
	report_losses(w);
	describe_sample(&w->describer, w->session);
	describe_maps(&w->describer, w->session);
	jit_images_step(&w->jit_images, &w->describer, w->session, true);
	embed_jit_files(&w->embed, &w->describer, w->session);
	if (atomic_load(&w->rec->why_given_up))
		session_put_note(w->session, &w->buffers, LOG_WARN,
				 atomic_load(&w->rec->why_given_up));
	else
		describe_end(&w->describer, w->session, atomic_load(&w->rec->ending));
	w->session->is_ended = true;
	put_last_status(w);
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

/* Does once all that is due. False: there is nothing to do but wait. */
static bool turn(struct writer *w)
{
	uint32_t sync_wanted = atomic_load(&w->rec->sync_wanted);
	bool busy, embedding;

	switch_session(w);
	rotate(w);
	busy = drain(w) > 0;
	help_waiting(w);
	retire_sessions(w);
	if (!atomic_load(&w->rec->ending)) { /* or not any more: an exec failed */
		w->session->is_ended = false;
		w->exit_began_ns = 0;
	}
	if (w->session->is_ended) {
		/* of destructors that still run */
		if (describe_modules(&w->describer, w->session) || busy)
			put_last_status(w);
		embedding = false;
	} else {
		keep_house(w);
		jit_images_step(&w->jit_images, &w->describer, w->session, false);
		embedding = other_allocator_step(&w->other_allocator, &w->describer, w->session) ||
			    embed_step(&w->embed, &w->describer, w->session);
		if (!finish(w, embedding))
			sync_wanted = atomic_load(&w->rec->sync_done);
	}
	stream_server_step(w->server, w->session);
	if (!w->session->is_ended || !must_wait_for_clients(w))
		answer_sync(w, sync_wanted);
	writer_log_flush(&w->log, w->rec);
	return busy || embedding;
}

/* Sleeps until somebody raises `work` from the value seen, or the next heartbeat or sample is
 * due. */
static void sleep_until_work(struct writer *w, uint32_t seen)
{
	uint64_t at_most_ns = SAMPLE_NS;

	if (w->server)
		at_most_ns = stream_server_pause_ns(w->server);
	if (writer_effort_is_lively(&w->effort) && clock_heartbeat_start())
		at_most_ns = CLOCK_HEARTBEAT_NS;
	atomic_store(&w->rec->is_writer_asleep, 1);
	if (atomic_load(&w->rec->work) == seen)
		sys_futex_wait(&w->rec->work, seen, at_most_ns);
	atomic_store(&w->rec->is_writer_asleep, 0);
	clock_heartbeat_stop();
}

/* Closes what was copied from the target's descriptor table into the writer's. */
static void drop_descriptors(bool keep_stderr)
{
	arch_syscall3(SYS_close_range, 0, 1, 0);
	if (!keep_stderr)
		arch_syscall1(SYS_close, 2);
	if (arch_syscall3(SYS_close_range, 3, ~0u, 0) == SYS_ENOSYS) {
		for (int fd = 0; fd < 65536; fd++) {
			if (fd != 2)
				sys_close(fd);
		}
	}
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

/* Does the program want to be without a writer (writer_stop.h)? True: the writer must end now. */
static bool must_step_aside(struct writer *w)
{
	struct fd_handover *h = &w->rec->handover;

	if (atomic_load(&h->state) != FD_HANDOVER_WANTED)
		return atomic_load(&h->state) == FD_HANDOVER_GO;
	fd_handover_clear(h);
	fd_handover_add(h, &w->log.fd);
	if (w->embed.file_id)
		fd_handover_add(h, &w->embed.fd);
	for (struct session *s = w->session; s; s = s->older) {
		if (s->fd >= 0)
			fd_handover_add(h, &s->fd);
	}
	stream_server_suspend(w->server); /* sockets cannot be handed over */
	return fd_handover_offer(h);
}

/* The main loop. Returns when the writer must end. */
static int work(struct writer *w)
{
	for (;;) {
		uint32_t seen = atomic_load(&w->rec->work);

		if (must_step_aside(w))
			return 0;
		if (!turn(w))
			sleep_until_work(w, seen);
	}
}

static int writer_main(void *arg)
{
	struct writer *w = arg;
	struct recorder *rec = w->rec;

	clock_heartbeat_reset();
	arch_syscall5(SYS_prctl, PR_SET_NAME, "mem-prof", 0, 0, 0);
	drop_descriptors(log_wants(LOG_ERROR) && !options_active.LOGFILE[0]);
	if (prepare(w))
		switch_session(w);
	w->server = stream_server_create(rec);
	writer_log_flush(&w->log, rec);
	atomic_store(&rec->ready, w->session ? 1 : 2);
	sys_futex_wake_all(&rec->ready);
	return w->session ? work(w) : 0;
}

/* Goes on where the last writer was, after writer_stop_end(). */
static int writer_main_again(void *arg)
{
	struct writer *w = arg;

	arch_syscall5(SYS_prctl, PR_SET_NAME, "mem-prof", 0, 0, 0);
	fd_handover_adopt(&w->rec->handover);
	for (struct session *s = w->session; s; s = s->older) {
		if (s->fd >= 0)
			arch_syscall2(SYS_flock, s->fd, LOCK_EX | LOCK_NB);
	}
	return work(w);
}

static bool fail_without_writer(struct recorder *rec, long error)
{
	log_put_error(LOG_ERROR, "nothing is recorded, no thread can be started", "clone", error);
	writer_log_without_writer(rec);
	return false;
}

/* A tid or -errno. */
static long start_thread(struct writer *w, int (*thread_main)(void *))
{
	unsigned long flags =
		CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
	uint8_t *tls = w->stack + STACK_BYTES + TLS_BYTES;
	uint64_t mask = sys_block_signals();
	long tid;

	*(void **)tls = tls; /* points to itself; thread-local variables lie below it */
	tid = arch_clone(flags, w->stack + STACK_BYTES, tls, thread_main, w);
	sys_restore_signals(mask);
	if (tid >= 0)
		atomic_store(&w->rec->writer_tid, (uint32_t)tid);
	return tid;
}

bool writer_start(struct recorder *rec)
{
	uint8_t *memory = own_memory_map(STACK_BYTES + 2 * TLS_BYTES + sizeof(struct writer));
	struct writer *w = (struct writer *)(memory + STACK_BYTES + 2 * TLS_BYTES);
	long tid;

	if (!memory)
		return fail_without_writer(rec, 12);
	w->rec = rec;
	w->stack = memory;
	rec->writer = w;
	tid = start_thread(w, writer_main);
	if (tid < 0)
		return fail_without_writer(rec, -tid);
	for (unsigned i = 0; i < 100 && atomic_load(&rec->ready) == 0; i++)
		sys_futex_wait(&rec->ready, 0, START_PATIENCE_NS / 100);
	return atomic_load(&rec->ready) == 1;
}

bool writer_restart(struct recorder *rec)
{
	return start_thread(rec->writer, writer_main_again) >= 0;
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
		sys_futex_wait(&rec->sync_done, done, 10 * NS_PER_MS);
	}
}
