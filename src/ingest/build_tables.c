/* ingest/build_tables.c - see build_tables.h. */
#include "ingest/build_tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "recording/proc_maps.h"
#include "util/vec.h"

#define ITEMS_PER_TRIM 65536u
#define ITEMS_PER_PIECE 64u /* of a table that is written in pieces */
#define MAX_REGIONS 1000000u

/* The strings of the store. Equal strings are kept once, unless another string with the same hash
 * came first. */
struct strings {
	char *bytes;
	size_t n_bytes, cap_bytes;
	uint64_t *end;
	size_t n, cap;
	struct map of_hash; /* hash -> number of the first string with it */
};

static const char *string_at(const struct strings *s, size_t number, size_t *len)
{
	uint64_t start = number ? s->end[number - 1] + 1 : 0;

	*len = (size_t)(s->end[number] - start);
	return s->bytes + start;
}

static int add_string(struct strings *s, const char *text, size_t len, uint32_t *ret,
		      struct err *err)
{
	uint64_t *number = NULL;
	bool is_new = false;
	size_t old_len = 0;
	int r = map_add(&s->of_hash, hash_bytes(text, len), &number, &is_new, err);

	if (r < 0)
		return r;
	if (!is_new) {
		const char *old = string_at(s, (size_t)*number, &old_len);

		if (old_len == len && memcmp(old, text, len) == 0) {
			*ret = (uint32_t)*number;
			return 0;
		}
	}
	r = vec_reserve(&s->bytes, &s->cap_bytes, s->n_bytes + len + 1, 1, err);
	if (r == 0)
		r = vec_reserve(&s->end, &s->cap, s->n + 1, sizeof(*s->end), err);
	if (r < 0)
		return r;
	if (len)
		memcpy(s->bytes + s->n_bytes, text, len);
	s->bytes[s->n_bytes + len] = 0;
	s->end[s->n] = s->n_bytes + len;
	s->n_bytes += len + 1;
	if (is_new)
		*number = s->n;
	*ret = (uint32_t)s->n++;
	return 0;
}

/* The functions below share one result: after the first failure the others do nothing. */
struct tables {
	struct build *b;
	struct strings strings;
	int result;
	struct err *err;
};

static uint32_t put_string(struct tables *t, const char *text, size_t len)
{
	uint32_t number = 0;

	if (t->result == 0)
		t->result =
			add_string(&t->strings, text ? text : "", text ? len : 0, &number, t->err);
	return number;
}

static uint32_t put_text(struct tables *t, const struct metadata_text *text)
{
	return put_string(t, text->bytes, text->len);
}

static uint32_t put_hex(struct tables *t, const struct metadata_text *bytes)
{
	static const char digit[] = "0123456789abcdef";
	char text[129];
	size_t n = bytes->len < 64 ? bytes->len : 64;

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digit[(uint8_t)bytes->bytes[i] >> 4];
		text[2 * i + 1] = digit[(uint8_t)bytes->bytes[i] & 15];
	}
	return put_string(t, text, 2 * n);
}

static void put_table(struct tables *t, enum store_table table, const void *item, size_t n)
{
	if (t->result == 0)
		t->result = store_writer_put_table(t->b->writer, table, item, n, t->err);
}

static void put_spilled(struct tables *t, enum store_table table, const struct spill *items,
			size_t n)
{
	if (t->result == 0)
		t->result = store_writer_put_spilled(t->b->writer, table, items, n, t->err);
}

/* Zeroed memory for n items of a table; never NULL when t->result is 0. */
static void *make_items(struct tables *t, size_t n, size_t item_bytes)
{
	void *items = t->result == 0 ? calloc(n + 1, item_bytes) : NULL;

	if (!items && t->result == 0)
		t->result = err_set_memory(t->err, (n + 1) * item_bytes);
	return items;
}

static uint64_t ns_of(const struct tables *t, uint64_t ticks)
{
	return timebase_ns(&t->b->rec->time, ticks);
}

