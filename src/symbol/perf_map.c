/* symbol/perf_map.c - see perf_map.h. */
#include "symbol/perf_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "symbol/perf_map_i.h"
#include "util/vec.h"

int perf_map_create(struct perf_map **ret, struct err *err)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set_memory(err, sizeof(*m));
	*ret = m;
	return 0;
}

void perf_map_destroy(struct perf_map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n_codes; i++)
		free(m->code[i].demangled);
	free(m->code);
	free(m->line);
	free(m->text);
	free(m);
}

size_t perf_map_n_functions(const struct perf_map *m)
{
	return m->n_codes;
}

size_t perf_map_n_bad(const struct perf_map *m)
{
	return m->n_bad;
}

int perf_map_add_name(struct perf_map *m, const char *name, size_t len, uint32_t *ret,
		      struct err *err)
{
	int r;

	if (len >= PERF_MAP_NONE - m->n_text)
		return err_set(err, ERR_LIMIT, "names of JIT code exceed 4 GiB");
	r = vec_reserve(&m->text, &m->cap_text, m->n_text + len + 1, 1, err);
	if (r < 0)
		return r;
	memcpy(m->text + m->n_text, name, len);
	m->text[m->n_text + len] = 0;
	*ret = (uint32_t)m->n_text;
	m->n_text += len + 1;
	return 0;
}

int perf_map_add_code(struct perf_map *m, const struct perf_map_code *code, struct err *err)
{
	int r;

	if (code->start >= code->end) {
		m->n_bad++;
		return 0;
	}
	r = vec_reserve(&m->code, &m->cap_codes, m->n_codes + 1, sizeof(*code), err);
	if (r < 0)
		return r;
	m->code[m->n_codes] = *code;
	m->code[m->n_codes].order = m->n_codes;
	m->code[m->n_codes].demangled = NULL;
	m->code[m->n_codes].is_demangled = false;
	m->n_codes++;
	m->is_sorted = false;
	return 0;
}

/* Reads a number and skips the blanks behind it; *at moves. */
static bool take_hex(const char *line, size_t len, size_t *at, uint64_t *ret)
{
	size_t i = *at, first;
	uint64_t value = 0;

	if (i + 2 < len && line[i] == '0' && (line[i + 1] == 'x' || line[i + 1] == 'X'))
		i += 2;
	for (first = i; i < len && text_hex_digit(line[i]) >= 0; i++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)text_hex_digit(line[i]);
	}
	if (i == first || i == len || (line[i] != ' ' && line[i] != '\t'))
		return false;
	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	*at = i;
	*ret = value;
	return true;
}

static int add_line(struct perf_map *m, const char *line, size_t len, struct err *err)
{
	struct perf_map_code code = {0};
	uint64_t size_bytes;
	size_t at = 0;
	int r;

	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (len == 0)
		return 0;
	if (!take_hex(line, len, &at, &code.start) || !take_hex(line, len, &at, &size_bytes) ||
	    at == len || memchr(line + at, 0, len - at) || size_bytes > UINT64_MAX - code.start) {
		m->n_bad++;
		return 0;
	}
	code.end = code.start + size_bytes;
	if (size_bytes == 0) /* a label; some compilers write them */
		code.end = code.start < UINT64_MAX ? code.start + 1 : code.start;
	r = perf_map_add_name(m, line + at, len - at, &code.name, err);
	return r < 0 ? r : perf_map_add_code(m, &code, err);
}

int perf_map_add_text(struct perf_map *m, const char *bytes, size_t len, struct err *err)
{
	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;
		int r = add_line(m, bytes, n, err);

		if (r < 0)
			return r;
		n += end ? 1 : 0;
		bytes += n;
		len -= n;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct perf_map_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The sorted array is a tree: the middle of a part is its root, and has the greatest end of the
 * part. */
static uint64_t set_max_end(struct perf_map_code *code, size_t n)
{
	size_t mid = n / 2;
	uint64_t left, right;

	if (n == 0)
		return 0;
	left = set_max_end(code, mid);
	right = set_max_end(code + mid + 1, n - mid - 1);
	code[mid].max_end = code[mid].end;
	if (left > code[mid].max_end)
		code[mid].max_end = left;
	if (right > code[mid].max_end)
		code[mid].max_end = right;
	return code[mid].max_end;
}

struct question {
	uint64_t addr, time_ns;
	struct perf_map_code *best;
};

/* Of the functions before the asked time the latest is best; failing that, the earliest after it:
 * the compiler may read its clock after the code has begun to run. */
static bool is_better(const struct question *q, const struct perf_map_code *c)
{
	const struct perf_map_code *best = q->best;

	if (!best)
		return true;
	if ((c->time_ns <= q->time_ns) != (best->time_ns <= q->time_ns))
		return c->time_ns <= q->time_ns;
	if (c->time_ns != best->time_ns)
		return (c->time_ns > best->time_ns) == (c->time_ns <= q->time_ns);
	return c->order > best->order;
}

/* Looks at all functions that contain the address. The depth is the logarithm of n. */
static void find(struct perf_map_code *code, size_t n, struct question *q)
{
	size_t mid = n / 2;

	if (n == 0 || code[mid].max_end <= q->addr)
		return;
	find(code, mid, q);
	if (code[mid].start > q->addr)
		return;
	if (code[mid].end > q->addr && is_better(q, &code[mid]))
		q->best = &code[mid];
	find(code + mid + 1, n - mid - 1, q);
}

static void set_line(const struct perf_map *m, const struct perf_map_code *c, uint64_t addr,
		     struct symbol_frame *ret)
{
	const struct perf_map_line *line = m->line + c->first_line;
	size_t low = 0, high = c->n_lines;

	addr -= c->moved_by;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (line[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return;
	ret->source = m->text + line[low - 1].file;
	ret->line = line[low - 1].line;
}

bool perf_map_resolve(struct perf_map *m, uint64_t addr, uint64_t time_ns, struct symbol_frame *ret)
{
	struct question q = {addr, time_ns, NULL};
	struct symbol_frame frame = {0};

	if (!m->is_sorted && m->n_codes > 0) {
		qsort(m->code, m->n_codes, sizeof(*m->code), by_start);
		set_max_end(m->code, m->n_codes);
		m->is_sorted = true;
	}
	find(m->code, m->n_codes, &q);
	if (!q.best)
		return false;
	frame.raw_function = m->text + q.best->name;
	if (!q.best->is_demangled)
		q.best->demangled = symbol_demangle(frame.raw_function);
	q.best->is_demangled = true;
	frame.function = q.best->demangled ? q.best->demangled : frame.raw_function;
	if (q.best->n_lines > 0)
		set_line(m, q.best, addr, &frame);
	*ret = frame;
	return true;
}
