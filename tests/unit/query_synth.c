/* query_synth.c - see query_synth.h. */
#include "query_synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_write.h"

#define N_CODES 60u
#define N_NODES 300u
#define N_STACKS 120u
#define N_THREADS 6u
#define N_REGIONS 3u
#define N_BUCKETS 40u

static const char *const world_functions[] = {
	"main",        "parse_line",     "operator new(unsigned long)",
	"Cache::fill", "Cache::evict",   "std::vector<int>::push_back",
	"read_all",    "server::handle", "malloc",
	"json_parse",  "tls::handshake", "worker",
};
static const char *const world_sources[] = {"/src/main.c", "/src/cache.cpp", "/src/json/parse.c",
					    "/usr/include/c++/12/vector", "/src/net/tls.rs"};
static const char *const world_modules[] = {"/opt/app/bin/server", "/usr/lib/libstdc++.so.6",
					    "/usr/lib/libtls.so", NULL};

#define ENVIRONMENT_STRING 4u /* behind the empty one and three modules */

/* ---- making it ---- */

/* Names of functions and sources; binaries and addresses are there. */
static void world_name_codes(struct world *w)
{
	for (unsigned c = 1; c < w->n_codes; c++) {
		w->n_code_frames[c] = world_below(w, 4) ? 1 : 1 + (unsigned)world_below(w, 3);
		for (unsigned i = 0; i < w->n_code_frames[c]; i++) {
			struct world_frame *f = &w->code_frame[c][i];

			f->module = w->code_module[c];
			if (world_below(w, 10))
				f->function = world_functions[world_below(w, 12)];
			if (f->function && world_below(w, 5))
				f->source = world_sources[world_below(w, 5)];
			if (f->source)
				f->line = (uint32_t)world_below(w, 9);
		}
		if (!w->code_frame[c][0].function)
			w->n_code_frames[c] = 1; /* nothing known of it */
		for (unsigned i = 1; i < w->n_code_frames[c]; i++) {
			if (!w->code_frame[c][i].function)
				w->code_frame[c][i].function = "worker";
		}
	}
}

static void world_make_stacks(struct world *w)
{
	for (uint32_t n = 1; n < w->n_nodes; n++) {
		w->node_parent[n] = n < 4 ? 0 : (uint32_t)world_below(w, n < 60 ? n : 60);
		/* 0: a mark, no frame */
		w->node_code[n] =
			world_below(w, 20) ? 1 + (uint32_t)world_below(w, w->n_codes - 1) : 0;
	}
	for (uint32_t s = 1; s < w->n_stacks; s++)
		w->stack_node[s] = (uint32_t)world_below(w, w->n_nodes);
}

/* Many times the same moment, and gaps of all lengths. */
static uint64_t world_gap(struct world *w)
{
	switch (world_below(w, 8)) {
	case 0:
	case 1:
		return 0;
	case 2:
		return world_below(w, 100000);
	case 3:
		return world_below(w, 30) ? world_below(w, 3) : world_below(w, 30000000);
	default:
		return world_below(w, 2000);
	}
}

static uint64_t world_size(struct world *w)
{
	switch (world_below(w, 6)) {
	case 0:
		return world_below(w, 3) * 24;
	case 1:
		return world_below(w, 100000);
	case 2:
		return world_below(w, 20) ? 4096 : 1 + world_below(w, 5000000);
	default:
		return 8 * world_below(w, 64);
	}
}

static void world_link(struct world *w, uint64_t from, uint64_t to)
{
	struct world_row *a = &w->row[from], *b = &w->row[to];

	if (a->chain == WORLD_NEVER) {
		a->chain = w->n_chains;
		w->chain[w->n_chains++] = (struct world_chain){from, from, 1};
	}
	a->free_ns = b->alloc_ns;
	a->flags |= STORE_FLAG_MOVED;
	b->chain = a->chain;
	b->position = a->position + 1;
	b->flags = (b->flags & ~(uint64_t)STORE_KIND_MASK) | STORE_KIND_REALLOC;
	w->chain[b->chain].last = to;
	w->chain[b->chain].length++;
}