/* ---- code and stacks ---- */

struct code_numbers {
	struct map of_hash; /* hash of (address, module) -> the newest code with it */
	uint32_t *next; /* by code: an older one with the same hash; 0: none */
	size_t cap_next;
	struct store_code *code;
	size_t n, cap;
};

static int find_code(struct code_numbers *c, const struct stack_node *n, uint32_t *ret,
		     struct err *err)
{
	uint64_t *head = NULL;
	int r = map_add(&c->of_hash, hash_pair64(n->addr, n->module), &head, NULL, err);

	if (r < 0)
		return r;
	for (uint32_t i = (uint32_t)*head; i; i = c->next[i]) {
		if (c->code[i].addr == n->addr && c->code[i].module == n->module) {
			*ret = i;
			return 0;
		}
	}
	r = vec_reserve(&c->code, &c->cap, c->n + 1, sizeof(*c->code), err);
	if (r == 0)
		r = vec_reserve(&c->next, &c->cap_next, c->n + 1, sizeof(*c->next), err);
	if (r < 0)
		return r;
	c->code[c->n] = (struct store_code){
		.addr = n->addr,
		.module = n->module == MODULE_MAP_NONE ? STORE_NO_MODULE : n->module,
		.generation = n->generation,
	};
	c->next[c->n] = (uint32_t)*head;
	*head = c->n;
	*ret = (uint32_t)c->n++;
	return 0;
}

/* The nodes of the store: the nodes of stacks that calls name, and their parents, in the order of
 * the stack numbers. */
struct node_numbers {
	uint32_t *of; /* by node: its number in the store, + 1; 0: none yet */
	uint32_t *node; /* by number in the store */
	size_t n;
};

/* Numbers a node and its parents that have no number yet, the outermost first. */
static void number_nodes(const struct stacks *stacks, uint32_t node, struct node_numbers *m)
{
	size_t n_new = 0;

	for (uint32_t i = node; !m->of[i]; i = stacks_get(stacks, i)->parent) {
		m->of[i] = 1; /* set below */
		n_new++;
	}
	m->n += n_new;
	for (size_t k = 1; k <= n_new; k++, node = stacks_get(stacks, node)->parent) {
		m->of[node] = (uint32_t)(m->n - k + 1);
		m->node[m->n - k] = node;
	}
}

static void begin_table(struct tables *t, enum store_table table)
{
	if (t->result == 0)
		t->result = store_writer_begin_table(t->b->writer, table, t->err);
}

static void add_items(struct tables *t, enum store_table table, const void *item, size_t n)
{
	if (t->result == 0)
		t->result = store_writer_add_items(t->b->writer, table, item, n, t->err);
}

static struct store_node make_node(struct tables *t, const struct stacks *stacks, uint32_t node,
				   const struct node_numbers *m, struct code_numbers *codes)
{
	const struct stack_node *from = stacks_get(stacks, node);
	uint32_t code = 0;

	if (t->result == 0 && from->kind == STACK_NODE_FRAME)
		t->result = find_code(codes, from, &code, t->err);
	return (struct store_node){
		.parent = m->of[from->parent] - 1,
		.code = code,
		.n_frames = from->n_frames,
		.kind = from->kind,
		.end = from->end,
		.has_guess = from->has_guess,
	};
}

static void put_nodes(struct tables *t, const struct stacks *stacks, const struct node_numbers *m,
		      struct code_numbers *codes)
{
	struct store_node piece[ITEMS_PER_PIECE];
	size_t n = 0;

	begin_table(t, STORE_NODES);
	for (size_t i = 0; t->result == 0 && i < m->n; i++) {
		if (i % ITEMS_PER_TRIM == 0)
			stacks_trim(stacks);
		piece[n++] = make_node(t, stacks, m->node[i], m, codes);
		if (n < ITEMS_PER_PIECE && i + 1 < m->n)
			continue;
		add_items(t, STORE_NODES, piece, n);
		n = 0;
	}
}

