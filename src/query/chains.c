/* query/chains.c - see chains.h.
 *
 * What a realloc copied follows from two rows, which may lie far apart in the store. So the rows of a
 * window of chains are laid out chain by chain: chain c of the window begins at slot first[c], and the
 * row at position p of the chain belongs in slot first[c] + p. Threads fill the slots in any order, each row
 * has its own. Then each chain is walked from slot to slot. A chain that is longer than a window is
 * laid out in pieces, and the last slot of a piece is kept for the next one.
 */
#include "query/chains.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "query/shared_results.h"
#include "util/map.h"
#include "util/vec.h"

/* ---- sums by call site ---- */

/* Of one call site and one power of two. */
struct tally_class {
	uint64_t n_last; /* chains whose last size is in the class */
	uint64_t copied_bytes; /* by reallocs to a size in the class */
};

struct tally {
	struct map site_of; /* stack -> index */
	struct chains_site *site;
	size_t n_sites, cap_sites;
	struct map class_of; /* stack * 128 + class -> index */
	struct tally_class *class;
	size_t n_classes, cap_classes;
};

#define CLASSES_PER_STACK 128u

/* The class of sizes up to 1 << class. */
static unsigned class_of_size(uint64_t size_bytes)
{
	return size_bytes <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(size_bytes - 1);
}

static uint64_t class_bytes(unsigned class)
{
	return class < 64 ? 1ull << class : UINT64_MAX;
}

static void tally_fini(struct tally *t)
{
	map_fini(&t->site_of);
	map_fini(&t->class_of);
	free(t->site);
	free(t->class);
}

/* NULL: no memory (err). Good until the next call. */
static struct chains_site *tally_site(struct tally *t, uint32_t stack, struct err *err)
{
	uint64_t *number;
	bool is_new;

	if (map_add(&t->site_of, stack, &number, &is_new, err) < 0)
		return NULL;
	if (is_new) {
		if (vec_reserve(&t->site, &t->cap_sites, t->n_sites + 1, sizeof(*t->site), err) < 0)
			return NULL;
		t->site[t->n_sites] = (struct chains_site){.stack = stack};
		*number = t->n_sites++;
	}
	return &t->site[*number];
}

static struct tally_class *tally_class(struct tally *t, uint32_t stack, unsigned class,
				       struct err *err)
{
	uint64_t *number;
	bool is_new;

	if (map_add(&t->class_of, (uint64_t)stack * CLASSES_PER_STACK + class, &number, &is_new,
		    err) < 0)
		return NULL;
	if (is_new) {
		if (vec_reserve(&t->class, &t->cap_classes, t->n_classes + 1, sizeof(*t->class),
				err) < 0)
			return NULL;
		t->class[t->n_classes] = (struct tally_class){0};
		*number = t->n_classes++;
	}
	return &t->class[*number];
}

static void add_site(struct chains_site *sum, const struct chains_site *s)
{
	sum->n_chains += s->n_chains;
	sum->n_reallocs += s->n_reallocs;
	sum->longest = s->longest > sum->longest ? s->longest : sum->longest;
	sum->first_bytes += s->first_bytes;
	sum->last_bytes += s->last_bytes;
	if (s->max_last_bytes > sum->max_last_bytes)
		sum->max_last_bytes = s->max_last_bytes;
	sum->n_moved += s->n_moved;
	sum->n_remapped += s->n_remapped;
	sum->copied_bytes += s->copied_bytes;
	sum->saved_bytes += s->saved_bytes;
}

static int tally_merge(struct tally *all, const struct tally *t, struct err *err)
{
	for (size_t i = 0; i < t->n_sites; i++) {
		struct chains_site *s = tally_site(all, t->site[i].stack, err);

		if (!s)
			return -ERR_MEMORY;
		add_site(s, &t->site[i]);
	}
	for (size_t i = 0; i < t->class_of.n_slots; i++) {
		const struct map_slot *slot = &t->class_of.slot[i];
		const struct tally_class *from;
		struct tally_class *to;

		if (!slot->used)
			continue;
		from = &t->class[slot->value];
		to = tally_class(all, (uint32_t)(slot->key / CLASSES_PER_STACK),
				 (unsigned)(slot->key % CLASSES_PER_STACK), err);
		if (!to)
			return -ERR_MEMORY;
		to->n_last += from->n_last;
		to->copied_bytes += from->copied_bytes;
	}
	return 0;
}

/* ---- a window of chains ---- */

#define NOT_CHOSEN UINT32_MAX
#define IS_MMAPED (1ull << 63) /* no size is that large */
#define NO_ROW UINT64_MAX

struct slot {
	uint64_t addr;
	uint64_t size_bytes; /* and IS_MMAPED; NO_ROW: the store has no such row */
};

