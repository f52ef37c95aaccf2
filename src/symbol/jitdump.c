/* symbol/jitdump.c - reads jitdump files, as described in the kernel's
 * tools/perf/Documentation/jitdump-specification.txt. See perf_map.h. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "symbol/perf_map_i.h"
#include "util/map.h"
#include "util/vec.h"

#define JITDUMP_MAGIC 0x4a695444u
#define HEADER_BYTES 40
#define RECORD_HEADER_BYTES 16
#define FLAG_ARCH_TIMESTAMP 1u /* times are cycles, not nanoseconds */

enum record_kind {
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	JIT_CODE_CLOSE = 3,
	JIT_CODE_UNWINDING_INFO = 4,
};

struct reader {
	struct perf_map *m;
	bool has_times;
	struct map
		code_by_index; /* code_index to 1 + position in m->code, which is not sorted here */
	/* lines that wait for the code that they belong to */
	uint64_t lines_addr;
	uint32_t first_line, n_lines;
};

static const char *read_text(struct cursor *c, size_t *len)
{
	const char *text = (const char *)c->data + c->pos;
	const char *end = cursor_left(c) > 0 ? memchr(text, 0, cursor_left(c)) : NULL;

	if (!end) {
		c->failed = true;
		return NULL;
	}
	*len = (size_t)(end - text);
	c->pos += *len + 1;
	return text;
}

static int read_load(struct reader *rd, struct cursor *c, uint64_t time_ns, struct err *err)
{
	struct perf_map_code code = {.time_ns = time_ns};
	uint64_t size_bytes, index, *slot;
	const char *name;
	size_t len = 0;
	int r;

	cursor_take(c, 4 + 4 + 8); /* pid, tid, vma: the same as the address */
	code.start = cursor_u64(c);
	size_bytes = cursor_u64(c);
	index = cursor_u64(c);
	name = read_text(c, &len);
	if (c->failed || size_bytes == 0 || size_bytes > UINT64_MAX - code.start) {
		rd->m->n_bad++;
		return 0;
	}
	code.end = code.start + size_bytes;
	if (rd->n_lines > 0 && rd->lines_addr == code.start) {
		code.first_line = rd->first_line;
		code.n_lines = rd->n_lines;
		rd->n_lines = 0;
	}
	r = perf_map_add_name(rd->m, name, len, &code.name, err);
	if (r == 0)
		r = perf_map_add_code(rd->m, &code, err);
	if (r == 0)
		r = map_add(&rd->code_by_index, index, &slot, NULL, err);
	if (r == 0)
		*slot = rd->m->n_codes;
	return r;
}

static int read_move(struct reader *rd, struct cursor *c, uint64_t time_ns, struct err *err)
{
	uint64_t from, to, size_bytes, index, *slot;
	struct perf_map_code code;
	int r;

	cursor_take(c, 4 + 4 + 8);
	from = cursor_u64(c);
	to = cursor_u64(c);
	size_bytes = cursor_u64(c);
	index = cursor_u64(c);
	slot = c->failed ? NULL : map_find(&rd->code_by_index, index);
	if (!slot || size_bytes == 0 || size_bytes > UINT64_MAX - to) {
		rd->m->n_bad++;
		return 0;
	}
	code = rd->m->code[*slot - 1];
	code.time_ns = time_ns;
	code.moved_by += to - from;
	code.start = to;
	code.end = to + size_bytes;
	r = perf_map_add_code(rd->m, &code, err);
	if (r == 0)
		*slot = rd->m->n_codes;
	return r;
}