/* Writes the table of stacks. node_of: by node, its number in the store + 1. */
static void put_sites(struct tables *t, const struct stacks *stacks, const uint32_t *node_of)
{
	const struct build *b = t->b;
	size_t n_sites = b->site_stats.n, n = 0;
	struct store_stack piece[ITEMS_PER_PIECE];

	begin_table(t, STORE_STACKS);
	for (size_t i = 0; t->result == 0 && i < n_sites; i++) {
		if (i % ITEMS_PER_TRIM == 0) {
			spill_vec_trim(&b->site_stats.memory);
			spill_vec_trim(&b->alloc_sums.memory);
		}
		piece[n++] = site_stats_row(&b->site_stats.site[i], &b->alloc_sums.of[i],
					    node_of[stacks_node(stacks, (uint32_t)i)] - 1);
		if (n < ITEMS_PER_PIECE && i + 1 < n_sites)
			continue;
		add_items(t, STORE_STACKS, piece, n);
		n = 0;
	}
}

static void put_stacks(struct tables *t, const struct stacks *stacks)
{
	const struct site_stats *sites = &t->b->site_stats;
	size_t n_nodes = stacks_count(stacks);
	struct node_numbers m = {.of = make_items(t, n_nodes, sizeof(*m.of)),
				 .node = make_items(t, n_nodes, sizeof(*m.node))};
	struct code_numbers codes = {.n = 1};

	for (size_t i = 0; t->result == 0 && i < sites->n; i++)
		number_nodes(stacks, stacks_node(stacks, (uint32_t)i), &m);
	if (t->result == 0)
		t->result = vec_reserve(&codes.code, &codes.cap, 1, sizeof(*codes.code), t->err);
	if (t->result == 0)
		codes.code[0] = (struct store_code){.module = STORE_NO_MODULE};
	put_nodes(t, stacks, &m, &codes);
	put_table(t, STORE_CODES, codes.code, codes.n);
	free(m.node);
	put_sites(t, stacks, m.of);
	free(m.of);
	free(codes.code);
	free(codes.next);
	map_fini(&codes.of_hash);
}

/* ---- the process ---- */

static void put_modules(struct tables *t)
{
	const struct metadata *f = &t->b->rec->metadata;
	struct store_module *m = make_items(t, f->n_modules, sizeof(*m));

	for (size_t i = 0; t->result == 0 && i < f->n_modules; i++) {
		const struct metadata_module *from = &f->module[i];

		m[i] = (struct store_module){
			.base = from->base,
			.start = from->start,
			.end = from->end,
			.loaded_ns = ns_of(t, from->ticks),
			.path = put_text(t, &from->path),
			.build_id = put_hex(t, &from->build_id),
			.file_id = from->file_id,
		};
	}
	put_table(t, STORE_MODULES, m, f->n_modules);
	free(m);
}

static void put_threads(struct tables *t)
{
	struct build_threads *threads = &t->b->threads;

	for (size_t i = 1; i < threads->n; i++) {
		struct store_thread *to = &threads->thread[i];
		const struct metadata_thread *from =
			metadata_find_thread(&t->b->rec->metadata, to->number);

		if (!from)
			continue;
		/* A tid from a block is better: the id of a thread that has ended cannot be
		 * found. */
		if (!to->tid)
			to->tid = from->tid;
		to->start_ns = ns_of(t, from->start_ticks);
		to->end_ns = from->end_ticks ? ns_of(t, from->end_ticks) : UINT64_MAX;
		to->name = put_text(t, &from->name);
	}
	put_table(t, STORE_THREADS, threads->thread, threads->n);
}