static void world_make_row(struct world *w, uint64_t i, uint64_t now)
{
	struct world_row *r = &w->row[i];
	uint64_t stack = world_below(w, 3) ? world_below(w, 12) : world_below(w, w->n_stacks - 10);

	*r = (struct world_row){
		.alloc_ns = now,
		.free_ns = WORLD_NEVER,
		.size = world_size(w),
		.extra = world_below(w, 3) * 8,
		.addr = world_below(w, 50) ? 0x10000000 + 16 * world_below(w, 4 * w->n_rows)
					   : 0x7f0000000000 + 4096 * world_below(w, 1000),
		.flags = world_below(w, 3) | (world_below(w, 4) ? STORE_FLAG_MAIN_ARENA : 0) |
			 (world_below(w, 9) ? 0 : STORE_FLAG_MMAPED) |
			 (i % 3 ? 0 : i / 3 % 5 << STORE_ALLOCATOR_SHIFT) |
			 (i % 20 ? 0 : STORE_FLAG_CROSSED),
		.marker = (i / 97) % 3,
		.chain = WORLD_NEVER,
		.stack = (uint32_t)stack,
		.thread = (uint32_t)world_below(w, w->n_threads),
	};
	if (i > 4 && world_below(w, 6) == 0) {
		uint64_t from = i - 1 - world_below(w, i > 200 ? 200 : i - 1);

		if (w->row[from].free_ns == WORLD_NEVER)
			world_link(w, from, i);
	}
}

/* Some live on, the others die; those that a realloc ended are dead already. */
static void world_kill(struct world *w)
{
	for (uint64_t i = 0; i < w->n_rows; i++) {
		struct world_row *r = &w->row[i];

		if (r->free_ns == WORLD_NEVER && (world_below(w, 8) && r->stack != 5)) {
			uint64_t most = world_below(w, 3) ? 5000 : w->duration / 2;

			r->free_ns = r->alloc_ns + world_below(w, most + 1);
			if (r->free_ns > w->duration)
				r->free_ns = WORLD_NEVER;
			else if (world_below(w, 3) == 0)
				r->flags |= STORE_FLAG_TEMPORARY;
		}
		if (r->free_ns != WORLD_NEVER) {
			r->free_stack = (uint32_t)world_below(w, w->n_stacks);
			r->free_thread = (uint32_t)world_below(w, w->n_threads);
		}
	}
}

/* ---- what is true of it ---- */

