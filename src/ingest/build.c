/* ingest/build.c - see build.h. Takes the events; build_tables.c writes the tables. */
#include "ingest/build.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/units.h"
#include "ingest/build_tables.h"
#include "ingest/incremental.h"
#include "recording/proc_maps.h"
#include "util/memory_budget.h"
#include "util/rss.h"
#include "util/vec.h"

#define CHAINS_BUDGET_BYTES (24 * MIB)
#define CALLS_BUDGET_BYTES (16 * MIB)
#define PAGE_OFFSET_MASK 4095u
#define PREFETCH_STEPS 8 /* the site of a step is prefetched so many steps before ... */
#define FEW_SITES 128u /* ... unless there are so few that they are in the cache anyway */
/* Of a budget of the program, in sixteenths: above it, arrays in files are dropped from memory. */
#define RESIDENT_SIXTEENTHS 10u
#define PROGRESS_PER_LOOK 16 /* calls of on_progress() between looks at the size of the process */

/* Appends an item to an array that may lie in a file: returns it, to be filled in. NULL: b->result
 * has the error. */
static void *append_item(struct build *b, struct spill *s, uint64_t *n, size_t item_bytes)
{
	size_t need = (size_t)(*n + 1) * item_bytes;

	if (unlikely(need > spill_size(s))) {
		int r = spill_resize(s, need + need / 2 + 65536, &b->err);

		if (r < 0) {
			b->result = r;
			return NULL;
		}
	}
	return (uint8_t *)spill_data(s) + (*n)++ * item_bytes;
}

/* A chain, to be changed. If a checkpoint has it, its old contents go to the undo log. */
static struct store_chain *chain_at(struct build *b, uint64_t chain)
{
	struct store_chain *c = (struct store_chain *)spill_data(b->chains) + (chain - 1);

	if (unlikely(chain <= b->n_kept_chains)) {
		struct store_undo *u = append_item(b, b->undo, &b->n_undo, sizeof(*u));

		if (u)
			*u = (struct store_undo){.chain = chain, .was = *c};
	}
	return c;
}

/* ---- threads ---- */

static NOINLINE uint32_t add_thread(struct build *b, uint32_t number)
{
	struct build_threads *t = &b->threads;
	uint64_t *index = NULL;
	bool is_new = false;
	int r = map_add(&t->index_of, number, &index, &is_new, &b->err);

	if (r == 0 && is_new)
		r = vec_reserve(&t->thread, &t->cap, t->n + 1, sizeof(*t->thread), &b->err);
	if (r < 0) {
		b->result = r;
		return 0;
	}
	if (is_new) {
		*index = t->n;
		t->thread[t->n++] = (struct store_thread){.number = number, .end_ns = UINT64_MAX};
	}
	t->recent[number % BUILD_RECENT_THREADS].number = number;
	t->recent[number % BUILD_RECENT_THREADS].index = (uint32_t)*index;
	return (uint32_t)*index;
}

static inline uint32_t thread_index(struct build *b, uint32_t number)
{
	if (likely(number == b->threads.recent[number % BUILD_RECENT_THREADS].number))
		return b->threads.recent[number % BUILD_RECENT_THREADS].index;
	return add_thread(b, number);
}

/* ---- which part of glibc's heap a block is in ---- */

/* Address and size say it. A block in an arena has 8 usable bytes more than a multiple of 16. A
 * block with a mapping of its own has a multiple of 16, and begins 16 bytes after the start of a
 * page. */
static uint32_t arena_flags(const struct build *b, const struct live_block *a)
{
	uint64_t usable_bytes = a->size_bytes + a->extra_bytes;

	if (a->allocator)
		return 0;
	if (usable_bytes % 16 == 0 && (a->addr & PAGE_OFFSET_MASK) == 16)
		return STORE_FLAG_MMAPED;
	if (a->addr >= b->heap_start && a->addr < b->heap_end)
		return STORE_FLAG_MAIN_ARENA;
	return 0;
}

static uint32_t kind_of(unsigned event_kind)
{
	switch (event_kind) {
	case EVENT_CALLOC:
		return STORE_KIND_CALLOC;
	case EVENT_ALIGNED:
		return STORE_KIND_ALIGNED;
	case EVENT_REALLOC_END:
		return STORE_KIND_REALLOC;
	default:
		return STORE_KIND_MALLOC;
	}
}

static uint32_t begin_flags(const struct build *b, const struct live_block *a)
{
	return kind_of(a->kind) | arena_flags(b, a) |
	       (uint32_t)a->allocator << STORE_ALLOCATOR_SHIFT;
}