/* Takes the tids of threads from their blocks: some threads have no chunk of their own. */
static void find_tids(struct build *b)
{
	for (size_t i = 0; i < b->rec->n_lanes; i++) {
		const struct lane_ref *lane = &b->rec->lane[i];
		const uint64_t *index = map_find(&b->threads.index_of, lane->thread);

		if (index && lane->n_blocks)
			b->threads.thread[*index].tid = b->rec->block[lane->first_block].tid;
	}
}

static uint64_t put_samples(struct tables *t)
{
	const struct metadata *f = &t->b->rec->metadata;
	struct store_sample *s = make_items(t, f->n_samples, sizeof(*s));
	uint64_t most = 0;
	size_t n = 0;

	for (size_t i = 0; t->result == 0 && i < f->n_samples; i++) {
		const struct metadata_sample *from = &f->sample[i];

		if (!timebase_is_possible(&t->b->rec->time, from->ticks))
			continue;
		s[n++] = (struct store_sample){
			.at_ns = ns_of(t, from->ticks),
			.rss_bytes = from->rss_bytes,
			.virtual_bytes = from->virtual_bytes,
			.shared_bytes = from->shared_bytes,
			.cpu_ns = from->cpu_ns,
		};
		most = from->rss_bytes > most ? from->rss_bytes : most;
		most = from->peak_rss_bytes > most ? from->peak_rss_bytes : most;
	}
	put_table(t, STORE_SAMPLES, s, n);
	free(s);
	return most;
}

static void put_allocators(struct tables *t)
{
	const struct metadata *f = &t->b->rec->metadata;
	struct store_allocator *a = make_items(t, f->n_allocators, sizeof(*a));
	size_t n = 0;

	for (size_t i = 0; t->result == 0 && i < f->n_allocators; i++) {
		const struct metadata_allocator *from = &f->allocator[i];

		if (from->number >= STORE_N_ALLOCATORS)
			continue;
		a[n++] = (struct store_allocator){
			.number = (uint32_t)from->number,
			.name = put_text(t, &from->name),
			.prefix = put_text(t, &from->prefix),
			.module = put_text(t, &from->module),
			.n_functions = from->n_functions,
		};
	}
	put_table(t, STORE_ALLOCATORS, a, n);
	free(a);
}

static void put_allocator_samples(struct tables *t)
{
	const struct metadata *f = &t->b->rec->metadata;
	struct store_allocator_sample *s = make_items(t, f->n_allocator_samples, sizeof(*s));
	size_t n = 0;

	for (size_t i = 0; t->result == 0 && i < f->n_allocator_samples; i++) {
		const struct metadata_allocator_sample *from = &f->allocator_sample[i];

		if (from->number >= STORE_N_ALLOCATORS)
			continue;
		s[n++] = (struct store_allocator_sample){
			.at_ns = ns_of(t, from->ticks),
			.allocated_bytes = from->allocated_bytes,
			.active_bytes = from->active_bytes,
			.metadata_bytes = from->metadata_bytes,
			.resident_bytes = from->resident_bytes,
			.mapped_bytes = from->mapped_bytes,
			.retained_bytes = from->retained_bytes,
			.number = (uint32_t)from->number,
		};
	}
	put_table(t, STORE_ALLOCATOR_SAMPLES, s, n);
	free(s);
}

static void put_notes(struct tables *t, const struct overview *o)
{
	struct store_note *n = make_items(t, o->n_notes, sizeof(*n));

	for (size_t i = 0; t->result == 0 && i < o->n_notes; i++) {
		n[i].level = 2;
		n[i].text = put_string(t, o->note[i], strlen(o->note[i]));
	}
	put_table(t, STORE_NOTES, n, o->n_notes);
	free(n);
}

static struct store_region make_region(struct tables *t, const struct proc_map *m)
{
	uint64_t rss_bytes, peak_bytes;

