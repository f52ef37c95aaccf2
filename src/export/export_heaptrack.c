/* export/export_heaptrack.c - heaptrack's interpreted file, format 3: heaptrack_print and _gui.
 *
 * Text lines with lowercase hexadecimal numbers. s = text, i = code with its inlined frames, t =
 * node of the tree of stacks, a = kind of allocation (size and stack), + and - = an allocation and
 * a free of a kind. Each is defined right before its first use. c = milliseconds, R = resident
 * pages.
 *
 * What readers need beyond the grammar:
 * - The first uses of kinds must be in ascending order: heaptrack_gui relies on it.
 * - Kind 0 means "none" in heaptrack's test for temporary allocations. So the first row alone gets
 *   kind 0, and no other row: heaptrack takes at most one free for that of a temporary allocation.
 * - heaptrack takes an allocation for temporary when - follows + directly, so threads that allocate
 *   at the same time hide each other's temporary allocations. The format has no threads.
 * - Codes are addresses of calls, not return addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/units.h"
#include "export/export_i.h"
#include "export/row_text.h"
#include "export/time_order.h"
#include "util/text_set.h"

#define HEAPTRACK_VERSION 0x10400u /* of a heaptrack that writes format 3 */
#define HEAPTRACK_FORMAT 3u
#define MAX_KINDS (1u << 23) /* in the table; further kinds are defined anew for each row */
#define NO_KIND UINT32_MAX

struct kind {
	uint64_t size_bytes;
	uint32_t stack;
	uint32_t number; /* 0: empty slot; kind 0 is never in the table */
};

struct heaptrack {
	FILE *out;
	struct err *err;
	const struct store *store;
	struct frames *frames;
	struct text_set *texts; /* the file numbers them from 1, as the set does */
	uint32_t *code_ip; /* by code: number of the i line, 0: not written yet */
	uint32_t *node_trace; /* by node: number of the t line, 0: not written yet */
	uint32_t n_ips, n_traces, n_kinds;
	struct kind *kind; /* hash table */
	size_t n_slots, n_used;
	uint32_t *path; /* nodes from a stack to the first node that is written already */
	size_t cap_path;
	const struct store_sample *sample;
	size_t n_samples, next_sample;
	uint64_t page_bytes;
	uint64_t written_ms;
	bool has_time;
};

/* Writes a line: the letter of its mode and its fields. */
static void put_line(FILE *out, char mode, const uint64_t *field, size_t n)
{
	struct row_text t = {.n = 0};

	row_text_bytes(&t, &mode, 1);
	for (size_t i = 0; i < n; i++) {
		row_text_bytes(&t, " ", 1);
		row_text_hex(&t, field[i]);
		if (t.n > sizeof(t.byte) / 2) /* a code with dozens of inlined frames */
			row_text_write(&t, out);
	}
	row_text_bytes(&t, "\n", 1);
	row_text_write(&t, out);
}

static int text_number(struct heaptrack *h, const char *text, uint32_t *ret)
{
	size_t n_before = text_set_count(h->texts);
	int r;

	*ret = 0;
	if (!text || !text[0])
		return 0;
	r = text_set_add(h->texts, text, ret, h->err);
	if (r < 0)
		return r;
	if (*ret == n_before) { /* the text is new */
		fprintf(h->out, "s %zx ", strlen(text));
		for (const char *p = text; *p;
		     p++) /* as many bytes as strlen() says, on one line */
			putc((unsigned char)*p < 0x20 ? ' ' : *p, h->out);
		putc('\n', h->out);
	}
	return 0;
}