/* ---- events ---- */

static uint64_t on_arrival(void *user, const struct live_block *a)
{
	struct build *b = user;
	struct row_alloc *alloc = NULL;

	if (likely(b->result == 0))
		alloc = rows_add(b->rows, begin_flags(b, a), &b->err);
	if (unlikely(!alloc)) {
		b->result = b->result < 0 ? b->result : -(int)b->err.code;
		return b->n_rows;
	}
	alloc->alloc_ns = a->at_ns;
	alloc->size_bytes = a->size_bytes;
	alloc->addr = a->addr;
	alloc->marker = b->marker;
	alloc->stack = a->stack;
	alloc->thread = thread_index(b, a->thread);
	alloc->extra_bytes = a->extra_bytes;
	return b->n_rows++;
}

/* Adds the new block of a realloc to the chain of the old block; makes the chain if the old block
 * has none. */
static void link_chain(struct build *b, struct live_block *a, const struct live_block *old)
{
	struct row_end end = {0};
	struct store_chain *c;

	a->chain = old->chain;
	if (!a->chain) {
		c = append_item(b, b->chains, &b->n_chains, sizeof(*c));
		if (!c)
			return;
		a->chain = b->n_chains;
		*c = (struct store_chain){
			.first_row = old->tag,
			.first_size_bytes = old->size_bytes,
			.alloc_ns = old->at_ns,
			.length = 1,
		};
		end.chain = a->chain;
		b->result = rows_set_end(b->rows, old->tag, &end, &b->err);
		if (b->result < 0)
			return;
	}
	c = chain_at(b, a->chain);
	c->last_row = a->tag;
	c->last_size_bytes = a->size_bytes;
	c->lifetime_ns = 0; /* the chain has not ended */
	end = (struct row_end){.chain = a->chain, .chain_position = (uint32_t)c->length};
	c->length++;
	b->result = rows_set_end(b->rows, a->tag, &end, &b->err);
}

static void on_alloc(void *user, struct live_block *a, const struct live_block *old)
{
	struct build *b = user;

	if (old && likely(b->result == 0))
		link_chain(b, a, old);
}

static uint32_t end_flags(const struct live_block *a, const struct replay_release *how)
{
	if (how->how == REPLAY_REPLACED)
		return STORE_FLAG_REPLACED;
	return (how->how == REPLAY_REALLOCATED ? STORE_FLAG_MOVED : 0) |
	       (replay_is_crossed(a, how) ? STORE_FLAG_CROSSED : 0) |
	       (replay_is_temporary(a, how) ? STORE_FLAG_TEMPORARY : 0);
}

/* Writes the end of a block to its row and its chain. */
static void end_row(struct build *b, const struct live_block *a, const struct row_end *end)
{
	if (a->chain) {
		struct store_chain *c = chain_at(b, a->chain);

		c->lifetime_ns = a->at_ns + end->lifetime_ns - c->alloc_ns;
	}
	b->result = rows_set_end(b->rows, a->tag, end, &b->err);
}

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	struct build *b = user;
	struct row_end end = {
		.lifetime_ns = 1 + how->at_ns - a->at_ns,
		.free_stack = how->stack,
		.free_thread = thread_index(b, how->thread),
		.flags = end_flags(a, how),
	};

	if (likely(b->result == 0))
		end_row(b, a, &end);
}

/* The thread of the last step: the thread of the next step is mostly the same. */
struct last_thread {
	uint32_t number, index;
};

static ALWAYS_INLINE struct store_thread *thread_of(struct build *b, struct last_thread *last,
						    uint32_t number)
{
	if (unlikely(number != last->number)) {
		last->index = thread_index(b, number);
		last->number = number;
	}
	return &b->threads.thread[last->index];
}

static ALWAYS_INLINE void count_alloc(struct build *b, struct store_thread *maker,
				      const struct replay_step *step)
{
	maker->n_allocs++;
	maker->n_bytes += step->size_bytes;
	site_stats_alloc(&b->site_stats, step);
	usage_buckets_alloc(&b->usage, step->at_ns, step->size_bytes);
	if (unlikely(step->flags & REPLAY_STEP_PEAK)) {
		b->peak_bytes = b->usage.live_bytes;
		b->peak_count = b->usage.live_count;
		b->peak_ns = step->at_ns;
		b->site_stats.is_at_peak = true;
	}
}