	map_residency_find(&t->b->rec->metadata.residency, m, &rss_bytes, &peak_bytes);
	return (struct store_region){
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.inode = m->inode,
		.device_major = m->device_major,
		.device_minor = m->device_minor,
		.prot = (m->is_readable ? PROT_READ : 0u) | (m->is_writable ? PROT_WRITE : 0u) |
			(m->is_executable ? PROT_EXEC : 0u),
		.is_shared = m->is_shared,
		.name = put_string(t, m->name, m->name_len),
		.rss_bytes = rss_bytes,
		.peak_rss_bytes = peak_bytes,
	};
}

static void put_regions(struct tables *t)
{
	const struct metadata_text *maps = &t->b->rec->metadata.maps;
	const char *at = maps->bytes, *end = at ? at + maps->len : NULL;
	struct store_region *region = NULL;
	size_t n = 0, cap = 0;
	struct proc_map m;

	while (at && n < MAX_REGIONS && t->result == 0 && proc_maps_next(&at, end, &m)) {
		t->result = vec_reserve(&region, &cap, n + 1, sizeof(*region), t->err);
		if (t->result == 0)
			region[n++] = make_region(t, &m);
	}
	put_table(t, STORE_REGIONS, region, n);
	free(region);
}

/* ---- times without data ---- */

static int compare_gaps(const void *a, const void *b)
{
	const struct store_gap *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

/* Makes gaps one that are less than min_ns apart. Returns how many are left. */
static size_t join_gaps(struct store_gap *g, size_t n, uint64_t min_ns)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct store_gap *last = n_kept ? &g[n_kept - 1] : NULL;

		if (!last || g[i].from_ns > last->to_ns + min_ns)
			g[n_kept++] = g[i];
		else if (g[i].to_ns > last->to_ns)
			last->to_ns = g[i].to_ns;
	}
	return n_kept;
}

/* Those of this reading, and those that the store had when this reading began behind them. */
static void put_gaps(struct tables *t, uint64_t duration_ns)
{
	const struct recording *r = t->b->rec;
	size_t n_old = 0, n;
	const struct store_gap *old = t->b->old ? store_table(t->b->old, STORE_GAPS, &n_old) : NULL;
	struct store_gap *g = make_items(t, n_old + r->n_gaps, sizeof(*g));

	if (t->result < 0)
		return;
	for (size_t i = 0; i < n_old; i++)
		g[i] = old[i];
	for (size_t i = 0; i < r->n_gaps; i++)
		g[n_old + i] = (struct store_gap){
			ns_of(t, r->gap[i].from_ticks),
			r->gap[i].to_ticks == UINT64_MAX ? duration_ns
							 : ns_of(t, r->gap[i].to_ticks),
		};
	n = n_old + r->n_gaps;
	qsort(g, n, sizeof(*g), compare_gaps);
	n = join_gaps(g, n, 0);
	for (uint64_t min_ns = 1000; n > STORE_MAX_GAPS; min_ns *= 2)
		n = join_gaps(g, n, min_ns);
	put_table(t, STORE_GAPS, g, n);
	free(g);
}

/* ---- the recording as a whole ---- */

