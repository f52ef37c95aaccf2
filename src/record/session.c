/* record/session.c - see session.h. */
#include "record/session.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>

#include "base/bytes.h"
#include "format/checksum.h"
#include "format/chunk.h"
#include "format/compress.h"
#include "format/field.h"
#include "record/clock.h"
#include "record/lane.h"
#include "record/log.h"
#include "record/output_file.h"
#include "record/own_memory.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

/* Asks a copy-on-write file system to write in place: otherwise each block that is filled again
 * needs new space. */
static void prefer_in_place(int fd)
{
	long flags = 0;

	if (arch_syscall3(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_NOCOW_FL;
		arch_syscall3(SYS_ioctl, fd, FS_IOC_SETFLAGS, &flags);
	}
}

/* Reserves space on disk for [offset, offset + len), filled with zeros, so that a store into a
 * mapping of it cannot fail. 0 or -errno. */
static long reserve(struct session *s, uint64_t offset, uint64_t len)
{
	static const uint8_t zeros[PAGE_BYTES];
	long ret = arch_syscall4(SYS_fallocate, s->fd, 0, offset, len);

	if (ret != SYS_EOPNOTSUPP && ret != SYS_ENOSYS)
		return ret;
	for (uint64_t done = 0; done < len; done += PAGE_BYTES) {
		ret = sys_pwrite(s->fd, zeros, PAGE_BYTES, offset + done);
		if (ret != (long)PAGE_BYTES)
			return ret < 0 ? ret : SYS_EIO;
	}
	return 0;
}

/* MADV_RANDOM: the first store to a page of a fresh file would make the kernel fill 32 pages with
 * zeros: 0.3 ms, a fifth of what a short program like `true` pays for being recorded. */
static void *map_shared(struct session *s, uint64_t offset, size_t len)
{
	void *memory = sys_map(len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, offset);

	if (memory) {
		sys_madvise(memory, len, MADV_DONTFORK);
		sys_madvise(memory, len, MADV_RANDOM);
		atomic_fetch_add(&own_memory_bytes, len);
	}
	return memory;
}

/* Writes all bytes. 0 or -errno. */
static long write_all(struct session *s, const uint8_t *data, size_t len, uint64_t offset)
{
	size_t done = 0;

	clock_heartbeat_stop(); /* a disk may be slow */
	while (done < len) {
		long n = sys_pwrite(s->fd, data + done, len - done, offset + done);

		if (n <= 0)
			return n < 0 ? n : SYS_EIO;
		done += (size_t)n;
	}
	return 0;
}

/* A reader that comes before the first status of session_put_status() finds this one. */
static void begin_status(struct session *s, const struct file_header *h, uint8_t *page)
{
	uint64_t *field = s->status.field;

	field[STATUS_STATE] = FORMAT_STATE_RECORDING;
	field[STATUS_END_OF_CHUNKS] = FORMAT_HEADER_BYTES;
	field[STATUS_REALTIME_NS] = h->start_realtime_ns;
	field[STATUS_MONOTONIC_NS] = h->start_monotonic_ns;
	field[STATUS_TICKS] = h->start_ticks;
	s->status.sequence = 1;
	file_status_encode(&s->status, page);
}

/* Writes and maps the first page. Whenever the process is killed, the file is empty or has its
 * header. 0 or -errno. */
static long begin_file(struct recorder *rec, struct session *s, bool is_late)
{
	uint8_t page[FORMAT_HEADER_BYTES] = {0};
	struct file_header h = {
		.version_major = FORMAT_VERSION_MAJOR,
		.version_minor = FORMAT_VERSION_MINOR,
		.header_bytes = FORMAT_HEADER_BYTES,
		.pointer_bytes = sizeof(void *),
		.machine = ARCH_ELF_MACHINE,
		.page_bytes = PAGE_BYTES,
		.clock_source = clock_is_cpu ? FORMAT_CLOCK_CPU : FORMAT_CLOCK_MONOTONIC,
		.pid = rec->pid,
		.block_bytes = FORMAT_BLOCK_BYTES,
		.flags = (is_late ? FORMAT_LATE_START : 0) |
			 (options_active.CULL_TEMPORARY_ALLOCATIONS ? FORMAT_CULLED : 0),
	};
	long ret;

	arch_syscall3(SYS_getrandom, h.recording_id, sizeof(h.recording_id), 0);
	if (s->piece == 1)
		memcpy(rec->run_id, h.recording_id, sizeof(h.recording_id));
	memcpy(h.run_id, rec->run_id, sizeof(h.run_id));
	h.piece = s->piece;
	s->start_realtime_ns = h.start_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
	h.start_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
	h.start_ticks = clock_is_cpu ? clock_ticks() : h.start_monotonic_ns;
	file_header_encode(&h, page);
	begin_status(s, &h, page);
	ret = write_all(s, page, sizeof(page), 0);
	if (ret == 0)
		ret = reserve(s, 0, sizeof(page));
	if (ret < 0)
		return ret;
	s->page = map_shared(s, 0, FORMAT_HEADER_BYTES);
	if (!s->page)
		return -12; /* ENOMEM */
	s->end_offset = FORMAT_HEADER_BYTES;
	return 0;
}

/* Creates the file, locks it, and writes its header. 0 or -errno. */
static long open_output(struct recorder *rec, struct session *s, bool is_late)
{
	long fd = output_file_create(rec, s->piece, s->path);

	if (fd < 0)
		return fd;
	s->fd = (int)fd;
	arch_syscall2(SYS_flock, fd, LOCK_EX | LOCK_NB);
	prefer_in_place(s->fd);
	if (options_active.CHOWN_OUTPUT_TO != OPTIONS_U64_UNSET)
		arch_syscall3(SYS_fchown, fd, options_active.CHOWN_OUTPUT_TO, -1);
	return begin_file(rec, s, is_late);
}

/* Unmaps a session that no thread uses. */
static void destroy(struct session *s)
{

	for (uint32_t i = 0; i < atomic_load(&s->n_areas); i++) {
		size_t len = (size_t)s->area[i].n_blocks * FORMAT_BLOCK_BYTES;

		sys_unmap(s->area[i].blocks, len);
		atomic_fetch_sub(&own_memory_bytes, len);
	}
	if (s->page) {
		sys_unmap(s->page, FORMAT_HEADER_BYTES);
		atomic_fetch_sub(&own_memory_bytes, FORMAT_HEADER_BYTES);
	}
	own_memory_unmap(s, sizeof(*s));
}

/* No file could be made. */
static void complain(struct recorder *rec, const struct session *s, long error)
{
	const char *what = "nothing is recorded; set MEMORY_PROFILER_OUTPUT to a file in a folder "
			   "that exists and may be written; cannot write";

	if (s->piece > 1) {
		log_put_error(LOG_ERROR, "the earlier file goes on, cannot write", s->path, error);
		return;
	}
	atomic_store(&rec->start_error, (uint32_t)error);
	/* Files and folders never give this error. The filter was there before the program. */
	if (-error == SYS_ENOSYS)
		what = "nothing is recorded: the program was started under a filter of system "
		       "calls (seccomp) that lets it create no file; cannot write";
	log_put_error(LOG_MUST, what, s->path, error);
}

struct session *session_create(struct recorder *rec, struct session_buffers *b)
{
	struct session *s = own_memory_map(sizeof(*s));
	uint32_t n_blocks = RECORD_AREA_BLOCKS;
	long ret;

	if (!s)
		return NULL;
	s->fd = -1;
	arch_syscall2(SYS_getcwd, s->folder, sizeof(s->folder));
	s->piece = rec->n_pieces + 1;
	if (!options_active.OUTPUT[0]) {
		log_put(LOG_INFO, "MEMORY_PROFILER_OUTPUT is empty: nothing is recorded");
		own_memory_unmap(s, sizeof(*s));
		return NULL;
	}
	ret = open_output(rec, s, rec->is_late || s->piece > 1);
	while (ret == 0 && !session_add_area(s, b, n_blocks)) {
		n_blocks /= 2;
		if (n_blocks < 2)
			ret = -(long)s->status.field[STATUS_FIRST_ERROR];
	}
	if (ret < 0) {
		complain(rec, s, -ret);
		if (s->fd >= 0) { /* made a moment ago, and without a single event */
			arch_syscall3(SYS_unlinkat, AT_FDCWD, s->path, 0);
			sys_close(s->fd);
		}
		destroy(s);
		return NULL;
	}
	rec->n_pieces++;
	log_put_text(LOG_INFO, "recording to", s->path);
	return s;
}

/* Is this the file whose first page is mapped? */
static bool is_same_file(const struct session *s, int fd)
{
	uint8_t start[FILE_HEADER_FIXED_BYTES];

	return sys_pread(fd, start, sizeof(start), 0) == (long)sizeof(start) &&
	       !memcmp(start, s->page, sizeof(start));
}

bool session_reopen(struct session *s)
{
	long folder = sys_open(s->folder, O_PATH | O_DIRECTORY, 0);
	long fd = arch_syscall4(SYS_openat, folder < 0 ? AT_FDCWD : folder, s->path,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);

	if (folder >= 0)
		sys_close((int)folder);
	if (fd < 0)
		return false;
	if (!is_same_file(s, (int)fd)) {
		sys_close((int)fd);
		return false;
	}
	s->fd = (int)fd;
	arch_syscall2(SYS_flock, fd, LOCK_EX | LOCK_NB);
	arch_syscall2(SYS_ftruncate, fd, s->end_offset); /* what a killed writer had begun */
	return true;
}

void session_count_lost(struct session *s, uint64_t n_events, uint64_t n_blocks, long error)
{
	s->lost_in_blocks += n_events;
	s->status.field[STATUS_LOST_BLOCKS] += n_blocks;
	s->status.field[STATUS_LOST_CHUNKS] += n_blocks == 0;
	if (!s->status.field[STATUS_FIRST_ERROR]) {
		s->status.field[STATUS_FIRST_ERROR] = (uint64_t)-error;
		log_put_error(LOG_ERROR, "cannot write, events are being lost", s->path, -error);
	}
}

void session_keep_areas(struct session *s, long error)
{
	s->keeps_areas = true;
	if (!s->status.field[STATUS_FIRST_ERROR])
		s->status.field[STATUS_FIRST_ERROR] = (uint64_t)-error;
}

long session_append(struct session *s, struct session_buffers *b, struct session_chunk *c)
{
	struct chunk_header h = {
		.type = (uint16_t)c->type,
		.flags = (uint16_t)c->flags,
		.raw_bytes = (uint32_t)c->data_bytes,
		.sequence = s->chunk_sequence,
	};
	uint8_t *payload = b->chunk + CHUNK_HEADER_BYTES;
	size_t room = SESSION_CHUNK_CAPACITY - CHUNK_HEADER_BYTES - c->head_bytes - 8;
	size_t stored = 0, total;
	long ret;

	ASSERT(c->data_bytes <= SESSION_MAX_DATA);
	if (c->head_bytes)
		memcpy(payload, c->head, c->head_bytes);
	if (c->effort)
		stored = compress_block(b->lz4_state, c->effort, c->data, c->data_bytes,
					payload + c->head_bytes, room);
	if (stored && stored < c->data_bytes) {
		h.flags |= CHUNK_FLAG_LZ4;
	} else {
		stored = c->data_bytes;
		if (stored)
			memcpy(payload + c->head_bytes, c->data, stored);
	}
	c->stored_bytes = stored;
	h.stored_bytes = (uint32_t)(c->head_bytes + stored);
	h.payload_checksum = checksum_bytes(payload, h.stored_bytes);
	chunk_encode(&h, b->chunk);
	memset(payload + h.stored_bytes, 0, 8);
	total = chunk_total_bytes(&h);
	ret = write_all(s, b->chunk, total, s->end_offset);
	if (ret < 0)
		return ret;
	s->end_offset += total;
	s->chunk_sequence++;
	return 0;
}

/* Makes the headers of a PAD and of an AREA or PENDING chunk in b->chunk, so that the payload begins
 * at a page. Returns the offset of the payload. */
static uint64_t frame_area(struct session *s, struct session_buffers *b, unsigned type,
			   uint32_t bytes)
{
	uint64_t at = s->end_offset;
	uint64_t first = align_up(at + CHUNK_HEADER_BYTES, PAGE_BYTES);
	uint64_t gap = first - CHUNK_HEADER_BYTES - at;
	struct chunk_header h = {.flags = CHUNK_FLAG_UNCHECKED, .sequence = s->chunk_sequence};

	if (gap > 0 && gap < CHUNK_HEADER_BYTES)
		first += PAGE_BYTES;
	gap = first - CHUNK_HEADER_BYTES - at;
	memset(b->chunk, 0, gap + CHUNK_HEADER_BYTES);
	if (gap > 0) {
		h.type = CHUNK_PAD;
		h.stored_bytes = h.raw_bytes = (uint32_t)(gap - CHUNK_HEADER_BYTES);
		chunk_encode(&h, b->chunk);
		h.sequence++;
	}
	h.type = (uint16_t)type;
	h.stored_bytes = h.raw_bytes = bytes;
	chunk_encode(&h, b->chunk + gap);
	s->chunk_sequence = h.sequence + 1;
	return first;
}

bool session_add_area(struct session *s, struct session_buffers *b, uint32_t n_blocks)
{
	uint32_t n = atomic_load(&s->n_areas);
	struct area *area = &s->area[n];
	uint32_t bytes = n_blocks * FORMAT_BLOCK_BYTES;
	uint64_t first, sequence = s->chunk_sequence;
	long ret;

	if (n >= RECORD_MAX_AREAS)
		return false;
	first = frame_area(s, b, CHUNK_AREA, bytes);
	ret = reserve(s, first, bytes);
	if (ret == 0)
		ret = write_all(s, b->chunk, first - s->end_offset, s->end_offset);
	if (ret == 0)
		area->blocks = map_shared(s, first, bytes);
	if (ret < 0 || !area->blocks) {
		s->chunk_sequence = sequence;
		s->status.field[STATUS_FIRST_ERROR] = ret < 0 ? (uint64_t)-ret : 12;
		arch_syscall2(SYS_ftruncate, s->fd, s->end_offset);
		return false;
	}
	s->end_offset = first + bytes;
	area->file_offset = first;
	area->n_blocks = n_blocks;
	atomic_store(&area->free_bits, n_blocks == 64 ? ~0ull : (1ull << n_blocks) - 1);
	atomic_store_explicit(&s->n_areas, n + 1, memory_order_release);
	return true;
}

struct pending_area *session_add_pending(struct session *s, struct session_buffers *b,
					 size_t n_bytes)
{
	uint64_t sequence = s->chunk_sequence;
	uint32_t bytes = (uint32_t)align_up(n_bytes, PAGE_BYTES);
	uint64_t first = frame_area(s, b, CHUNK_PENDING, bytes);
	struct pending_area *area = NULL;

	if (reserve(s, first, bytes) == 0 &&
	    write_all(s, b->chunk, first - s->end_offset, s->end_offset) == 0)
		area = map_shared(s, first, n_bytes);
	if (!area) {
		s->chunk_sequence = sequence;
		arch_syscall2(SYS_ftruncate, s->fd, s->end_offset);
		return NULL;
	}
	s->end_offset = first + bytes;
	s->pending_offset = first;
	s->pending_bytes = bytes;
	return area;
}

/* Adds the counters of one lane. Its thread may be counting meanwhile, which is exact enough for a
 * report. */
static void sum_lane(const struct lane *lane, uint64_t *field)
{
	struct unwind_stats one;

	unwind_thread_stats(lane_unwinder(lane), &one);
	field[STATUS_LOST_EVENTS] += COUNT_READ(lane->lost_events);
	field[STATUS_N_WALKS] += one.n_walks;
	field[STATUS_N_SLOW_WALKS] += one.n_slow_walks;
	field[STATUS_N_RULE_MISSES] += one.n_rule_misses;
	field[STATUS_N_PATH_WALKS] += one.n_cached_walks;
	field[STATUS_N_FRESH_FRAMES] += one.n_fresh_frames;
	field[STATUS_N_KNOWN_STACKS] += one.n_known_stacks;
	field[STATUS_N_AUDITED] += COUNT_READ(lane->n_audited);
	field[STATUS_N_DIFFERING] += COUNT_READ(lane->n_differing);
	field[STATUS_N_ESTIMATED_TIMES] += COUNT_READ(lane->time.n_estimated);
}

/* The counters of the recorder since its start, which go on from piece to piece. */
static void sum_counters(struct recorder *rec, uint64_t *field)
{
	for (unsigned i = STATUS_N_WALKS; i <= STATUS_N_ESTIMATED_TIMES; i++)
		field[i] = 0;
	field[STATUS_WRITER_CPU_NS] = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	field[STATUS_N_WAITS] = atomic_load(&rec->n_waits);
	field[STATUS_LOST_EVENTS] = atomic_load(&rec->lost_events);
	for (struct thread *t = atomic_load(&rec->threads); t; t = t->next) {
		for (unsigned i = 0; i < BLOCK_N_LANES; i++) {
			if (t->lane[i])
				sum_lane(t->lane[i], field);
		}
	}
}

void session_begin_counters(struct recorder *rec, struct session *s)
{
	sum_counters(rec, s->base);
}

/* Puts the counters since the piece began. A counter of a thread that is gone may be missing in the
 * sum. */
static void put_counters(struct recorder *rec, struct session *s)
{
	uint64_t *field = s->status.field;

	sum_counters(rec, field);
	for (unsigned i = STATUS_LOST_EVENTS; i <= STATUS_N_ESTIMATED_TIMES; i++)
		field[i] -= s->base[i] < field[i] ? s->base[i] : field[i];
	field[STATUS_LOST_EVENTS] += s->lost_in_blocks;
}

void session_put_status(struct recorder *rec, struct session *s, enum format_state state)
{
	uint64_t *field = s->status.field;

	put_counters(rec, s);
	field[STATUS_REALTIME_NS] = sys_clock_ns(CLOCK_REALTIME);
	field[STATUS_MONOTONIC_NS] = sys_clock_ns(CLOCK_MONOTONIC);
	field[STATUS_TICKS] = clock_is_cpu ? clock_ticks() : field[STATUS_MONOTONIC_NS];
	field[STATUS_STATE] = state;
	field[STATUS_END_OF_CHUNKS] = s->end_offset;
	field[STATUS_RECORDER_BYTES] = atomic_load(&own_memory_bytes);
	field[STATUS_N_THREADS] = atomic_load(&rec->n_threads);
	field[STATUS_BYTES_EMBEDDED] = s->bytes_embedded;
	field[STATUS_LONGEST_HEARTBEAT_TICKS] = clock_longest_heartbeat_ticks;
	s->status.sequence++;
	file_status_encode(&s->status, s->page);
}

void session_close_file(struct session *s)
{
	s->status.field[STATUS_END_OF_CHUNKS] = s->end_offset;
	s->status.sequence++;
	file_status_encode(&s->status, s->page);
	sys_close(s->fd);
	s->fd = -1;
}

/* Gives the space of what is written elsewhere by now back to the file system: blocks, and events that
 * waited for a decision. The file has zeros there. */
static void punch_areas(struct session *s)
{
	const long mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (s->pending_bytes)
		arch_syscall4(SYS_fallocate, s->fd, mode, s->pending_offset, s->pending_bytes);
	for (uint32_t i = 0; i < atomic_load(&s->n_areas); i++)
		arch_syscall4(SYS_fallocate, s->fd, mode, s->area[i].file_offset,
			      (uint64_t)s->area[i].n_blocks * FORMAT_BLOCK_BYTES);
}

void session_retire(struct session *s)
{
	if (s->fd >= 0) {
		punch_areas(s);
		session_close_file(s);
	}
	destroy(s);
}

void session_put_note(struct session *s, struct session_buffers *b, enum log_level level,
		      const char *text)
{
	uint8_t fields[768];
	struct field_writer w = field_writer_make(fields, sizeof(fields));
	struct session_chunk c = {.type = CHUNK_NOTE, .data = fields};

	field_put_u64(&w, NOTE_TICKS, clock_ticks());
	field_put_u64(&w, NOTE_LEVEL, level);
	field_put_text(&w, NOTE_TEXT, text);
	c.data_bytes = w.len;
	if (session_append(s, b, &c) < 0)
		session_count_lost(s, 0, 0, -28);
	log_put(level, text);
}

/* Makes a PAD chunk up to the old end of the file. */
static void encode_pad(struct session *s, uint64_t offset, uint8_t *ret)
{
	struct chunk_header h = {
		.type = CHUNK_PAD,
		.flags = CHUNK_FLAG_UNCHECKED,
		.sequence = s->chunk_sequence++,
		.stored_bytes = (uint32_t)(s->end_offset - offset - CHUNK_HEADER_BYTES),
	};

	h.raw_bytes = h.stored_bytes;
	chunk_encode(&h, ret);
}

/* Copies len bytes of the file from one place to another that does not overlap. */
static bool copy_in_file(struct session *s, struct session_buffers *b, uint64_t from, uint64_t to,
			 uint64_t len)
{
	for (uint64_t done = 0; done < len;) {
		uint64_t n = len - done;

		if (n > SESSION_CHUNK_CAPACITY)
			n = SESSION_CHUNK_CAPACITY;
		if (sys_pread(s->fd, b->chunk, n, from + done) != (long)n ||
		    write_all(s, b->chunk, n, to + done) < 0)
			return false;
		done += n;
	}
	return true;
}

/* A small recording: moves the chunks behind the only area to where the area begins, and cuts the
 * file. Whenever the writer is killed, the file is sound: all but the first page is written into
 * the area, which holds nothing any more, and ends with a PAD chunk up to the end of the file; then
 * the first page of the area chunk is replaced by one write. */
static void move_over_area(struct session *s, struct session_buffers *b)
{
	const uint64_t to = FORMAT_HEADER_BYTES;
	uint64_t from = s->area[0].file_offset + (uint64_t)s->area[0].n_blocks * FORMAT_BLOCK_BYTES;
	uint64_t len = s->end_offset - from;
	uint64_t first_len = len < PAGE_BYTES ? len : PAGE_BYTES;
	uint8_t page[PAGE_BYTES] = {0}, pad[CHUNK_HEADER_BYTES];

	encode_pad(s, to + len, pad);
	if (!copy_in_file(s, b, from + first_len, to + first_len, len - first_len) ||
	    sys_pread(s->fd, page, first_len, from) != (long)first_len)
		return;
	if (len + sizeof(pad) <= PAGE_BYTES)
		memcpy(page + len, pad, sizeof(pad));
	else if (write_all(s, pad, sizeof(pad), to + len) < 0)
		return;
	if (write_all(s, page, PAGE_BYTES, to) < 0)
		return;
	s->end_offset = to + len;
	s->status.field[STATUS_END_OF_CHUNKS] = s->end_offset;
	s->status.sequence++;
	file_status_encode(&s->status, s->page);
	arch_syscall2(SYS_ftruncate, s->fd, s->end_offset);
}

/* Can the chunks take the place of the area, and does no part of the PAD chunk cross the page that
 * is written last? */
static bool is_small(const struct session *s)
{
	const struct area *area = &s->area[0];
	uint64_t area_bytes = (uint64_t)area->n_blocks * FORMAT_BLOCK_BYTES;
	uint64_t len = s->end_offset - area->file_offset - area_bytes;
	bool is_split = len < PAGE_BYTES && len + CHUNK_HEADER_BYTES > PAGE_BYTES;

	return atomic_load(&s->n_areas) == 1 &&
	       area->file_offset == FORMAT_HEADER_BYTES + PAGE_BYTES && !is_split &&
	       len + CHUNK_HEADER_BYTES <= area_bytes;
}

void session_finish(struct session *s, struct session_buffers *b)
{
	for (uint32_t i = 0; i < atomic_load(&s->n_areas); i++) {
		struct area *area = &s->area[i];

		/* Memory of nobody, should a thread still write there. */
		arch_syscall6(SYS_mmap, (long)area->blocks,
			      (long)area->n_blocks * FORMAT_BLOCK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	}
	if (s->keeps_areas) /* and what was begun behind them */
		arch_syscall2(SYS_ftruncate, s->fd, s->end_offset);
	else if (is_small(s))
		move_over_area(s, b);
	else
		punch_areas(s);
	sys_close(s->fd);
	s->fd = -1;
}