static ALWAYS_INLINE void count_release(struct build *b, struct store_thread *releaser,
					const struct replay_step *step)
{
	releaser->n_frees++;
	if (unlikely(step->flags & REPLAY_STEP_TEMPORARY)) {
		releaser->n_temporary++; /* it is the maker as well */
		releaser->temporary_bytes += step->size_bytes;
		b->n_temporary++;
		b->temporary_bytes += step->size_bytes;
	}
	site_stats_release(&b->site_stats, step);
	usage_buckets_free(&b->usage, step->at_ns, step->size_bytes);
}

static void on_steps(void *user, const struct replay_step *step, size_t n)
{
	struct build *b = user;
	struct last_thread maker = {.number = step->thread}, releaser;
	bool is_small = b->site_stats.n <= FEW_SITES;

	if (unlikely(b->result < 0))
		return;
	maker.index = thread_index(b, maker.number);
	releaser = maker;
	for (size_t i = 0; i < n; i++) {
		const struct replay_step *s = &step[i];

		if (!is_small && i + PREFETCH_STEPS < n)
			site_stats_prefetch(&b->site_stats, &step[i + PREFETCH_STEPS]);
		if (unlikely(b->site_stats.is_at_peak) && !(s->flags & REPLAY_STEP_PEAK))
			site_stats_keep_peak(&b->site_stats);
		if (s->flags & REPLAY_STEP_RELEASE)
			count_release(b, thread_of(b, &releaser, s->release_thread), s);
		else
			count_alloc(b, thread_of(b, &maker, s->thread), s);
	}
}

static void on_prefetch(void *user, const struct live_block *a)
{
	struct build *b = user;

	rows_prefetch(b->rows, a->tag);
}

/* The kind that a store keeps of a rare event; 0: a store does not keep it. */
static enum store_call_kind call_kind(unsigned event_kind)
{
	switch (event_kind) {
	case EVENT_MMAP:
		return STORE_CALL_MMAP;
	case EVENT_MUNMAP:
		return STORE_CALL_MUNMAP;
	case EVENT_MREMAP:
		return STORE_CALL_MREMAP;
	case EVENT_BRK:
		return STORE_CALL_BRK;
	case EVENT_MALLOPT:
		return STORE_CALL_MALLOPT;
	case EVENT_MALLOC_TRIM:
		return STORE_CALL_MALLOC_TRIM;
	case EVENT_MARKER:
		return STORE_CALL_MARKER;
	case EVENT_FORK:
		return STORE_CALL_FORK;
	case EVENT_SWITCH:
		return STORE_CALL_SWITCH;
	default:
		return 0;
	}
}

/* Allocations that the recorder left out. It sums them up at times: of a thread all sums of such a moment
 * are about the time since the moment before. */
static void count_culled(struct build *b, const struct event *ev, uint32_t thread, uint32_t stack)
{
	uint64_t n = ev->field[CULLED_N], n_bytes = ev->field[CULLED_BYTES];
	struct store_thread *maker = &b->threads.thread[thread_index(b, thread)];
	uint64_t at_ns = timebase_ns(&b->rec->time, ev->ticks);

	if (at_ns > maker->culled_to_ns) {
		maker->culled_from_ns = maker->culled_to_ns > maker->start_ns ? maker->culled_to_ns
									      : maker->start_ns;
		maker->culled_to_ns = at_ns;
	}
	usage_buckets_culled(&b->usage, maker->culled_from_ns, maker->culled_to_ns, n, n_bytes,
			     ev->field[CULLED_N_TEMPORARY]);
	maker->n_allocs += n;
	maker->n_bytes += n_bytes;
	maker->n_frees += n;
	maker->n_temporary += ev->field[CULLED_N_TEMPORARY];
	maker->temporary_bytes += ev->field[CULLED_TEMPORARY_BYTES];
	b->n_temporary += ev->field[CULLED_N_TEMPORARY];
	b->temporary_bytes += ev->field[CULLED_TEMPORARY_BYTES];
	if (stack >= b->site_stats.n)
		b->result = site_stats_add(&b->site_stats, stack, &b->err);
	if (b->result < 0)
		return;
	b->site_stats.site[stack].n_temporary += ev->field[CULLED_N_TEMPORARY];
	b->site_stats.site[stack].temporary_bytes += ev->field[CULLED_TEMPORARY_BYTES];
}