int world_compare_events(const void *a, const void *b)
{
	const struct world_event *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void world_peak(const struct world *w, const bool *chosen, uint64_t *at, uint64_t *n_bytes,
		uint64_t *count)
{
	struct world_event *e = malloc((2 * w->n_rows + 1) * sizeof(*e));
	uint64_t bytes_now = 0, count_now = 0;
	size_t n = 0;

	*at = *n_bytes = *count = 0;
	for (size_t i = 0; i < w->n_rows; i++) {
		const struct world_row *r = &w->row[i];

		if (!chosen[i])
			continue;
		e[n++] = (struct world_event){r->alloc_ns, r->size, false};
		if (r->free_ns != WORLD_NEVER)
			e[n++] = (struct world_event){r->free_ns, r->size, true};
	}
	qsort(e, n, sizeof(*e), world_compare_events);
	for (size_t i = 0; i < n; i++) {
		bytes_now += e[i].is_death ? -e[i].size : e[i].size;
		count_now += e[i].is_death ? UINT64_MAX : 1;
		if (i + 1 < n && e[i + 1].at == e[i].at)
			continue;
		if (bytes_now > *n_bytes || (i == 0 && bytes_now == 0)) {
			*n_bytes = bytes_now;
			*count = count_now;
			*at = e[i].at;
		}
	}
	if (*n_bytes == 0)
		*at = *count = 0;
	free(e);
}

static void world_count_stack(struct world *w, uint32_t stack, bool *chosen)
{
	struct store_stack *s = &w->figures[stack];
	uint64_t unused;

	*s = (struct store_stack){.node = w->stack_node[stack]};
	for (size_t i = 0; i < w->n_rows; i++) {
		const struct world_row *r = &w->row[i];

		chosen[i] = r->stack == stack;
		s->n_releases += r->free_ns != WORLD_NEVER && r->free_stack == stack;
		if (!chosen[i])
			continue;
		if (s->n_allocs++ == 0) {
			s->first_ns = r->alloc_ns;
			s->min_size_bytes = r->size;
		}
		s->last_ns = r->alloc_ns;
		s->n_bytes += r->size;
		s->extra_bytes += r->extra;
		if (r->size < s->min_size_bytes)
			s->min_size_bytes = r->size;
		if (r->size > s->max_size_bytes)
			s->max_size_bytes = r->size;
		if (r->free_ns == WORLD_NEVER) {
			s->n_leaked++;
			s->leaked_bytes += r->size;
			s->leaked_extra_bytes += r->extra;
			if (r->alloc_ns < w->duration / 20)
				s->leaked_early_bytes += r->size;
			if (r->alloc_ns >= w->duration - w->duration / 4)
				s->leaked_late_bytes += r->size;
		} else {
			s->lifetime_sum_ns += r->free_ns - r->alloc_ns;
		}
		if (r->flags & STORE_FLAG_TEMPORARY) {
			s->n_temporary++;
			s->temporary_bytes += r->size;
		}
		if (world_is_alive(r, w->peak_ns)) {
			s->peak_bytes += r->size;
			s->peak_count++;
		}
	}
	world_peak(w, chosen, &s->max_at_ns, &s->max_bytes, &unused);
}

static void world_count(struct world *w)
{
	bool *chosen = malloc(w->n_rows + 1);

	memset(chosen, true, w->n_rows);
	world_peak(w, chosen, &w->peak_ns, &w->peak_bytes, &w->peak_count);
	for (uint32_t s = 0; s < w->n_stacks; s++)
		world_count_stack(w, s, chosen);
	free(chosen);
}

void world_pause(struct world *w, uint64_t pause_ns)
{
	w->duration += pause_ns;
	world_count(w);
}

static void world_reserve(struct world *w, uint32_t n_codes, uint32_t n_nodes, uint32_t n_stacks)
{
	w->n_codes = n_codes;
	w->n_nodes = n_nodes;
	w->n_stacks = n_stacks;
	w->code_frame = calloc(n_codes, sizeof(*w->code_frame));
	w->n_code_frames = calloc(n_codes, sizeof(*w->n_code_frames));
	w->code_module = calloc(n_codes, sizeof(*w->code_module));
	w->code_addr = calloc(n_codes, sizeof(*w->code_addr));
	w->code_offset = calloc(n_codes, sizeof(*w->code_offset));
	w->executable = "";
	w->node_parent = calloc(n_nodes, sizeof(*w->node_parent));
	w->node_code = calloc(n_nodes, sizeof(*w->node_code));
	w->stack_node = calloc(n_stacks, sizeof(*w->stack_node));
	w->figures = calloc(n_stacks, sizeof(*w->figures));
}

void world_make(struct world *w, uint64_t seed, size_t n_rows)
{
	uint64_t now = 0;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->n_rows = n_rows;
	w->row = calloc(n_rows + 1, sizeof(*w->row));
	w->chain = calloc(n_rows + 1, sizeof(*w->chain));
	w->start_realtime = 1600000000123456789ull;
	world_reserve(w, N_CODES, N_NODES, N_STACKS);
	w->n_threads = N_THREADS;
	w->n_regions = N_REGIONS;
	w->tid = calloc(N_THREADS, sizeof(*w->tid));
	w->region_start = calloc(N_REGIONS, sizeof(*w->region_start));
	w->region_end = calloc(N_REGIONS, sizeof(*w->region_end));
	for (uint32_t c = 1; c < w->n_codes; c++) {
		uint32_t module = (uint32_t)world_below(w, 4);

		w->code_module[c] = world_modules[module];
		w->code_addr[c] = 0x400000 * (module + 1) + 16 * c;
		w->code_offset[c] = module < 3 ? 16 * c : w->code_addr[c];
	}
	w->allocator[0] = "libc";
	for (unsigned i = 0; i < 3; i++)
		w->allocator[i + 1] = world_modules[i];
	world_name_codes(w);
	world_make_stacks(w);
	for (unsigned t = 0; t < w->n_threads; t++)
		w->tid[t] = t == 4 ? 101 : 100 + t; /* one number is used twice */
	w->region_start[0] = 0x10000000;
	w->region_end[0] = 0x10000000 + 32 * n_rows;
	w->region_start[1] = 0x7f0000000000;
	w->region_end[1] = 0x7f0000000000 + 4096 * 500;
	for (size_t i = 0; i < n_rows; i++) {
		now += world_gap(w);
		world_make_row(w, i, now);
	}
	w->duration = now + world_below(w, 1000);
	world_kill(w);
	world_count(w);
}

void world_free(struct world *w)
{
	free(w->code_frame);
	free(w->n_code_frames);
	free(w->code_module);
	free(w->code_addr);
	free(w->code_offset);
	free(w->node_parent);
	free(w->node_code);
	free(w->stack_node);
	free(w->figures);
	free(w->tid);
	free(w->region_start);
	free(w->region_end);
	free(w->row);
	free(w->chain);
}

/* ---- as a store ---- */

static uint64_t world_value(const struct world_row *r, unsigned c)
{
	switch (c) {
	case STORE_ALLOC_NS:
		return r->alloc_ns;
	case STORE_LIFETIME_NS:
		return r->free_ns == WORLD_NEVER ? 0 : 1 + r->free_ns - r->alloc_ns;
	case STORE_SIZE_BYTES:
		return r->size;
	case STORE_ADDR:
		return r->addr;
	case STORE_STACK:
		return r->stack;
	case STORE_THREAD:
		return r->thread;
	case STORE_EXTRA_BYTES:
		return r->extra;
	case STORE_FLAGS:
		return r->flags;
	case STORE_MARKER:
		return r->marker;
	case STORE_FREE_STACK:
		return r->free_stack;
	case STORE_FREE_THREAD:
		return r->free_thread;
	case STORE_CHAIN:
		return r->chain + 1; /* WORLD_NEVER becomes 0 */
	default:
		return r->position;
	}
}

static int world_put_columns(const struct world *w, struct store_writer *sw, struct err *err)
{
	uint64_t value[STORE_BLOCK_ROWS];
	int r = 0;

	for (uint64_t first = 0; first < w->n_rows; first += STORE_BLOCK_ROWS) {
		uint64_t left = w->n_rows - first;
		uint32_t n = left < STORE_BLOCK_ROWS ? (uint32_t)left : STORE_BLOCK_ROWS;

		for (unsigned c = 0; c < STORE_N_COLUMNS && r >= 0; c++) {
			for (uint32_t i = 0; i < n; i++)
				value[i] = world_value(&w->row[first + i], c);
			r = store_writer_put_block(sw, c, first / STORE_BLOCK_ROWS, value, n, err);
		}
	}
	return r;
}

static int world_put_code(const struct world *w, struct store_writer *sw, struct err *err)
{
	struct store_node *node = calloc(w->n_nodes, sizeof(*node));
	struct store_code *code = calloc(w->n_codes, sizeof(*code));
	struct store_module module[3];
	char bytes[300] = "";
	uint64_t ends[ENVIRONMENT_STRING + 1] = {0};
	size_t at = 1;
	int r;

	for (uint32_t m = 0; m < 3; m++) {
		size_t len = strlen(world_modules[m]);

		memcpy(bytes + at, world_modules[m], len + 1);
		ends[m + 1] = at + len;
		at += len + 1;
		module[m] = (struct store_module){.base = 0x400000 * (m + 1), .path = m + 1};
	}
	for (uint32_t c = 0; c < w->n_codes; c++) {
		code[c].addr = w->code_addr[c];
		code[c].module = STORE_NO_MODULE;
		for (uint32_t m = 0; m < 3; m++) {
			if (w->code_module[c] == world_modules[m])
				code[c].module = m;
		}
	}
	for (uint32_t n = 1; n < w->n_nodes; n++)
		node[n] = (struct store_node){
			.parent = w->node_parent[n],
			.code = w->node_code[n],
			.n_frames = node[w->node_parent[n]].n_frames + !!w->node_code[n],
			.kind = w->node_code[n] ? STORE_NODE_FRAME : STORE_NODE_END};
	/* A list of variables: each of them ends with a zero byte, and then the string does. */
	snprintf(bytes + at, sizeof(bytes) - at, "%s", w->environment ? w->environment : "");
	ends[ENVIRONMENT_STRING] = at + (w->environment ? strlen(w->environment) + 1 : 0);
	at = ends[ENVIRONMENT_STRING] + 1;
	r = store_writer_put_table(sw, STORE_STRING_BYTES, bytes, at, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_STRING_ENDS, ends, ENVIRONMENT_STRING + 1,
					   err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_MODULES, module, 3, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_CODES, code, w->n_codes, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_NODES, node, w->n_nodes, err);
	free(node);
	free(code);
	return r;
}

static int world_put_chains(const struct world *w, struct store_writer *sw, struct err *err)
{
	struct store_chain *c = calloc(w->n_chains + 1, sizeof(*c));
	int r;

	for (size_t i = 0; i < w->n_chains; i++) {
		const struct world_row *first = &w->row[w->chain[i].first];
		const struct world_row *last = &w->row[w->chain[i].last];

		c[i] = (struct store_chain){
			.first_row = w->chain[i].first,
			.last_row = w->chain[i].last,
			.first_size_bytes = first->size,
			.last_size_bytes = last->size,
			.alloc_ns = first->alloc_ns,
			.lifetime_ns = last->free_ns == WORLD_NEVER
					       ? 0
					       : 1 + last->free_ns - first->alloc_ns,
			.length = w->chain[i].length,
		};
	}
	r = store_writer_put_table(sw, STORE_CHAINS, c, w->n_chains, err);
	free(c);
	return r;
}

/* What ingest would have counted while it read the events. */
static int world_put_buckets(const struct world *w, uint64_t width, struct store_writer *sw,
			     struct err *err)
{
	struct world_event *e = malloc((2 * w->n_rows + 1) * sizeof(*e));
	struct store_bucket bucket[N_BUCKETS] = {0};
	size_t n = 0, at = 0;
	int r;

	for (size_t i = 0; i < w->n_rows; i++) {
		const struct world_row *row = &w->row[i];
		struct store_bucket *b = &bucket[row->alloc_ns / width % N_BUCKETS];

		e[n++] = (struct world_event){row->alloc_ns, row->size, false};
		if (row->free_ns != WORLD_NEVER)
			e[n++] = (struct world_event){row->free_ns, row->size, true};
		b->n_leaked += row->free_ns == WORLD_NEVER;
		b->leaked_bytes += row->free_ns == WORLD_NEVER ? row->size : 0;
	}
	qsort(e, n, sizeof(*e), world_compare_events);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		struct store_bucket *b = &bucket[i];

		b->last_bytes = b->max_bytes = i ? b[-1].last_bytes : 0;
		b->last_count = b->max_count = i ? b[-1].last_count : 0;
		for (; at < n && e[at].at < (i + 1) * width; at++) {
			b->last_bytes += e[at].is_death ? -e[at].size : e[at].size;
			b->last_count += e[at].is_death ? UINT64_MAX : 1;
			*(e[at].is_death ? &b->n_releases : &b->n_allocs) += 1;
			*(e[at].is_death ? &b->release_bytes : &b->alloc_bytes) += e[at].size;
			if (at + 1 < n && e[at + 1].at == e[at].at)
				continue;
			if (b->last_bytes > b->max_bytes)
				b->max_bytes = b->last_bytes;
			if (b->last_count > b->max_count)
				b->max_count = b->last_count;
		}
	}
	r = store_writer_put_table(sw, STORE_BUCKETS, bucket, N_BUCKETS, err);
	free(e);
	return r;
}