/* Writes the i line of a code, if the line was not written before. */
static int define_code(struct heaptrack *h, uint32_t code)
{
	const struct frame *frame;
	size_t n = 0;
	uint64_t *field;
	uint32_t number;
	size_t n_fields = 0;
	int r;

	if (h->code_ip[code])
		return 0;
	frame = frames_of_code(h->frames, code, &n);
	field = malloc((2 + 3 * n) * sizeof(*field));
	if (!field)
		return err_set_memory(h->err, (2 + 3 * n) * sizeof(*field));
	r = text_number(h, n ? frame[0].module : NULL, &number);
	field[n_fields++] = store_code(h->store, code)->addr - 1;
	field[n_fields++] = number;
	for (size_t i = 0; i < n && r == 0; i++) { /* inlined ones first: inside to outside */
		r = text_number(h, frame[i].function, &number);
		field[n_fields++] = number;
		if (r == 0)
			r = text_number(h, frame[i].source, &number);
		field[n_fields++] = number;
		field[n_fields++] = frame[i].line;
	}
	if (n == 1 && frame[0].line == 0 && field[n_fields - 2] == 0)
		n_fields -= field[2] ? 2 : 3; /* no file, or nothing but the module */
	if (r == 0) {
		put_line(h->out, 'i', field, n_fields);
		h->code_ip[code] = ++h->n_ips;
	}
	free(field);
	return r;
}

/* Writes the t lines of a stack that were not written before, outermost first. */
static int define_trace(struct heaptrack *h, uint32_t stack, uint32_t *ret)
{
	uint32_t node = store_stack(h->store, stack)->node;
	uint32_t trace = 0;
	size_t n = 0;

	while (node != 0 && n < h->cap_path) {
		const struct store_node *at = store_node(h->store, node);

		trace = h->node_trace[node];
		if (trace)
			break;
		if (at->kind == STORE_NODE_FRAME && at->code)
			h->path[n++] = node;
		node = at->parent < node ? at->parent : 0;
	}
	while (n-- > 0) {
		uint32_t code = store_node(h->store, h->path[n])->code;
		int r = define_code(h, code);

		if (r < 0)
			return r;
		put_line(h->out, 't', (uint64_t[]){h->code_ip[code], trace}, 2);
		trace = h->node_trace[h->path[n]] = ++h->n_traces;
	}
	*ret = trace;
	return 0;
}

static struct kind *find_kind(const struct heaptrack *h, uint64_t size_bytes, uint32_t stack)
{
	size_t i = (size_t)hash_pair64(size_bytes, stack) & (h->n_slots - 1);

	while (h->kind[i].number &&
	       (h->kind[i].size_bytes != size_bytes || h->kind[i].stack != stack))
		i = (i + 1) & (h->n_slots - 1);
	return &h->kind[i];
}

static int grow_kinds(struct heaptrack *h)
{
	struct heaptrack bigger = *h;

	bigger.n_slots = h->n_slots ? 2 * h->n_slots : 4096;
	bigger.kind = calloc(bigger.n_slots, sizeof(*bigger.kind));
	if (!bigger.kind)
		return err_set_memory(h->err, bigger.n_slots * sizeof(*bigger.kind));
	for (size_t i = 0; i < h->n_slots; i++) {
		if (h->kind[i].number)
			*find_kind(&bigger, h->kind[i].size_bytes, h->kind[i].stack) = h->kind[i];
	}
	free(h->kind);
	h->kind = bigger.kind;
	h->n_slots = bigger.n_slots;
	return 0;
}

static int define_kind(struct heaptrack *h, const struct query_row *row, uint32_t *ret)
{
	uint32_t trace;
	int r = define_trace(h, row->stack, &trace);

	if (r < 0)
		return r;
	if (h->n_kinds == NO_KIND)
		return err_set(h->err, ERR_LIMIT,
			       "more than %u different sizes and stacks: heaptrack cannot read "
			       "that; use a filter",
			       NO_KIND);
	put_line(h->out, 'a', (uint64_t[]){row->size_bytes, trace}, 2);
	*ret = h->n_kinds++;
	return 0;
}

/* The number of the row's kind; a new kind is defined first. */
static int kind_number(struct heaptrack *h, const struct query_row *row, uint32_t *ret)
{
	struct kind *k;
	int r;

	if (h->n_kinds == 0)
		return define_kind(h, row, ret);
	if (2 * (h->n_used + 1) > h->n_slots && h->n_slots < 2 * (size_t)MAX_KINDS) {
		r = grow_kinds(h);
		if (r < 0)
			return r;
	}
	k = find_kind(h, row->size_bytes, row->stack);
	if (k->number) {
		*ret = k->number;
		return 0;
	}
	r = define_kind(h, row, ret);
	if (r < 0 || h->n_used >= MAX_KINDS)
		return r;
	*k = (struct kind){row->size_bytes, row->stack, *ret};
	h->n_used++;
	return 0;
}

