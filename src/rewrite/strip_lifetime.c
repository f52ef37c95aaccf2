/* rewrite/strip_lifetime.c - see strip_lifetime.h.
 *
 * When a chain ends, all of its blocks must be found. Each block that a realloc() made has a link
 * to the block before it; the number of the link is the tag of the block (live.h). A link is used
 * again when its chain has ended.
 */
#include "rewrite/strip_lifetime.h"

#include <stdlib.h>
#include <string.h>

#include "util/map.h"
#include "util/spill.h"
#include "util/vec.h"

#define PAGE_BYTES 4096u
#define PAGE_BITS (PAGE_BYTES * 8)
#define SCRATCH_MEMORY_BYTES ((size_t)32 << 20) /* beyond it a file is used */
#define MAX_LOOSE 256 /* see struct loose_end */

/* The bits of one thread: pages of the spill. A page is taken when its first bit is set. */
struct bit_pages {
	uint32_t *page; /* number of the page + 1; 0: no bit is set there */
	size_t n, cap;
};

struct thread_bits {
	struct bit_pages alloc;
	struct bit_pages release;
};

/* The link from a block that a realloc() made to the block before it. */
struct chain_link {
	uint64_t first_ns; /* allocation of the first block of the chain */
	uint64_t before_tag; /* the link of the block before; 0: that one was the first */
	uint64_t before_ordinal;
	uint64_t before_ns;
	uint64_t before_bytes;
	uint64_t release_ordinal; /* of the REALLOC_BEGIN that ended it */
	uint32_t before_thread;
	uint32_t before_stack;
	uint32_t release_thread;
	bool has_before; /* false: the block that was reallocated is not known */
	bool has_release;
};

/* A block that a realloc() ended, until the replay reports the new block: at once, or a little
 * later when the new block is held back (pairing.h). At most MAX_LOOSE are kept; then the oldest is
 * forgotten. */
struct loose_end {
	uint64_t addr;
	struct replay_release release;
};

struct strip_lifetime {
	bool has_threshold;
	uint64_t threshold_ns;
	struct map thread_at; /* number -> index in thread */
	struct thread_bits *thread;
	size_t n_threads;
	struct spill *bits; /* pages */
	uint32_t n_pages;
	struct spill *links; /* of struct chain_link; 0 is not used */
	uint64_t n_links;
	uint64_t free_link; /* first of a list through before_tag; 0: none */
	struct loose_end loose[MAX_LOOSE];
	size_t n_loose;
	struct stacks *stacks;
	struct map group_at; /* number of the stack -> index in group */
	struct strip_group *group;
	size_t n_groups, cap_groups;
	struct dropped_summary summary;
	struct err *err; /* during the run */
	int failed; /* the first error */
};

/* Makes an array at least that long. It grows by half each time. */
static int reserve(struct spill *a, size_t n_bytes, struct err *err)
{
	return n_bytes <= spill_size(a) ? 0
					: spill_resize(a, n_bytes + n_bytes / 2 + PAGE_BYTES, err);
}

static struct chain_link *get_link(struct strip_lifetime *s, uint64_t tag)
{
	return (struct chain_link *)spill_data(s->links) + tag;
}

/* ---- bits ---- */

static uint8_t *get_page(const struct strip_lifetime *s, uint32_t number)
{
	return (uint8_t *)spill_data(s->bits) + (size_t)(number - 1) * PAGE_BYTES;
}

static struct thread_bits *find_thread(const struct strip_lifetime *s, uint32_t number)
{
	const uint64_t *at = map_find(&s->thread_at, number);

	return at ? &s->thread[*at] : NULL;
}

static int set_bit(struct strip_lifetime *s, struct bit_pages *p, uint64_t ordinal, struct err *err)
{
	size_t page = ordinal / PAGE_BITS, old = p->n;
	uint32_t bit = ordinal % PAGE_BITS;
	int r;

	if (page >= p->n) {
		r = vec_reserve(&p->page, &p->cap, page + 1, sizeof(*p->page), err);
		if (r < 0)
			return r;
		memset(p->page + old, 0, (page + 1 - old) * sizeof(*p->page));
		p->n = page + 1;
	}
	if (p->page[page] == 0) {
		r = reserve(s->bits, ((size_t)s->n_pages + 1) * PAGE_BYTES, err);
		if (r < 0)
			return r;
		p->page[page] = ++s->n_pages;
	}
	get_page(s, p->page[page])[bit / 8] |= (uint8_t)(1u << bit % 8);
	return 0;
}

static bool get_bit(const struct strip_lifetime *s, const struct bit_pages *p, uint64_t ordinal)
{
	size_t page = ordinal / PAGE_BITS;
	uint32_t bit = ordinal % PAGE_BITS;

	if (page >= p->n || p->page[page] == 0)
		return false;
	return get_page(s, p->page[page])[bit / 8] >> bit % 8 & 1;
}