struct window {
	struct query *q;
	uint64_t max_rows;
	uint64_t first_chain, n_chains;
	uint64_t from_position,
		end_position; /* of the one chain that is too long; else 0, UINT64_MAX */
	uint32_t *stack; /* per chain: of its first row; NOT_CHOSEN */
	uint32_t *first; /* per chain and one more: its first slot */
	struct slot *slot;
	size_t cap_chains;
	struct slot before; /* the slot before from_position */
};

/* The chain's number in the window, or UINT64_MAX. */
static inline uint64_t in_window(const struct window *w, uint64_t chain_column)
{
	uint64_t number = chain_column - 1 - w->first_chain;

	return chain_column && number < w->n_chains ? number : UINT64_MAX;
}

static int choose_sink(void *state, struct scanner *s, struct err *err)
{
	struct window *w = state;
	const uint64_t *chain = scanner_column(s, STORE_CHAIN);
	const uint64_t *position = scanner_column(s, STORE_CHAIN_POSITION);
	const uint64_t *stack = scanner_column(s, STORE_STACK);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t number = in_window(w, chain[i]);

		if (number != UINT64_MAX && position[i] == 0)
			w->stack[number] = stack[i] < s->q->n_stacks ? (uint32_t)stack[i] : 0;
	}
	return 0;
}

static int fill_sink(void *state, struct scanner *s, struct err *err)
{
	struct window *w = state;
	const uint64_t *chain = scanner_column(s, STORE_CHAIN);
	const uint64_t *position = scanner_column(s, STORE_CHAIN_POSITION);
	const uint64_t *addr = scanner_column(s, STORE_ADDR);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *flags = scanner_column(s, STORE_FLAGS);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t number = in_window(w, chain[i]), at = position[i] - w->from_position;

		if (number == UINT64_MAX || w->stack[number] == NOT_CHOSEN ||
		    at >= w->first[number + 1] - w->first[number])
			continue;
		w->slot[w->first[number] + at] = (struct slot){
			.addr = addr[i],
			.size_bytes = (size[i] & ~IS_MMAPED) |
				      (flags[i] & STORE_FLAG_MMAPED ? IS_MMAPED : 0),
		};
	}
	return 0;
}

/* A pass over the rows of the window's chains. */
static int scan_window(struct window *w, const struct plan *from, bool is_first_only,
		       int (*sink)(void *state, struct scanner *s, struct err *err),
		       struct err *err)
{
	struct query *q = w->q;
	void *states[SCAN_MAX_THREADS];
	struct plan plan = *from;
	struct scan scan;

	plan.step[plan.n_steps++] = (struct plan_step){.kind = PLAN_RANGE,
						       .column = STORE_CHAIN,
						       .min = w->first_chain + 1,
						       .max = w->first_chain + w->n_chains};
	if (is_first_only)
		plan.step[plan.n_steps++] =
			(struct plan_step){.kind = PLAN_RANGE, .column = STORE_CHAIN_POSITION};
	scan_init(&scan, q, &plan);
	scan.sink = sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, 0);
	for (unsigned i = 0; i < scan.n_states; i++)
		states[i] = w;
	return scan_run(&scan, err);
}

/* Which chains count, and where their rows go. */
static int lay_out(struct window *w, struct err *err)
{
	uint64_t n = 0;
	int r;

	memset(w->stack, 0xff, w->n_chains * sizeof(*w->stack)); /* NOT_CHOSEN */
	r = scan_window(w, &w->q->plan, true, choose_sink, err);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < w->n_chains; i++) {
		uint64_t length = w->q->chain[w->first_chain + i].length;

		w->first[i] = (uint32_t)n;
		if (w->stack[i] == NOT_CHOSEN)
			continue;
		if (w->end_position != UINT64_MAX)
			length = w->end_position - w->from_position;
		n += length;
	}
	w->first[w->n_chains] = (uint32_t)n;
	for (uint64_t i = 0; i < n; i++)
		w->slot[i].size_bytes = NO_ROW;
	return 0;
}

/* ---- walking the chains ---- */

struct walk {
	const struct window *w;
	struct tally *tally; /* one per thread */
	unsigned n_threads;
};

static int add_realloc(struct tally *t, struct chains_site *s, const struct slot *old,
		       const struct slot *new, struct err *err)
{
	uint64_t old_bytes = old->size_bytes & ~IS_MMAPED, new_bytes = new->size_bytes & ~IS_MMAPED;
	uint64_t n_copied = old_bytes < new_bytes ? old_bytes : new_bytes;
	struct tally_class *c;

	s->n_reallocs++;
	if (old->addr == new->addr)
		return 0;
	s->n_moved++;
	if (old->size_bytes & new->size_bytes & IS_MMAPED) {
		s->n_remapped++;
		return 0;
	}
	s->copied_bytes += n_copied;
	c = tally_class(t, s->stack, class_of_size(new_bytes), err);
	if (!c)
		return -ERR_MEMORY;
	c->copied_bytes += n_copied;
	return 0;
}

