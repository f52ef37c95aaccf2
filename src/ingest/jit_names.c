/* ingest/jit_names.c - see jit_names.h. */
#include "ingest/jit_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "util/vec.h"

#define MAX_FILE_BYTES (256u << 20) /* what is greater is not read */
#define MAX_NAMES (4u << 20)
#define DUMP_MAGIC 0x4a695444u
#define DUMP_HEADER_BYTES 40
#define RECORD_HEADER_BYTES 16
#define RECORD_CODE_LOAD 0
#define LOAD_FIXED_BYTES 40 /* pid, tid, vma, address, size, index */

static int add(struct jit_names *j, uint64_t start, uint64_t size, const char *name, size_t len,
	       struct err *err)
{
	int n;

	if (size == 0 || start + size < start || len == 0 || j->n >= MAX_NAMES)
		return 0;
	n = vec_reserve(&j->name, &j->cap, j->n + 1, sizeof(*j->name), err);
	if (n < 0)
		return n;
	j->name[j->n] = (struct jit_name){.start = start, .end = start + size, .order = j->n};
	j->name[j->n].name = strndup(name, len);
	if (!j->name[j->n].name)
		return err_set_memory(err, len + 1);
	j->n++;
	j->is_sorted = false;
	return 0;
}

/* Hexadecimal digits at *p, up to end. */
static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
	const char *start = *p;
	uint64_t value = 0;

	for (; *p < end; ++*p) {
		char c = **p;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			break;
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return *p > start;
}

static int add_map(struct jit_names *j, const char *p, const char *end, struct err *err)
{
	int n = 0;

	while (p < end && n == 0) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *eol = newline ? newline : end;
		uint64_t start, size;

		if (eol - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
			p += 2;
		if (take_hex(&p, eol, &start) && p < eol && *p == ' ' &&
		    (p++, take_hex(&p, eol, &size)) && p < eol && *p == ' ') {
			p++;
			n = add(j, start, size, p, (size_t)(eol - p), err);
		}
		p = eol + 1;
	}
	return n;
}

static int add_dump(struct jit_names *j, const uint8_t *p, size_t len, struct err *err)
{
	size_t at = load_le32(p + 8); /* size of the header */
	int n = 0;

	if (load_le32(p + 4) != 1 || at < DUMP_HEADER_BYTES)
		return err_set(err, ERR_FORMAT, "a jitdump of version %" PRIu32 " is not known",
			       load_le32(p + 4));
	while (at < len && len - at >= RECORD_HEADER_BYTES && n == 0) {
		uint32_t id = load_le32(p + at), size = load_le32(p + at + 4);
		const uint8_t *load = p + at + RECORD_HEADER_BYTES;

		if (size < RECORD_HEADER_BYTES || size > len - at)
			break;
		if (id == RECORD_CODE_LOAD && size > RECORD_HEADER_BYTES + LOAD_FIXED_BYTES) {
			const char *name = (const char *)load + LOAD_FIXED_BYTES;
			size_t room = size - RECORD_HEADER_BYTES - LOAD_FIXED_BYTES;

			n = add(j, load_le64(load + 16), load_le64(load + 24), name,
				strnlen(name, room), err);
		}
		at += size;
	}
	return n;
}

static int read_whole(int fd, uint8_t **ret, size_t *len, struct err *err)
{
	uint8_t *data = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		ssize_t got;
		int r = vec_reserve(&data, &cap, n + (64u << 10), 1, err);

		if (r < 0 || n > MAX_FILE_BYTES) {
			free(data);
			return r < 0 ? r
				     : err_set(err, ERR_LIMIT, "greater than %u bytes",
					       MAX_FILE_BYTES);
		}
		got = pread(fd, data + n, cap - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*ret = data;
			*len = n;
			return 0;
		}
		n += (size_t)got;
	}
}

int jit_names_add(struct jit_names *j, int fd, struct err *err)
{
	uint8_t *data = NULL;
	size_t len = 0;
	int n = read_whole(fd, &data, &len, err);

	if (n < 0)
		return n;
	if (len >= DUMP_HEADER_BYTES && load_le32(data) == DUMP_MAGIC)
		n = add_dump(j, data, len, err);
	else if (memchr(data, 0, len))
		n = err_set(err, ERR_FOREIGN, "neither a perf map nor a jitdump");
	else
		n = add_map(j, (const char *)data, (const char *)data + len, err);
	free(data);
	return n;
}

void jit_names_fini(struct jit_names *j)
{
	for (size_t i = 0; i < j->n; i++)
		free(j->name[i].name);
	free(j->name);
	*j = (struct jit_names){0};
}

static int compare(const void *a, const void *b)
{
	const struct jit_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void jit_names_sort(struct jit_names *j)
{
	if (j->is_sorted || j->n == 0)
		return;
	qsort(j->name, j->n, sizeof(*j->name), compare);
	j->is_sorted = true;
}

/* Overlapping entries are functions that came and went. Of those that start a little before addr the
 * latest that covers it wins. */
#define LOOK_BACK 64

const char *jit_names_find(struct jit_names *j, uint64_t addr)
{
	const struct jit_name *best = NULL;
	size_t low = 0, high = j->n;

	jit_names_sort(j);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (j->name[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) {
		const struct jit_name *at = &j->name[i - 1];

		if (addr < at->end && (!best || at->order > best->order))
			best = at;
	}
	return best ? best->name : NULL;
}