bool strip_lifetime_drops_alloc(const struct strip_lifetime *s, uint32_t thread, uint64_t ordinal)
{
	const struct thread_bits *t = find_thread(s, thread);

	return t && get_bit(s, &t->alloc, ordinal);
}

bool strip_lifetime_drops_release(const struct strip_lifetime *s, uint32_t thread, uint64_t ordinal)
{
	const struct thread_bits *t = find_thread(s, thread);

	return t && get_bit(s, &t->release, ordinal);
}

/* ---- leaving out ---- */

static int add_to_group(struct strip_lifetime *s, const struct live_block *a, struct err *err)
{
	struct dropped_group *g;
	uint64_t *at;
	bool is_new;
	int r = map_add(&s->group_at, a->stack, &at, &is_new, err);

	if (r == 0 && is_new) {
		*at = s->n_groups;
		r = vec_reserve(&s->group, &s->cap_groups, s->n_groups + 1, sizeof(*s->group), err);
		if (r < 0)
			return r;
		s->group[s->n_groups++] = (struct strip_group){
			.stack = a->stack,
			.sums = {.min_bytes = UINT64_MAX, .first_ns = UINT64_MAX},
		};
	}
	if (r < 0)
		return r;
	g = &s->group[*at].sums;
	g->n_allocations++;
	g->n_bytes += a->size_bytes;
	g->min_bytes = a->size_bytes < g->min_bytes ? a->size_bytes : g->min_bytes;
	g->max_bytes = a->size_bytes > g->max_bytes ? a->size_bytes : g->max_bytes;
	g->first_ns = a->at_ns < g->first_ns ? a->at_ns : g->first_ns;
	g->last_ns = a->at_ns > g->last_ns ? a->at_ns : g->last_ns;
	return 0;
}

/* Leaves an allocation out. Of a only thread, ordinal, stack, size_bytes and at_ns count. */
static int drop_alloc(struct strip_lifetime *s, const struct live_block *a, struct err *err)
{
	struct thread_bits *t = find_thread(s, a->thread);
	int r = t ? set_bit(s, &t->alloc, a->ordinal, err) : 0;

	if (r == 0)
		r = add_to_group(s, a, err);
	s->summary.n_allocations++;
	s->summary.n_bytes += a->size_bytes;
	s->summary.n_events++;
	return r;
}

static int drop_release(struct strip_lifetime *s, uint32_t thread, uint64_t ordinal,
			struct err *err)
{
	struct thread_bits *t = find_thread(s, thread);

	s->summary.n_events++;
	return t ? set_bit(s, &t->release, ordinal, err) : 0;
}

/* Walks the links of a chain that has ended, and frees them. */
static int end_chain(struct strip_lifetime *s, uint64_t tag, bool is_dropped, struct err *err)
{
	int r = 0;

	while (tag != 0) {
		struct chain_link link = *get_link(s, tag);
		const struct live_block before = {
			.thread = link.before_thread,
			.ordinal = link.before_ordinal,
			.stack = link.before_stack,
			.size_bytes = link.before_bytes,
			.at_ns = link.before_ns,
		};

		get_link(s, tag)->before_tag = s->free_link;
		s->free_link = tag;
		if (is_dropped && link.has_before && r == 0)
			r = drop_alloc(s, &before, err);
		if (is_dropped && link.has_release && r == 0)
			r = drop_release(s, link.release_thread, link.release_ordinal, err);
		tag = link.has_before ? link.before_tag : 0;
	}
	return r;
}

/* ---- callbacks of the replay ---- */

static uint64_t on_arrival(void *user, const struct live_block *a)
{
	struct strip_lifetime *s = user;
	uint64_t tag = s->free_link;

	if (a->kind != EVENT_REALLOC_END || s->failed)
		return 0;
	if (tag) {
		s->free_link = get_link(s, tag)->before_tag;
	} else {
		tag = s->n_links + 1;
		s->failed = reserve(s->links, (tag + 1) * sizeof(struct chain_link), s->err);
		if (s->failed)
			return 0;
		s->n_links++;
	}
	*get_link(s, tag) = (struct chain_link){.first_ns = a->at_ns};
	return tag;
}

static void add_loose(struct strip_lifetime *s, uint64_t addr, const struct replay_release *release)
{
	if (s->n_loose == MAX_LOOSE)
		memmove(s->loose, s->loose + 1, --s->n_loose * sizeof(*s->loose));
	s->loose[s->n_loose++] = (struct loose_end){addr, *release};
}

/* Takes the release of the old block at addr, which the replay reported shortly before. False:
 * there is none. */