static int world_put_rest(const struct world *w, struct store_writer *sw, struct err *err)
{
	struct store_thread thread[N_THREADS] = {0};
	struct store_region region[N_REGIONS] = {0};
	struct store_allocator allocator[3] = {0}; /* with the names of the modules */
	struct store_facts facts = {
		.n_rows = w->n_rows,
		.duration_ns = w->duration,
		.start_realtime_ns = w->start_realtime,
		.maps_ns = w->maps_ns,
		.environment = w->environment ? ENVIRONMENT_STRING : 0,
		.peak_ns = w->peak_ns,
		.peak_bytes = w->peak_bytes,
		.peak_count = w->peak_count,
		.page_bytes = 4096,
		.bucket_ns = w->duration / N_BUCKETS + 1,
	};
	int r;

	for (unsigned t = 0; t < w->n_threads; t++)
		thread[t].tid = w->tid[t];
	for (unsigned i = 0; i < w->n_regions; i++) {
		region[i].start = w->region_start[i];
		region[i].end = w->region_end[i];
	}
	for (uint32_t i = 0; i < 3; i++) {
		allocator[i].number = i + 1;
		allocator[i].name = i + 1;
	}
	r = store_writer_put_table(sw, STORE_FACTS, &facts, 1, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_ALLOCATORS, allocator, 3, err);
	if (r >= 0 && w->n_calls)
		r = store_writer_put_table(sw, STORE_CALLS, w->call, w->n_calls, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_THREADS, thread, w->n_threads, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_REGIONS, region, w->n_regions, err);
	if (r >= 0)
		r = store_writer_put_table(sw, STORE_STACKS, w->figures, w->n_stacks, err);
	if (r >= 0)
		r = world_put_buckets(w, facts.bucket_ns, sw, err);
	return r;
}

