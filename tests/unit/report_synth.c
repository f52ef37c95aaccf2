/* report_synth.c - see report_synth.h. */
#include "report_synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "store/store_write.h"
#include "util/vec.h"

#define MODULE_BASE 0x400000ull
#define MAX_NODES (SYNTH_MAX_STACKS * (SYNTH_MAX_FRAMES + 1))

void synth_init(struct synth *s, uint64_t duration_ns)
{
	memset(s, 0, sizeof(*s));
	s->facts.duration_ns = duration_ns;
	s->facts.page_bytes = 4096;
	s->ended = "exit";
	s->n_stacks = 1;
	s->n_codes = 1;
}

void synth_fini(struct synth *s)
{
	frames_close(s->frames);
	store_close(s->store);
	free(s->row);
	memset(s, 0, sizeof(*s));
}

uint32_t synth_stack(struct synth *s, const char *const *innermost_first)
{
	CHECK(s->n_stacks < SYNTH_MAX_STACKS);
	for (size_t i = 0; innermost_first[i]; i++) {
		CHECK(i + 1 < SYNTH_MAX_FRAMES);
		s->frame[s->n_stacks][i] = innermost_first[i];
	}
	return s->n_stacks++;
}

struct synth_row *synth_add(struct synth *s, uint32_t stack, uint64_t made_ns, uint64_t freed_ns,
			    uint64_t size)
{
	struct err err = {0};

	CHECK_OK(vec_reserve(&s->row, &s->cap_rows, s->n_rows + 1, sizeof(*s->row), &err));
	s->row[s->n_rows] = (struct synth_row){
		.made_ns = made_ns,
		.freed_ns = freed_ns,
		.size = size,
		.addr = 0x1000000 + s->n_rows * 64,
		.number = s->n_rows,
		.stack = stack,
	};
	return &s->row[s->n_rows++];
}

void synth_keep(struct synth *s, uint32_t stack, uint64_t made_ns, uint64_t size)
{
	synth_add(s, stack, made_ns, SYNTH_NEVER, size);
}

/* ---- figures ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct synth_row *x = a, *y = b;

	if (x->made_ns != y->made_ns)
		return x->made_ns < y->made_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t alive_at(const struct synth *s, uint64_t at_ns, uint64_t *count)
{
	uint64_t n_bytes = 0;

	*count = 0;
	for (size_t i = 0; i < s->n_rows; i++) {
		if (s->row[i].made_ns <= at_ns && s->row[i].freed_ns > at_ns) {
			n_bytes += s->row[i].size;
			++*count;
		}
	}
	return n_bytes;
}

/* The most is alive when something has just been allocated. */
static void find_peak(struct synth *s)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		uint64_t count, n_bytes = alive_at(s, s->row[i].made_ns, &count);

		if (n_bytes > s->facts.peak_bytes) {
			s->facts.peak_bytes = n_bytes;
			s->facts.peak_count = count;
			s->facts.peak_ns = s->row[i].made_ns;
		}
	}
}

static void count_row(struct synth *s, const struct synth_row *r, struct store_stack *stack)
{
	uint64_t duration = s->facts.duration_ns;

	if (stack->n_allocs++ == 0)
		stack->first_ns = r->made_ns;
	stack->last_ns = r->made_ns;
	stack->n_bytes += r->size;
	s->facts.n_bytes += r->size;
	if (r->flags & STORE_FLAG_TEMPORARY) {
		stack->n_temporary++;
		stack->temporary_bytes += r->size;
		s->facts.n_temporary++;
	}
	if (r->made_ns <= s->facts.peak_ns && r->freed_ns > s->facts.peak_ns) {
		stack->peak_bytes += r->size;
		stack->peak_count++;
	}
	if (r->freed_ns != SYNTH_NEVER)
		return;
	stack->n_leaked++;
	stack->leaked_bytes += r->size;
	s->facts.live_count++;
	s->facts.live_bytes += r->size;
	if (r->made_ns < duration / 20)
		stack->leaked_early_bytes += r->size;
	if (r->made_ns >= duration - duration / 4)
		stack->leaked_late_bytes += r->size;
}

/* ---- tables ---- */

struct strings {
	char bytes[8192];
	size_t n_bytes;
	uint64_t end[64];
	size_t n;
};

static uint32_t add_string(struct strings *t, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (t->n > 0 && len == 0)
		return 0;
	CHECK(t->n_bytes + len + 1 <= sizeof(t->bytes) && t->n < ARRAY_LEN(t->end));
	memcpy(t->bytes + t->n_bytes, text ? text : "", len + 1);
	t->n_bytes += len + 1;
	t->end[t->n] = t->n_bytes - 1;
	return (uint32_t)t->n++;
}