static bool take_loose(struct strip_lifetime *s, uint64_t addr, struct replay_release *ret)
{
	for (size_t i = s->n_loose; i-- > 0;) {
		if (s->loose[i].addr != addr)
			continue;
		*ret = s->loose[i].release;
		memmove(s->loose + i, s->loose + i + 1, (--s->n_loose - i) * sizeof(*s->loose));
		return true;
	}
	return false;
}

static void on_alloc(void *user, struct live_block *a, const struct live_block *old)
{
	struct strip_lifetime *s = user;
	struct replay_release release;
	struct chain_link *link;

	if (a->tag == 0 || !old || s->failed)
		return;
	link = get_link(s, a->tag);
	*link = (struct chain_link){
		.first_ns = old->tag ? get_link(s, old->tag)->first_ns : old->at_ns,
		.before_tag = old->tag,
		.before_ordinal = old->ordinal,
		.before_ns = old->at_ns,
		.before_bytes = old->size_bytes,
		.before_thread = old->thread,
		.before_stack = old->stack,
		.has_before = true,
	};
	link->has_release = take_loose(s, old->addr, &release);
	if (link->has_release) {
		link->release_thread = release.thread;
		link->release_ordinal = release.ordinal;
	}
}

/* Did the chain that ends here live shorter than the threshold? */
static bool is_short(struct strip_lifetime *s, const struct live_block *a,
		     const struct replay_release *how)
{
	uint64_t start_ns, end_ns;

	if (!s->has_threshold)
		return true;
	start_ns = a->tag ? get_link(s, a->tag)->first_ns : a->at_ns;
	end_ns = how->at_ns;
	return (end_ns > start_ns ? end_ns - start_ns : 0) < s->threshold_ns;
}

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	struct strip_lifetime *s = user;
	bool is_dropped;

	if (s->failed)
		return;
	if (how->how == REPLAY_REALLOCATED) {
		add_loose(s, a->addr, how);
		return;
	}
	is_dropped = is_short(s, a, how) || how->how == REPLAY_REPLACED;
	if (is_dropped)
		s->failed = drop_alloc(s, a, s->err);
	if (is_dropped && how->how != REPLAY_REPLACED && !s->failed)
		s->failed = drop_release(s, how->thread, how->ordinal, s->err);
	if (!s->failed)
		s->failed = end_chain(s, a->tag, is_dropped, s->err);
}

/* ---- the run ---- */

static int add_threads(struct strip_lifetime *s, const struct recording *r, struct err *err)
{
	s->thread = calloc(r->n_lanes + 1, sizeof(*s->thread));
	if (!s->thread)
		return err_set_memory(err, (r->n_lanes + 1) * sizeof(*s->thread));
	for (size_t i = 0; i < r->n_lanes; i++) {
		uint64_t *at;
		bool is_new;
		int n = map_add(&s->thread_at, r->lane[i].thread, &at, &is_new, err);

		if (n < 0)
			return n;
		if (is_new)
			*at = s->n_threads++;
	}
	return 0;
}

int strip_lifetime_create(struct recording *r, const struct strip_rule *rule,
			  struct strip_lifetime **ret, struct err *err)
{
	struct strip_lifetime *s = calloc(1, sizeof(*s));
	struct replay_callbacks callbacks = {
		.user = s, .on_arrival = on_arrival, .on_alloc = on_alloc, .on_free = on_free};
	struct replay_totals totals;
	int n;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->err = err;
	s->has_threshold = s->summary.has_threshold = rule->has_threshold;
	s->summary.threshold_ns = rule->has_threshold ? rule->threshold_ns : 0;
	s->threshold_ns = rule->threshold_ns;
	n = spill_create(rule->scratch_folder, SCRATCH_MEMORY_BYTES, &s->bits, err);
	if (n == 0)
		n = spill_create(rule->scratch_folder, SCRATCH_MEMORY_BYTES, &s->links, err);
	if (n == 0)
		n = add_threads(s, r, err);
	if (n == 0)
		n = replay_run(r, &callbacks, &totals, &s->stacks, err);
	if (n == 0)
		n = s->failed;
	if (n < 0) {
		strip_lifetime_destroy(s);
		return n;
	}
	*ret = s;
	return 0;
}

void strip_lifetime_destroy(struct strip_lifetime *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_threads; i++) {
		free(s->thread[i].alloc.page);
		free(s->thread[i].release.page);
	}
	free(s->thread);
	free(s->group);
	stacks_destroy(s->stacks);
	map_fini(&s->thread_at);
	map_fini(&s->group_at);
	spill_destroy(s->bits);
	spill_destroy(s->links);
	free(s);
}

const struct strip_group *strip_lifetime_groups(const struct strip_lifetime *s, size_t *n)
{
	*n = s->n_groups;
	return s->group;
}

const struct stacks *strip_lifetime_stacks(const struct strip_lifetime *s)
{
	return s->stacks;
}

const struct dropped_summary *strip_lifetime_summary(const struct strip_lifetime *s)
{
	return &s->summary;
}