static int world_resolve(void *user, struct frames *f, const uint32_t *code, size_t n,
			 struct err *err)
{
	const struct world *w = user;

	for (size_t i = 0; i < n; i++) {
		struct frame_names names[3] = {0};
		unsigned n_names = w->n_code_frames[code[i]];
		int r;

		for (unsigned k = 0; k < n_names; k++) {
			const struct world_frame *from = &w->code_frame[code[i]][k];

			names[k].function = from->function;
			names[k].source = from->source;
			names[k].line = from->line;
			names[k].is_inline = k + 1 < n_names;
		}
		if (n_names && !names[0].function)
			n_names = 0;
		r = frames_put(f, code[i], names, n_names, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int world_open(struct world *w, struct store **store, struct frames **frames, struct err *err)
{
	const struct store_identity identity = {.size_bytes = w->n_rows};
	const char *tmp = getenv("TMPDIR");
	struct store_writer *sw = NULL;
	char path[300];
	int r;

	snprintf(path, sizeof(path), "%s/query_synth.%d.store", tmp && tmp[0] ? tmp : "/tmp",
		 (int)getpid());
	r = store_writer_create(path, &identity, &sw, err);
	if (r >= 0)
		r = world_put_columns(w, sw, err);
	if (r >= 0)
		r = world_put_code(w, sw, err);
	if (r >= 0)
		r = world_put_chains(w, sw, err);
	if (r >= 0)
		r = world_put_rest(w, sw, err);
	if (r >= 0)
		r = store_writer_commit(sw, w->n_rows, err);
	store_writer_destroy(sw);
	if (r >= 0)
		r = store_open(path, store, err);
	unlink(path);
	if (r >= 0)
		r = frames_open(*store, NULL, frames, err);
	if (r >= 0)
		frames_set_resolver(*frames, world_resolve, w);
	return r;
}

/* ---- from a store ---- */

static void load_rows(struct world *w, const struct store *store)
{
	static uint64_t v[STORE_N_COLUMNS][STORE_BLOCK_ROWS];

	for (uint64_t i = 0; i < w->n_rows; i++) {
		uint64_t at = i % STORE_BLOCK_ROWS, life;

		for (unsigned c = 0; at == 0 && c < STORE_N_COLUMNS; c++)
			store_read_block(store, c, i / STORE_BLOCK_ROWS, v[c]);
		life = v[STORE_LIFETIME_NS][at];
		w->row[i] = (struct world_row){
			.alloc_ns = v[STORE_ALLOC_NS][at],
			.free_ns = life ? v[STORE_ALLOC_NS][at] + life - 1 : WORLD_NEVER,
			.size = v[STORE_SIZE_BYTES][at],
			.extra = v[STORE_EXTRA_BYTES][at],
			.addr = v[STORE_ADDR][at],
			.flags = v[STORE_FLAGS][at],
			.marker = v[STORE_MARKER][at],
			.chain = v[STORE_CHAIN][at] - 1,
			.position = v[STORE_CHAIN_POSITION][at],
			.stack = (uint32_t)v[STORE_STACK][at],
			.thread = (uint32_t)v[STORE_THREAD][at],
			.free_stack = (uint32_t)v[STORE_FREE_STACK][at],
			.free_thread = (uint32_t)v[STORE_FREE_THREAD][at],
		};
	}
}

static void load_code(struct world *w, const struct store *store)
{
	for (uint32_t c = 1; c < w->n_codes; c++) {
		const struct store_code *code = store_code(store, c);

		w->code_addr[c] = w->code_offset[c] = code->addr;
		if (code->module != STORE_NO_MODULE) {
			const struct store_module *m = store_module(store, code->module);

			w->code_module[c] = store_string(store, m->path, NULL);
			w->code_offset[c] -= m->base;
		}
	}
	for (uint32_t n = 0; n < w->n_nodes; n++) {
		w->node_parent[n] = store_node(store, n)->parent;
		w->node_code[n] = store_node(store, n)->code;
	}
	for (uint32_t s = 0; s < w->n_stacks; s++) {
		w->stack_node[s] = store_stack(store, s)->node;
		w->figures[s] = *store_stack(store, s);
	}
	world_name_codes(w);
}

static void load_rest(struct world *w, const struct store *store)
{
	size_t n_threads, n_regions, n_allocators;
	const struct store_allocator *a = store_table(store, STORE_ALLOCATORS, &n_allocators);
	const struct store_thread *thread = store_table(store, STORE_THREADS, &n_threads);
	const struct store_region *region = store_table(store, STORE_REGIONS, &n_regions);

	w->n_threads = (uint32_t)n_threads;
	w->n_regions = (uint32_t)n_regions;
	w->tid = calloc(n_threads + 1, sizeof(*w->tid));
	w->region_start = calloc(n_regions + 1, sizeof(*w->region_start));
	w->region_end = calloc(n_regions + 1, sizeof(*w->region_end));
	for (size_t i = 0; i < n_threads; i++)
		w->tid[i] = thread[i].tid;
	for (size_t i = 0; i < n_regions; i++) {
		w->region_start[i] = region[i].start;
		w->region_end[i] = region[i].end;
	}
	w->allocator[0] = "libc";
	for (size_t i = 0; i < n_allocators; i++)
		w->allocator[a[i].number] = store_string(store, a[i].name, NULL);
	for (size_t i = 0; i < w->n_chains; i++) {
		const struct store_chain *c = store_chain(store, i);

		w->chain[i] = (struct world_chain){c->first_row, c->last_row, c->length};
	}
}

int world_load(struct world *w, uint64_t seed, const struct store *store, struct frames **frames,
	       struct err *err)
{
	const struct store_facts *facts = store_facts(store);
	size_t n_codes, n_nodes;
	int r;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->n_rows = store_n_rows(store);
	store_table(store, STORE_CHAINS, &w->n_chains);
	store_table(store, STORE_CODES, &n_codes);
	store_table(store, STORE_NODES, &n_nodes);
	w->row = calloc(w->n_rows + 1, sizeof(*w->row));
	w->chain = calloc(w->n_chains + 1, sizeof(*w->chain));
	w->duration = facts->duration_ns;
	w->start_realtime = facts->start_realtime_ns;
	world_reserve(w, (uint32_t)n_codes, (uint32_t)n_nodes, (uint32_t)store_n_stacks(store));
	w->executable = store_string(store, facts->executable, NULL);
	load_rows(w, store);
	load_code(w, store);
	load_rest(w, store);
	r = frames_open(store, NULL, frames, err);
	if (r >= 0)
		frames_set_resolver(*frames, world_resolve, w);
	return r;
}