static uint32_t code_of(struct synth *s, const char *name)
{
	for (uint32_t i = 1; i < s->n_codes; i++) {
		if (strcmp(s->code[i], name) == 0)
			return i;
	}
	CHECK(s->n_codes < SYNTH_MAX_CODES);
	s->code[s->n_codes] = name;
	return s->n_codes++;
}

static uint32_t node_of(struct store_node *node, size_t *n, struct store_node want)
{
	for (size_t i = 1; i < *n; i++) {
		if (memcmp(&node[i], &want, sizeof(want)) == 0)
			return (uint32_t)i;
	}
	CHECK(*n < MAX_NODES);
	node[*n] = want;
	return (uint32_t)(*n)++;
}

static uint32_t add_nodes(struct synth *s, uint32_t stack, struct store_node *node, size_t *n)
{
	uint8_t end = s->stack_end[stack];
	uint32_t at = 0;
	size_t n_frames = 0;

	while (s->frame[stack][n_frames])
		n_frames++;
	if (end)
		at = node_of(node, n, (struct store_node){.kind = STORE_NODE_END, .end = end});
	for (size_t i = n_frames; i-- > 0;)
		at = node_of(node, n,
			     (struct store_node){.parent = at,
						 .code = code_of(s, s->frame[stack][i]),
						 .n_frames = node[at].n_frames + 1,
						 .kind = STORE_NODE_FRAME,
						 .end = end});
	return at;
}

static bool is_of_library(const char *name)
{
	return strncmp(name, "lib:", 4) == 0;
}

static void put(struct store_writer *w, enum store_table table, const void *item, size_t n)
{
	struct err err = {0};

	CHECK_OK(store_writer_put_table(w, table, item, n, &err));
}

static void put_code(struct synth *s, struct store_writer *w, struct strings *t)
{
	static struct store_node node[MAX_NODES];
	struct store_code code[SYNTH_MAX_CODES] = {{.module = STORE_NO_MODULE}};
	struct store_stack stack[SYNTH_MAX_STACKS] = {0};
	const struct store_module module[] = {
		{.base = MODULE_BASE,
		 .path = add_string(t, SYNTH_PROGRAM),
		 .build_id = add_string(t, "0123456789abcdef")},
		{.base = 2 * MODULE_BASE,
		 .path = add_string(t, s->library ? s->library : SYNTH_LIBRARY)},
	};
	size_t n_nodes = 1;

	memset(node, 0, sizeof(node));
	for (uint32_t i = 1; i < s->n_stacks; i++)
		stack[i].node = add_nodes(s, i, node, &n_nodes);
	for (size_t i = 0; i < s->n_rows; i++)
		count_row(s, &s->row[i], &stack[s->row[i].stack]);
	for (uint32_t i = 1; i < s->n_stacks; i++)
		stack[i].n_releases = s->n_frees[i];
	for (uint32_t i = 1; i < s->n_codes; i++) {
		code[i].module = is_of_library(s->code[i]);
		code[i].addr = (code[i].module + 1) * MODULE_BASE + 16 * i;
	}
	put(w, STORE_MODULES, module, ARRAY_LEN(module));
	put(w, STORE_CODES, code, s->n_codes);
	put(w, STORE_NODES, node, n_nodes);
	put(w, STORE_STACKS, stack, s->n_stacks);
}

static void put_buckets(struct synth *s, struct store_writer *w)
{
	struct store_bucket bucket[SYNTH_N_BUCKETS] = {0};

	s->facts.bucket_ns = s->facts.duration_ns / SYNTH_N_BUCKETS + 1;
	for (size_t i = 0; i < SYNTH_N_BUCKETS; i++) {
		uint64_t start = i * s->facts.bucket_ns, end = start + s->facts.bucket_ns;

		bucket[i].max_bytes = alive_at(s, start, &bucket[i].max_count);
		for (size_t k = 0; k < s->n_rows; k++) {
			uint64_t count, n_bytes;

			if (s->row[k].made_ns < start || s->row[k].made_ns >= end)
				continue;
			n_bytes = alive_at(s, s->row[k].made_ns, &count);
			if (n_bytes > bucket[i].max_bytes)
				bucket[i].max_bytes = n_bytes;
		}
		bucket[i].last_bytes = alive_at(s, end - 1, &bucket[i].last_count);
	}
	put(w, STORE_BUCKETS, bucket, SYNTH_N_BUCKETS);
}

/* A chain is the rows with its number, in order. */
static void put_chains(struct synth *s, struct store_writer *w)
{
	struct store_chain *chain = calloc(s->n_chains + 1, sizeof(*chain));

	for (size_t i = 0; i < s->n_rows; i++) {
		const struct synth_row *r = &s->row[i];
		struct store_chain *c = &chain[r->chain ? r->chain - 1 : s->n_chains];

		if (c->length++ == 0) {
			c->first_row = i;
			c->first_size_bytes = r->size;
			c->alloc_ns = r->made_ns;
		}
		c->last_row = i;
		c->last_size_bytes = r->size;
		c->lifetime_ns = r->freed_ns == SYNTH_NEVER ? 0 : 1 + r->freed_ns - c->alloc_ns;
	}
	put(w, STORE_CHAINS, chain, s->n_chains);
	free(chain);
}