static int add_chain(struct tally *t, const struct window *w, uint64_t number, struct err *err)
{
	const struct store_chain *chain = &w->q->chain[w->first_chain + number];
	struct chains_site *s = tally_site(t, w->stack[number], err);
	const struct slot *before = w->from_position ? &w->before : NULL;
	struct tally_class *last;
	int r = 0;

	if (!s)
		return -ERR_MEMORY;
	for (uint32_t i = w->first[number]; i < w->first[number + 1] && r == 0; i++) {
		const struct slot *now = &w->slot[i];

		if (now->size_bytes == NO_ROW)
			return err_set(err, ERR_FORMAT,
				       "the store has not all rows of realloc chain %llu",
				       (unsigned long long)(w->first_chain + number));
		if (before)
			r = add_realloc(t, s, before, now, err);
		before = now;
	}
	if (r < 0 || w->end_position < chain->length)
		return r; /* the rest of the chain is in the next window */
	s->n_chains++;
	s->longest = chain->length > s->longest ? chain->length : s->longest;
	s->first_bytes += chain->first_size_bytes;
	s->last_bytes += chain->last_size_bytes;
	if (chain->last_size_bytes > s->max_last_bytes)
		s->max_last_bytes = chain->last_size_bytes;
	last = tally_class(t, s->stack, class_of_size(chain->last_size_bytes), err);
	if (!last)
		return -ERR_MEMORY;
	last->n_last++;
	return 0;
}

#define CHAINS_AT_ONCE 4096u /* between two looks whether to go on */

static int walk_thread(void *user, unsigned i, struct err *err)
{
	const struct walk *walk = user;
	const struct window *w = walk->w;
	uint64_t at = w->n_chains * i / walk->n_threads;
	uint64_t end = w->n_chains * (i + 1) / walk->n_threads;
	int r = 0;

	for (; at < end && r == 0; at++) {
		if (at % CHAINS_AT_ONCE == 0)
			r = query_check_cancel(w->q, err);
		if (r == 0 && w->stack[at] != NOT_CHOSEN)
			r = add_chain(&walk->tally[i], w, at, err);
	}
	return r;
}

static int do_window(struct window *w, struct walk *walk, struct err *err)
{
	struct plan all = {.end_row = store_n_rows(w->q->c.store)};
	unsigned n_threads = walk->n_threads;
	int r = lay_out(w, err);

	if (r == 0 && w->first[w->n_chains])
		r = scan_window(w, &all, false, fill_sink, err);
	if (r < 0)
		return r;
	if (w->n_chains < n_threads * 64)
		walk->n_threads = 1;
	r = scan_in_threads(walk->n_threads, walk_thread, walk, err);
	walk->n_threads = n_threads;
	return r;
}

/* A chain that does not fit into one window, piece by piece. */
static int do_long_chain(struct window *w, struct walk *walk, struct err *err)
{
	uint64_t length = w->q->chain[w->first_chain].length;
	int r = 0;

	for (uint64_t at = 0; at < length && r == 0; at = w->end_position) {
		w->from_position = at;
		w->end_position = length - at < w->max_rows ? length : at + w->max_rows;
		r = do_window(w, walk, err);
		if (w->stack[0] == NOT_CHOSEN)
			break;
		w->before = w->slot[w->end_position - at - 1];
	}
	w->from_position = 0;
	w->end_position = UINT64_MAX;
	return r;
}

/* ---- all chains ---- */

/* Every row belongs to one chain at most, so lengths add up to no more than there are rows. */
static int check_lengths(const struct query *q, struct err *err)
{
	uint64_t left = store_n_rows(q->c.store);

	for (size_t i = 0; i < q->n_chains; i++) {
		if (q->chain[i].length < 1 || q->chain[i].length > left)
			return err_set(err, ERR_FORMAT,
				       "realloc chain %zu of the store is nonsense", i);
		left -= q->chain[i].length;
	}
	return 0;
}

static int reserve_chains(struct window *w, struct err *err)
{
	if (w->n_chains + 1 <= w->cap_chains)
		return 0;
	free(w->stack);
	free(w->first);
	w->cap_chains = (size_t)w->n_chains + 1;
	w->stack = malloc(w->cap_chains * sizeof(*w->stack));
	w->first = malloc(w->cap_chains * sizeof(*w->first));
	return w->stack && w->first ? 0 : err_set_memory(err, w->cap_chains * 8);
}