static void set_totals(struct store_facts *f, const struct build *b, const struct overview *o)
{
	const struct replay_totals *from = &o->totals;

	f->n_rows = b->n_rows;
	f->n_events = from->events;
	f->n_allocations = from->allocations;
	f->n_reallocations = from->reallocations;
	f->n_frees = from->frees;
	f->n_bytes = from->bytes_allocated;
	f->n_culled = from->culled_allocations + from->culled_reallocations;
	f->culled_bytes = from->culled_bytes;
	f->n_temporary = b->n_temporary;
	f->temporary_bytes = b->temporary_bytes;
	f->live_count = from->live_count;
	f->live_bytes = from->live_bytes;
	f->peak_bytes = b->peak_bytes;
	f->peak_count = b->peak_count;
	f->peak_ns = b->peak_ns;
	f->duration_ns = o->duration_ns;
	f->bucket_ns = b->usage.width_ns;
	f->unknown_frees = from->unknown_frees;
	f->untracked_frees = from->untracked_frees;
	f->duplicate_allocations = from->duplicate_allocations;
	f->crossed = from->crossed;
	f->lost_events = o->lost_events;
	f->lost_blocks = o->lost_blocks;
	f->damaged_bytes = b->rec->damage.n_bytes;
	for (size_t i = 0; i < STACK_N_ENDS; i++)
		f->truncated_stacks += from->truncated[i];
	f->n_stacks = from->stacks;
	f->deepest_stack = from->deepest_stack;
	f->recording_bytes = b->rec->file_bytes;
	f->end_status = from->end_status;
	f->is_complete = o->is_complete;
	if (b->rec->has_status) {
		f->writer_cpu_ns = b->rec->status.field[STATUS_WRITER_CPU_NS];
		f->recorder_bytes = b->rec->status.field[STATUS_RECORDER_BYTES];
		f->write_errno = b->rec->status.field[STATUS_FIRST_ERROR] & 0xffff;
	}
}

static void set_process(struct tables *t, struct store_facts *f, const struct overview *o)
{
	const struct recording *r = t->b->rec;
	const struct metadata_process *p = &r->metadata.process;
	const char *arch = overview_arch(r);

	f->start_realtime_ns = r->header.start_realtime_ns;
	f->maps_ns = r->metadata.maps.bytes ? ns_of(t, r->metadata.maps_ticks) : UINT64_MAX;
	f->resident_ns =
		r->metadata.residency.n ? ns_of(t, r->metadata.residency_ticks) : UINT64_MAX;
	f->pid = p->is_known ? p->pid : r->header.pid;
	f->parent_pid = p->parent_pid;
	f->page_bytes = p->page_bytes ? p->page_bytes : 4096;
	f->memory_bytes = p->memory_bytes;
	f->memory_limit_bytes = p->memory_limit_bytes;
	f->n_cpus = p->n_cpus;
	f->ended = put_string(t, o->ended, strlen(o->ended));
	f->executable = put_text(t, &p->executable);
	f->cmdline = put_text(t, &p->cmdline);
	f->environment = put_text(t, &p->environment);
	f->cwd = put_text(t, &p->cwd);
	f->host = put_text(t, &p->host);
	f->kernel = put_text(t, &p->kernel);
	f->arch = put_string(t, arch, strlen(arch));
	f->cgroup = put_text(t, &p->cgroup);
	f->limits = put_text(t, &p->limits);
	f->recorder = put_text(t, &p->recorder);
}

int build_tables_put(struct build *b, const struct stacks *stacks, const struct overview *o,
		     struct err *err)
{
	struct tables t = {.b = b, .err = err};
	struct store_facts f = {0};

	put_string(&t, "", 0); /* string 0 */
	find_tids(b);
	put_stacks(&t, stacks);
	put_modules(&t);
	put_threads(&t);
	f.rss_peak_bytes = put_samples(&t);
	put_notes(&t, o);
	put_allocators(&t);
	put_allocator_samples(&t);
	put_regions(&t);
	put_gaps(&t, o->duration_ns);
	put_spilled(&t, STORE_CHAINS, b->chains, b->n_chains);
	put_spilled(&t, STORE_CALLS, b->calls, b->n_calls);
	put_spilled(&t, STORE_UNDO, b->undo, b->n_undo);
	put_table(&t, STORE_BUCKETS, b->usage.bucket, b->usage.current + 1);
	set_totals(&f, b, o);
	set_process(&t, &f, o);
	put_table(&t, STORE_FACTS, &f, 1);
	put_table(&t, STORE_STRING_BYTES, t.strings.bytes, t.strings.n_bytes);
	put_table(&t, STORE_STRING_ENDS, t.strings.end, t.strings.n);
	free(t.strings.bytes);
	free(t.strings.end);
	map_fini(&t.strings.of_hash);
	return t.result;
}