static uint64_t value_of(const struct synth_row *r, unsigned column)
{
	switch (column) {
	case STORE_ALLOC_NS:
		return r->made_ns;
	case STORE_LIFETIME_NS:
		return r->freed_ns == SYNTH_NEVER ? 0 : 1 + r->freed_ns - r->made_ns;
	case STORE_SIZE_BYTES:
		return r->size;
	case STORE_ADDR:
		return r->addr;
	case STORE_STACK:
		return r->stack;
	case STORE_FLAGS:
		return r->flags;
	case STORE_CHAIN:
		return r->chain;
	case STORE_CHAIN_POSITION:
		return r->position;
	default:
		return 0;
	}
}

static void put_rows(const struct synth *s, struct store_writer *w)
{
	uint64_t value[STORE_BLOCK_ROWS];
	struct err err = {0};

	for (size_t first = 0; first < s->n_rows; first += STORE_BLOCK_ROWS) {
		size_t left = s->n_rows - first;
		uint32_t n = left < STORE_BLOCK_ROWS ? (uint32_t)left : STORE_BLOCK_ROWS;

		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			for (uint32_t i = 0; i < n; i++)
				value[i] = value_of(&s->row[first + i], c);
			CHECK_OK(store_writer_put_block(w, c, first / STORE_BLOCK_ROWS, value, n,
							&err));
		}
	}
}

static void put_rest(struct synth *s, struct store_writer *w, struct strings *t)
{
	const struct store_thread thread[] = {{.number = 0},
					      {.number = 1, .tid = 7, .n_allocs = 1}};
	struct store_note note[SYNTH_MAX_NOTES] = {0};

	for (size_t i = 0; i < s->n_notes; i++)
		note[i] = (struct store_note){.level = 2, .text = add_string(t, s->note[i])};
	s->facts.n_rows = s->n_rows;
	s->facts.executable = add_string(t, SYNTH_PROGRAM);
	s->facts.ended = add_string(t, s->ended);
	s->facts.limits = add_string(t, s->limits);
	s->facts.cgroup = add_string(t, s->cgroup);
	for (size_t i = 0; i < s->n_samples; i++) {
		if (s->sample[i].rss_bytes > s->facts.rss_peak_bytes)
			s->facts.rss_peak_bytes = s->sample[i].rss_bytes;
	}
	put(w, STORE_NOTES, note, s->n_notes);
	put(w, STORE_THREADS, thread, ARRAY_LEN(thread));
	put(w, STORE_SAMPLES, s->sample, s->n_samples);
	put(w, STORE_ALLOCATOR_SAMPLES, s->allocator_sample, s->n_allocator_samples);
	put(w, STORE_FACTS, &s->facts, 1);
	put(w, STORE_STRING_BYTES, t->bytes, t->n_bytes);
	put(w, STORE_STRING_ENDS, t->end, t->n);
}

static int resolve(void *user, struct frames *f, const uint32_t *code, size_t n, struct err *err)
{
	const struct synth *s = user;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *name = s->code[code[i]];
		const struct frame_names known = {
			.function = is_of_library(name) ? name + 4 : name,
			.source = is_of_library(name) ? NULL : "/src/server.c",
			.line = code[i],
		};

		r = frames_put(f, code[i], &known, name[0] != '?', err);
	}
	return r;
}

void synth_open(struct synth *s)
{
	const struct store_identity identity = {.size_bytes = 1,
						.changed_ns = s->is_growing ? STORE_GROWING_NS : 1};
	const char *tmp = getenv("TMPDIR");
	struct store_writer *w = NULL;
	struct strings t = {.n = 0};
	struct err err = {0};
	char path[300];

	snprintf(path, sizeof(path), "%s/report_synth.%d.store", tmp && tmp[0] ? tmp : "/tmp",
		 (int)getpid());
	if (s->n_rows)
		qsort(s->row, s->n_rows, sizeof(*s->row), compare_rows);
	find_peak(s);
	add_string(&t, "");
	CHECK_OK(store_writer_create(path, &identity, &w, &err));
	put_code(s, w, &t);
	put_buckets(s, w);
	put_chains(s, w);
	if (!s->without_rows)
		put_rows(s, w);
	put_rest(s, w, &t);
	CHECK_OK(store_writer_commit(w, s->without_rows ? 0 : s->n_rows, &err));
	store_writer_destroy(w);
	CHECK_OK(store_open(path, &s->store, &err));
	unlink(path);
	CHECK_OK(frames_open(s->store, NULL, &s->frames, &err));
	frames_set_resolver(s->frames, resolve, s);
}