static int by_addr(const void *a, const void *b)
{
	const struct perf_map_line *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Reads one entry; the name "\xff" stands for that of the entry before. */
static int read_line(struct reader *rd, struct cursor *c, uint32_t *file, struct err *err)
{
	struct perf_map *m = rd->m;
	struct perf_map_line line = {.addr = cursor_u64(c), .line = cursor_u32(c)};
	const char *name;
	size_t len = 0;
	int r = 0;

	cursor_u32(c); /* discriminator */
	name = read_text(c, &len);
	if (c->failed)
		return 0;
	if (*file == PERF_MAP_NONE || strcmp(name, "\xff") != 0)
		r = perf_map_add_name(m, name, len, file, err);
	if (r == 0 && m->n_lines >= PERF_MAP_NONE)
		r = err_set(err, ERR_LIMIT, "too many lines of JIT code");
	if (r == 0)
		r = vec_reserve(&m->line, &m->cap_lines, m->n_lines + 1, sizeof(line), err);
	if (r < 0)
		return r;
	line.file = *file;
	m->line[m->n_lines++] = line;
	return 0;
}

/* Reads the lines of a function. They come before the code that they describe. */
static int read_debug_info(struct reader *rd, struct cursor *c, struct err *err)
{
	struct perf_map *m = rd->m;
	uint32_t file = PERF_MAP_NONE;
	uint64_t n;

	rd->lines_addr = cursor_u64(c);
	n = cursor_u64(c);
	rd->first_line = (uint32_t)m->n_lines;
	for (uint64_t i = 0; i < n && !c->failed;
	     i++) { /* fails at the record's end at the latest */
		int r = read_line(rd, c, &file, err);

		if (r < 0)
			return r;
	}
	m->n_bad += c->failed;
	rd->n_lines = (uint32_t)m->n_lines - rd->first_line;
	if (rd->n_lines > 1)
		qsort(m->line + rd->first_line, rd->n_lines, sizeof(*m->line), by_addr);
	return 0;
}

/* Reads one record and moves behind it. False: the rest can not be read. */
static bool read_record(struct reader *rd, struct cursor *c, int *r, struct err *err)
{
	uint32_t kind = cursor_u32(c), total_bytes = cursor_u32(c);
	uint64_t time_ns = cursor_u64(c);
	const uint8_t *body;
	struct cursor rest;

	if (c->failed || total_bytes < RECORD_HEADER_BYTES)
		return false;
	body = cursor_take(c, total_bytes - RECORD_HEADER_BYTES);
	if (!body)
		return false;
	rest = cursor_make(body, total_bytes - RECORD_HEADER_BYTES);
	if (!rd->has_times)
		time_ns = 0;
	switch (kind) {
	case JIT_CODE_LOAD:
		*r = read_load(rd, &rest, time_ns, err);
		break;
	case JIT_CODE_MOVE:
		*r = read_move(rd, &rest, time_ns, err);
		break;
	case JIT_CODE_DEBUG_INFO:
		*r = read_debug_info(rd, &rest, err);
		break;
	case JIT_CODE_CLOSE:
	case JIT_CODE_UNWINDING_INFO:
		break;
	default:
		rd->m->n_bad++;
		break;
	}
	return *r == 0;
}

int perf_map_add_jitdump(struct perf_map *m, const void *bytes, size_t len, struct err *err)
{
	struct cursor c = cursor_make(bytes, len);
	struct reader rd = {.m = m};
	uint32_t header_bytes;
	int r = 0;

	if (len == 0 || cursor_u32(&c) != JITDUMP_MAGIC)
		return err_set(err, ERR_FOREIGN,
			       "this is not a jitdump file of a little-endian "
			       "machine: it does not begin with \"DTiJ\"");
	cursor_u32(&c); /* version */
	header_bytes = cursor_u32(&c);
	cursor_take(&c, 4 + 4 + 4 + 8); /* machine, padding, pid, time */
	rd.has_times = !(cursor_u64(&c) & FLAG_ARCH_TIMESTAMP);
	if (c.failed || header_bytes < HEADER_BYTES || header_bytes > len) {
		m->n_bad++;
		return 0;
	}
	c.pos = header_bytes;
	while (cursor_left(&c) > 0 && read_record(&rd, &c, &r, err))
		;
	if (r == 0 && (c.failed || cursor_left(&c) > 0))
		m->n_bad++; /* cut off in the middle of a record */
	map_fini(&rd.code_by_index);
	return r;
}