static void put_time(struct heaptrack *h, uint64_t at_ns)
{
	uint64_t ms = at_ns / NS_PER_MS;

	if (h->has_time && ms <= h->written_ms)
		return;
	put_line(h->out, 'c', &ms, 1);
	h->written_ms = ms;
	h->has_time = true;
}

/* Advances the time of the file: writes the samples of the resident size up to at_ns, then the
 * time. */
static void go_to(struct heaptrack *h, uint64_t at_ns)
{
	for (; h->next_sample < h->n_samples && h->sample[h->next_sample].at_ns <= at_ns;
	     h->next_sample++) {
		const struct store_sample *s = &h->sample[h->next_sample];
		uint64_t pages = s->rss_bytes / h->page_bytes;

		put_time(h, s->at_ns);
		put_line(h->out, 'R', &pages, 1);
	}
	put_time(h, at_ns);
}

static int allocated(void *user, const struct query_row *row, struct time_order_tag *tag)
{
	struct heaptrack *h = user;
	uint32_t number;
	int r;

	go_to(h, row->alloc_ns);
	r = kind_number(h, row, &number);
	if (r < 0)
		return r;
	put_line(h->out, '+', (uint64_t[]){number}, 1);
	tag->a = number;
	tag->b = 0;
	return export_check(h->out, h->err);
}

static int freed(void *user, uint64_t at_ns, const struct time_order_tag *tag)
{
	struct heaptrack *h = user;

	go_to(h, at_ns);
	put_line(h->out, '-', &tag->a, 1);
	return 0;
}

static int prepare(struct heaptrack *h, struct query *q, const struct export_options *o)
{
	struct export_stacks stacks;
	size_t n_codes, n_nodes;
	int r = export_stacks_init(&stacks, q, o, h->err); /* names of all codes, at once */

	if (r < 0)
		return r;
	export_stacks_fini(&stacks);
	store_table(h->store, STORE_CODES, &n_codes);
	store_table(h->store, STORE_NODES, &n_nodes);
	h->sample = store_table(h->store, STORE_SAMPLES, &h->n_samples);
	h->page_bytes = store_facts(h->store)->page_bytes;
	if (h->page_bytes == 0)
		h->page_bytes = 4 * KIB;
	h->code_ip = calloc(n_codes + 1, sizeof(*h->code_ip));
	h->node_trace = calloc(n_nodes + 1, sizeof(*h->node_trace));
	h->cap_path = n_nodes + 1;
	h->path = malloc(h->cap_path * sizeof(*h->path));
	if (!h->code_ip || !h->node_trace || !h->path)
		return err_set_memory(h->err, h->cap_path * sizeof(*h->path));
	return text_set_create(true, &h->texts, h->err);
}

int export_heaptrack(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct heaptrack h = {
		.out = out, .err = err, .store = o->context->store, .frames = o->context->frames};
	const struct time_order_calls calls = {export_temp_folder(o), allocated, freed, &h};
	const struct store_facts *facts = store_facts(h.store);
	int r = prepare(&h, q, o);

	if (r < 0)
		goto out;
	put_line(out, 'v', (uint64_t[]){HEAPTRACK_VERSION, HEAPTRACK_FORMAT}, 2);
	fputs("X ", out);
	export_put_cmdline(o, out);
	putc('\n', out);
	put_line(out, 'I', (uint64_t[]){h.page_bytes, facts->memory_bytes / h.page_bytes}, 2);
	r = time_order_each(q, TIME_ORDER_MAX_WAITING, &calls, NULL, err);
	if (r == 0)
		go_to(&h, facts->duration_ns);
out:
	free(h.path);
	free(h.node_trace);
	free(h.code_ip);
	free(h.kind);
	text_set_destroy(h.texts);
	return r;
}