static void on_rare(void *user, const struct event *ev, uint32_t thread, uint32_t stack)
{
	struct build *b = user;
	struct store_call *c;

	if (ev->kind == EVENT_MARKER)
		b->marker = ev->field[0];
	if (event_is_culled(ev->kind) && b->result == 0 && ev->field[CULLED_N])
		count_culled(b, ev, thread, stack);
	if (!call_kind(ev->kind) || b->result < 0)
		return;
	if (stack >= b->site_stats.n)
		b->result = site_stats_add(&b->site_stats, stack, &b->err);
	c = b->result == 0 ? append_item(b, b->calls, &b->n_calls, sizeof(*c)) : NULL;
	if (!c)
		return;
	*c = (struct store_call){
		.at_ns = timebase_ns(&b->rec->time, ev->ticks),
		.kind = call_kind(ev->kind),
		.stack = stack,
		.thread = thread_index(b, thread),
	};
	memcpy(c->field, ev->field, sizeof(c->field));
}

static int on_progress(void *user, uint64_t n_blocks_read, uint32_t n_stacks, struct err *err)
{
	struct build *b = user;

	if (b->result == 0 && n_stacks > b->site_stats.n)
		b->result = site_stats_add(&b->site_stats, n_stacks - 1, &b->err);
	if (b->result < 0) {
		*err = b->err;
		return b->result;
	}
	if (++b->n_progress % PROGRESS_PER_LOOK == 0 &&
	    rss_bytes() > memory_budget_share(RESIDENT_SIXTEENTHS)) {
		spill_trim(b->chains);
		spill_trim(b->calls);
		spill_trim(b->undo);
		spill_vec_trim(&b->site_stats.memory);
	}
	if (b->options && b->options->on_progress &&
	    b->options->on_progress(b->options->user, n_blocks_read, b->rec->n_blocks) < 0)
		return err_set(err, ERR_CANCELLED, "stopped");
	return 0;
}

/* ---- the end ---- */

struct leak_count {
	struct build *b;
	uint64_t duration_ns;
};

/* Counts a block that is live at the end, by call site and by time. */
static bool count_leak(void *user, const struct live_block *a)
{
	const struct leak_count *c = user;

	site_stats_count_leak(&c->b->site_stats, a, c->duration_ns);
	usage_buckets_leaked(&c->b->usage, a->at_ns, a->size_bytes);
	return true;
}

static int on_end(void *user, const struct stacks *stacks, const struct live *live,
		  const struct replay_totals *totals, struct err *err)
{
	struct build *b = user;
	struct overview o = {0};
	int r = on_progress(b, b->rec->n_blocks, stacks_count_numbers(stacks), err);

	if (r == 0)
		r = alloc_sums_reserve(&b->alloc_sums, b->site_stats.n, err);
	if (r == 0)
		r = overview_of_totals(b->rec, totals, &o, err);
	if (r == 0) {
		if (b->site_stats.is_at_peak)
			site_stats_keep_peak(&b->site_stats);
		if (!b->rows)
			b->n_rows = totals->allocations + totals->reallocations;
		usage_buckets_finish(&b->usage, o.duration_ns);
		live_each(live, count_leak, &(struct leak_count){b, o.duration_ns});
		if (b->rows)
			r = rows_finish(b->rows, err);
	}
	if (r == 0)
		r = build_tables_put(b, stacks, &o, err);
	overview_fini(&o);
	return r;
}

/* ---- the whole build ---- */

/* Finds the heap that brk() makes, in the memory map of the recording. */
static void find_heap(struct build *b)
{
	const struct metadata_text *maps = &b->rec->metadata.maps;
	const char *at = maps->bytes, *end = at ? at + maps->len : NULL;
	struct proc_map m;

	while (at && proc_maps_next(&at, end, &m)) {
		if (m.name_len != 6 || memcmp(m.name, "[heap]", 6) != 0)
			continue;
		b->heap_start = m.start;
		b->heap_end = m.end;
	}
}

static int make_identity(struct recording *r, bool is_growing, struct store_identity *ret,
			 struct err *err)
{
	struct timespec now;
	struct stat st;

	*ret = (struct store_identity){.size_bytes = r->file_bytes};
	memcpy(ret->recording_id, r->header.recording_id, sizeof(ret->recording_id));
	for (size_t i = 0; i < r->n_pieces; i++) {
		uint64_t changed_ns;

		if (fstat(r->piece[i].file.fd, &st) < 0)
			return err_set(err, ERR_IO, "cannot be examined");
		changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
		if (changed_ns > ret->changed_ns)
			ret->changed_ns = changed_ns;
	}
	if (is_growing) { /* it may grow without a change of size and time */
		clock_gettime(CLOCK_REALTIME, &now);
		ret->changed_ns = STORE_GROWING_NS |
				  ((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec);
	}
	return 0;
}

/* Begins the store. A store without rows is never appended to: nothing of it could stay as it is,
 * so BUILD_RESUME reads the old one and makes a new file. */
static int begin_store(struct build *b, const char *path, const struct store_identity *identity,
		       struct err *err)
{
	const struct build_options *o = b->options;
	int r = 0;