static int each_window(struct window *w, struct walk *walk, struct err *err)
{
	const struct query *q = w->q;
	int r = 0;

	w->slot = malloc((size_t)(w->max_rows + 1) * sizeof(*w->slot));
	if (!w->slot)
		return err_set_memory(err, (size_t)w->max_rows * sizeof(*w->slot));
	while (w->first_chain < q->n_chains && r == 0) {
		uint64_t n_rows = 0, n = 0;

		while (w->first_chain + n < q->n_chains &&
		       q->chain[w->first_chain + n].length <= w->max_rows - n_rows)
			n_rows += q->chain[w->first_chain + n++].length;
		w->n_chains = n ? n : 1;
		r = reserve_chains(w, err);
		if (r == 0)
			r = n ? do_window(w, walk, err) : do_long_chain(w, walk, err);
		w->first_chain += w->n_chains;
	}
	return r;
}

/* ---- advice ---- */

static void advise(struct tally *t, struct chains_site *s)
{
	uint64_t n_last = 0, copied = 0;

	for (unsigned class = 0; class <= 64; class ++) {
		const uint64_t *number =
			map_find(&t->class_of, (uint64_t)s->stack * CLASSES_PER_STACK + class);

		if (!number)
			continue;
		n_last += t->class[*number].n_last;
		copied += t->class[*number].copied_bytes;
		if ((unsigned __int128)n_last * 100 >=
		    (unsigned __int128)s->n_chains * CHAINS_RESERVE_PERCENT) {
			s->reserve_bytes = class_bytes(class);
			s->saved_bytes = copied;
			return;
		}
	}
}

static int compare_sites(const void *a, const void *b)
{
	const struct chains_site *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void take_sites(struct tally *t, struct chains *ret)
{
	*ret = (struct chains){.site = t->site, .n_sites = t->n_sites};
	t->site = NULL;
	for (size_t i = 0; i < ret->n_sites; i++) {
		advise(t, &ret->site[i]);
		add_site(&ret->total, &ret->site[i]);
	}
	if (ret->n_sites)
		qsort(ret->site, ret->n_sites, sizeof(*ret->site), compare_sites);
}

static int count_chains(struct query *q, uint64_t window_rows, struct chains *ret, struct err *err)
{
	struct tally tally[SCAN_MAX_THREADS];
	uint64_t n_rows = store_n_rows(q->c.store);
	struct window w = {.q = q,
			   .max_rows = window_rows < n_rows ? window_rows : n_rows,
			   .end_position = UINT64_MAX};
	struct walk walk = {.w = &w, .tally = tally};
	int r = plan_need_rows(q, err);

	ASSERT(window_rows > 0 && window_rows < UINT32_MAX);
	memset(tally, 0, sizeof(tally));
	if (r == 0)
		r = check_lengths(q, err);
	walk.n_threads = scan_n_threads(q, store_n_blocks(q->c.store), 0);
	if (r == 0)
		r = each_window(&w, &walk, err);
	for (unsigned i = 1; i < walk.n_threads && r == 0; i++)
		r = tally_merge(&tally[0], &tally[i], err);
	if (r == 0)
		take_sites(&tally[0], ret);
	for (unsigned i = 0; i < walk.n_threads; i++)
		tally_fini(&tally[i]);
	free(w.stack);
	free(w.first);
	free(w.slot);
	return r;
}

static void destroy_chains(void *data)
{
	chains_fini(data);
	free(data);
}

static int make_chains(struct query *q, unsigned kind, struct shared_result *ret, struct err *err)
{
	struct chains *c = calloc(1, sizeof(*c));
	int r = c ? count_chains(q, CHAINS_WINDOW_ROWS, c, err) : err_set_memory(err, sizeof(*c));

	(void)kind;
	if (r < 0) {
		free(c);
		return r;
	}
	ret->data = c;
	ret->n_bytes = sizeof(*c) + c->n_sites * sizeof(*c->site);
	ret->destroy = destroy_chains;
	return 0;
}

int chains_by_site(struct query *q, uint64_t window_rows, struct chains *ret, struct err *err)
{
	struct shared_result *shared;
	const struct chains *c;
	int r;

	if (!q->c.shared)
		return count_chains(q, window_rows, ret, err);
	r = shared_results_get(q->c.shared, q, SHARED_CHAINS, make_chains, &shared, err);
	if (r < 0)
		return r;
	c = shared->data;
	*ret = *c;
	ret->site = malloc((c->n_sites + 1) * sizeof(*ret->site));
	if (!ret->site)
		r = err_set_memory(err, c->n_sites * sizeof(*ret->site));
	else if (c->n_sites)
		memcpy(ret->site, c->site, c->n_sites * sizeof(*ret->site));
	shared_result_release(shared);
	return r;
}

void chains_fini(struct chains *c)
{
	free(c->site);
	*c = (struct chains){0};
}