	if (o && o->how == BUILD_RESUME && !o->without_rows)
		return store_writer_resume(path, identity, &b->old, &b->writer, err);
	if (o && o->how == BUILD_RESUME)
		r = store_open(path, &b->old, err);
	return r < 0 ? r : store_writer_create(path, identity, &b->writer, err);
}

static int build_init(struct build *b, const char *store_path, const char *temp_folder,
		      struct err *err)
{
	const struct build_options *o = b->options;
	struct store_identity identity;
	int r = make_identity(b->rec, o && o->is_growing, &identity, err);

	if (r == 0)
		r = begin_store(b, store_path, &identity, err);
	if (r == 0 && !(b->options && b->options->without_rows))
		r = rows_create(b->writer, temp_folder, &b->rows, err);
	if (r == 0)
		r = spill_create(temp_folder, CHAINS_BUDGET_BYTES, &b->chains, err);
	if (r == 0)
		r = spill_create(temp_folder, CALLS_BUDGET_BYTES, &b->calls, err);
	if (r == 0)
		r = spill_create(temp_folder, CALLS_BUDGET_BYTES, &b->undo, err);
	if (r == 0)
		r = site_stats_init(&b->site_stats, temp_folder, err);
	if (r < 0)
		return r;
	b->alloc_sums.memory.folder = temp_folder;
	usage_buckets_init(&b->usage);
	find_heap(b);
	add_thread(b, 0);
	if (b->result < 0)
		*err = b->err;
	return b->result;
}

static void build_fini(struct build *b)
{
	rows_destroy(b->rows);
	spill_destroy(b->chains);
	spill_destroy(b->calls);
	spill_destroy(b->undo);
	site_stats_fini(&b->site_stats);
	alloc_sums_fini(&b->alloc_sums);
	map_fini(&b->threads.index_of);
	free(b->threads.thread);
	store_close(b->old);
	store_writer_destroy(b->writer);
}

/* Replays to the latest checkpoint that is possible, if there is one, and saves the state there. */
static int build_to_checkpoint(struct build *b, struct replay *p, uint64_t min_ns, struct err *err)
{
	struct checkpoint_pos pos;
	int n = checkpoint_pos_find(b->rec, min_ns, &pos, err);

	if (n <= 0)
		return n;
	n = replay_to_checkpoint(p, &pos, err);
	if (n == 0 && b->rec->damage.n_ranges == 0)
		n = incremental_save(b, p, pos.at_ns, err);
	checkpoint_pos_fini(&pos);
	return n;
}

static int build_events(struct build *b, const struct replay_callbacks *callbacks, struct err *err)
{
	enum build_how how = b->options ? b->options->how : BUILD_WHOLE;
	struct replay_totals totals;
	struct replay *p = NULL;
	uint64_t checkpoint_ns = 0;
	int n = replay_create(b->rec, callbacks, &p, err);

	if (n == 0 && how == BUILD_RESUME)
		n = incremental_load(b, p, b->old, &checkpoint_ns, err);
	if (n == 0 && how != BUILD_WHOLE)
		n = build_to_checkpoint(b, p, checkpoint_ns, err);
	if (n == 0)
		n = replay_finish(p, &totals, NULL, err);
	replay_destroy(p);
	return n;
}

int build_store(struct recording *r, const char *store_path, const struct build_options *o,
		struct err *err)
{
	char *folder_copy = strdup(store_path);
	struct build *b = calloc(1, sizeof(*b));
	struct replay_callbacks callbacks = {
		.user = b,
		.on_steps = on_steps,
		.on_rare = on_rare,
		.on_progress = on_progress,
		.on_end = on_end,
		.alloc_sums = &b->alloc_sums,
	};
	int n = b && folder_copy ? 0 : err_set_memory(err, sizeof(*b));

	if (n == 0) {
		const char *folder = o && o->temp_folder ? o->temp_folder : dirname(folder_copy);

		b->rec = r;
		b->options = o;
		callbacks.temp_folder = folder;
		n = build_init(b, store_path, folder, err);
		if (b->rows) {
			callbacks.on_arrival = on_arrival;
			callbacks.on_alloc = on_alloc;
			callbacks.on_free = on_free;
			callbacks.on_prefetch = on_prefetch;
		}
		if (n == 0)
			n = build_events(b, &callbacks, err);
		if (n == 0)
			n = store_writer_commit(b->writer, b->rows ? b->n_rows : 0, err);
		build_fini(b);
	}
	free(b);
	free(folder_copy);
	return n;
}
