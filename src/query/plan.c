/* query/plan.c - from a filter to a plan: see query_i.h. Conditions on stacks: plan_stacks.c. */
#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "query/query_regex.h"

uint64_t *set_create(uint64_t n)
{
	return calloc(n / 64 + 1, sizeof(uint64_t));
}

uint64_t plan_share(uint64_t whole, uint64_t ppm)
{
	unsigned __int128 product = (unsigned __int128)whole * ppm / 1000000u;

	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

struct plan_moment plan_moment(const struct store *s, const struct filter_time *t)
{
	const struct store_facts *facts = store_facts(s);
	struct plan_moment m = {0};

	switch (t->kind) {
	case FILTER_TIME_PERCENT:
		m.ns = plan_share(facts->duration_ns,
				  (uint64_t)(t->percent * FILTER_PPM_PER_PERCENT + 0.5));
		break;
	case FILTER_TIME_UNIX:
		m.is_before = t->ns < facts->start_realtime_ns;
		m.ns = m.is_before ? 0 : t->ns - facts->start_realtime_ns;
		break;
	default:
		m.ns = t->ns;
		break;
	}
	/* UINT64_MAX is "never". */
	if (m.ns == UINT64_MAX)
		m.ns--;
	return m;
}

uint64_t plan_first_row(const struct store *s, uint64_t ns)
{
	uint64_t low = 0, high = store_n_blocks(s), row, end;

	/* The first block whose last allocation is at ns or later. */
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (store_block_max(s, STORE_ALLOC_NS, mid) < ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == store_n_blocks(s))
		return store_n_rows(s);
	row = low * STORE_BLOCK_ROWS;
	end = row + store_block_rows(s, low);
	while (row < end) {
		uint64_t mid = row + (end - row) / 2;

		if (store_value(s, STORE_ALLOC_NS, mid) < ns)
			row = mid + 1;
		else
			end = mid;
	}
	return row;
}

/* ---- building ---- */

static void match_nothing(struct plan *p)
{
	p->first_row = p->end_row = 0;
}

static void add_step(struct plan *p, const struct plan_step *step)
{
	ASSERT(p->n_steps < PLAN_MAX_STEPS);
	p->step[p->n_steps++] = *step;
	p->is_table = false;
}

static struct plan_range range_of(const struct filter_range *r)
{
	return (struct plan_range){
		.min = r->has_min ? r->min : 0,
		.max = r->has_max ? r->max : UINT64_MAX,
	};
}

static bool is_set(const struct filter_range *r)
{
	return r->has_min || r->has_max;
}

static void add_range(struct plan *p, enum plan_kind kind, enum store_column column,
		      const struct filter_range *range)
{
	struct plan_range r = range_of(range);

	if (is_set(range))
		add_step(p, &(struct plan_step){
				    .kind = kind, .column = column, .min = r.min, .max = r.max});
}

static void add_flag(struct plan *p, enum filter_choice choice, uint64_t flag)
{
	if (choice != FILTER_ANY)
		add_step(p, &(struct plan_step){.kind = PLAN_MASK,
						.column = STORE_FLAGS,
						.mask = flag,
						.min = choice == FILTER_YES ? flag : 0});
}

/* Which allocators fulfil the conditions: bit for each number. */
static int find_allocators(const struct query *q, uint32_t *ret, struct err *err)
{
	const struct filter *f = q->filter;
	struct query_regex *regex = NULL;
	uint32_t matching = 0;
	int r = f->allocator ? query_regex_create("allocator", f->allocator, &regex, err) : 0;

	for (uint32_t i = 0; r >= 0 && i < STORE_N_ALLOCATORS; i++) {
		const char *name =
			store_allocator_name(q->c.store, (uint64_t)i << STORE_ALLOCATOR_SHIFT);
		bool is_jemalloc = !strcmp(name, "jemalloc");

		r = regex ? query_regex_match(regex, name, err) : 1;
		if (r > 0 &&
		    (f->jemalloc == FILTER_ANY || (f->jemalloc == FILTER_YES) == is_jemalloc))
			matching |= 1u << i;
	}
	query_regex_destroy(regex);
	*ret = matching;
	return r < 0 ? r : 0;
}

/* Each combination of flags is a value; the set holds those with an allocator that matches. */
static int add_allocator(struct query *q, struct err *err)
{
	const uint64_t n_values = (uint64_t)STORE_FLAGS_END;
	uint32_t matching = UINT32_MAX;
	int r;

	if (q->filter->jemalloc == FILTER_ANY && !q->filter->allocator)
		return 0;
	r = find_allocators(q, &matching, err);
	if (r < 0)
		return r;
	q->flags_set = set_create(n_values);
	if (!q->flags_set)
		return err_set_memory(err, n_values / 8);
	for (uint64_t i = 0; i < n_values; i++) {
		if (matching >> store_allocator_of(i) & 1)
			q->flags_set[i / 64] |= 1ull << i % 64;
	}
	add_step(&q->plan, &(struct plan_step){.kind = PLAN_SET,
					       .column = STORE_FLAGS,
					       .set = q->flags_set,
					       .n_set = n_values});
	return 0;
}

static void allocated_from(struct query *q, uint64_t ns)
{
	uint64_t row = plan_first_row(q->c.store, ns);

	if (row > q->plan.first_row)
		q->plan.first_row = row;
}

static void allocated_to(struct query *q, uint64_t ns)
{
	uint64_t row = plan_first_row(q->c.store, ns + 1);

	if (row < q->plan.end_row)
		q->plan.end_row = row;
}

static void add_death(struct plan *p, enum plan_kind kind, uint64_t min, uint64_t max)
{
	add_step(p, &(struct plan_step){.kind = kind, .min = min, .max = max});
}

static void add_alive_at(struct query *q, const struct filter_time *t)
{
	struct plan_moment m = plan_moment(q->c.store, t);

	if (t->kind == FILTER_TIME_NONE)
		return;
	if (m.is_before) {
		match_nothing(&q->plan);
		return;
	}
	allocated_to(q, m.ns);
	add_death(&q->plan, PLAN_DEATH, m.ns + 1, UINT64_MAX);
}

static void add_allocated(struct query *q)
{
	const struct filter *f = q->filter;
	struct plan_moment from = plan_moment(q->c.store, &f->from);
	struct plan_moment to = plan_moment(q->c.store, &f->to);
	uint64_t first = q->plan.first_row, end = q->plan.end_row;

	if (f->from.kind != FILTER_TIME_NONE)
		allocated_from(q, from.ns);
	if (f->to.kind != FILTER_TIME_NONE && to.is_before)
		match_nothing(&q->plan);
	else if (f->to.kind != FILTER_TIME_NONE)
		allocated_to(q, to.ns);
	/* Without rows there is no telling whether it makes a difference. */
	if (q->plan.first_row > first || q->plan.end_row < end ||
	    (!store_has_rows(q->c.store) &&
	     (f->from.kind != FILTER_TIME_NONE || f->to.kind != FILTER_TIME_NONE)))
		q->plan.is_table = false;
}

/* A window without an end is open on that side. is_none: no moment lies in it. */
static void window(struct query *q, struct plan_range *ret, bool *is_none)
{
	const struct filter *f = q->filter;
	struct plan_moment from = plan_moment(q->c.store, &f->window_from);
	struct plan_moment to = plan_moment(q->c.store, &f->window_to);

	ret->min = f->window_from.kind == FILTER_TIME_NONE ? 0 : from.ns;
	ret->max = f->window_to.kind == FILTER_TIME_NONE ? UINT64_MAX - 1 : to.ns;
	*is_none = (f->window_to.kind != FILTER_TIME_NONE && to.is_before) || ret->min > ret->max;
}

static void add_windows(struct query *q)
{
	const struct filter *f = q->filter;
	struct plan *p = &q->plan;
	struct plan_range w;
	bool is_none;

	window(q, &w, &is_none);
	if (is_none && (f->allocated == FILTER_INSIDE || f->freed == FILTER_INSIDE))
		match_nothing(p);
	if (is_none)
		return;
	if (f->allocated == FILTER_INSIDE) {
		p->is_table = false;
		allocated_from(q, w.min);
		allocated_to(q, w.max);
	} else if (f->allocated == FILTER_OUTSIDE) {
		add_step(p, &(struct plan_step){.kind = PLAN_NOT_RANGE,
						.column = STORE_ALLOC_NS,
						.min = w.min,
						.max = w.max});
	}
	if (f->freed != FILTER_WINDOW_ANY)
		add_death(p, f->freed == FILTER_INSIDE ? PLAN_DEATH : PLAN_NOT_DEATH, w.min, w.max);
}

/* The lifetime column is 0 for what was never released. */
static void add_released(struct plan *p, bool is_released)
{
	bool is_table = p->is_table;

	add_step(p, &(struct plan_step){.kind = PLAN_RANGE,
					.column = STORE_LIFETIME_NS,
					.min = is_released,
					.max = is_released ? UINT64_MAX : 0});
	p->is_table = is_table;
	p->is_leaked |= !is_released;
	p->is_released |= is_released;
}

static void add_lifetime_kind(struct query *q)
{
	const struct filter *f = q->filter;
	struct plan_moment to = plan_moment(q->c.store, &f->to);
	uint64_t to_ns = f->to.kind == FILTER_TIME_NONE ? UINT64_MAX - 1 : to.ns;

	switch (f->lifetime) {
	case FILTER_ONLY_LEAKED:
		add_released(&q->plan, false);
		break;
	case FILTER_ONLY_TEMPORARY:
		add_released(&q->plan, true);
		break;
	case FILTER_ONLY_NOT_DEALLOCATED_IN_RANGE:
		add_death(&q->plan, PLAN_DEATH, to_ns + 1, UINT64_MAX);
		break;
	case FILTER_ONLY_DEALLOCATED_IN_RANGE:
		add_death(&q->plan, PLAN_DEATH, 0, to_ns);
		break;
	case FILTER_ALL:
	case FILTER_ONLY_CHAIN_LEAKED: /* add_chain() */
	case FILTER_ONLY_WHOLE_GROUP_LEAKED: /* plan_stacks() */
		break;
	}
}

static void add_chain(struct query *q)
{
	const struct filter *f = q->filter;

	q->plan.chain = (struct plan_chain){
		.first_size = range_of(&f->first_size),
		.last_size = range_of(&f->last_size),
		.length = range_of(&f->chain_length),
		.lifetime_ns = range_of(&f->chain_lifetime_ns),
		.is_leaked = f->lifetime == FILTER_ONLY_CHAIN_LEAKED,
	};
	if (q->plan.chain.is_leaked || is_set(&f->first_size) || is_set(&f->last_size) ||
	    is_set(&f->chain_length) || is_set(&f->chain_lifetime_ns))
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_CHAIN});
}

static int add_map(struct query *q, struct err *err)
{
	size_t n;
	const struct store_region *region = store_table(q->c.store, STORE_REGIONS, &n);
	uint64_t map = q->filter->from_map;

	if (!q->filter->has_from_map)
		return 0;
	if (map >= n)
		return err_set(err, ERR_USAGE,
			       "from_map: there is no map %llu: the recording has %zu",
			       (unsigned long long)map, n);
	if (region[map].start >= region[map].end) {
		match_nothing(&q->plan);
		return 0;
	}
	add_step(&q->plan, &(struct plan_step){.kind = PLAN_RANGE,
					       .column = STORE_ADDR,
					       .min = region[map].start,
					       .max = region[map].end - 1});
	return 0;
}

static int add_thread(struct query *q, struct err *err)
{
	const struct store_thread *thread;
	size_t n, n_found = 0;
	uint64_t last = 0;

	if (!q->filter->has_thread)
		return 0;
	thread = store_table(q->c.store, STORE_THREADS, &n);
	q->thread_set = set_create(n);
	if (!q->thread_set)
		return err_set_memory(err, n / 8);
	/* A tid can be used again by a later thread. */
	for (size_t i = 0; i < n; i++) {
		if (thread[i].tid == q->filter->thread) {
			set_add(q->thread_set, i);
			last = i;
			n_found++;
		}
	}
	if (n_found == 0)
		match_nothing(&q->plan);
	else if (n_found == 1)
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_RANGE,
						       .column = STORE_THREAD,
						       .min = last,
						       .max = last});
	else
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_SET,
						       .column = STORE_THREAD,
						       .set = q->thread_set,
						       .n_set = n});
	return 0;
}

static int add_free_stacks(struct query *q, struct err *err)
{
	const struct filter *f = q->filter;

	if (!f->has_deallocation_backtraces)
		return 0;
	q->free_stack_set = set_create(q->n_stacks);
	if (!q->free_stack_set)
		return err_set_memory(err, q->n_stacks / 8);
	for (size_t i = 0; i < f->n_deallocation_backtraces; i++) {
		uint32_t stack = f->deallocation_backtraces[i];

		if (stack >= q->n_stacks)
			return err_set(err, ERR_USAGE,
				       "deallocation_backtraces: there is no backtrace %u: the "
				       "recording has %zu",
				       stack, q->n_stacks);
		set_add(q->free_stack_set, stack);
	}
	/* Stack 0 also stands for "not released". */
	if (set_has(q->free_stack_set, 0))
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_RANGE,
						       .column = STORE_LIFETIME_NS,
						       .min = 1,
						       .max = UINT64_MAX});
	add_step(&q->plan, &(struct plan_step){.kind = PLAN_SET,
					       .column = STORE_FREE_STACK,
					       .set = q->free_stack_set,
					       .n_set = q->n_stacks});
	return 0;
}

/* Is there just one number in the set? */
static bool is_single(const uint64_t *set, uint64_t n, uint64_t *ret)
{
	uint64_t n_found = 0;

	for (uint64_t i = 0; i < n / 64 + 1 && n_found < 2; i++) {
		n_found += (uint64_t)__builtin_popcountll(set[i]);
		if (set[i])
			*ret = i * 64 + (uint64_t)__builtin_ctzll(set[i]);
	}
	return n_found == 1;
}

static int add_stacks(struct query *q, struct err *err)
{
	bool is_table = q->plan.is_table;
	uint64_t stack = 0;
	int r = plan_stacks(q, &q->stack_set, err);

	if (r < 0 || !q->stack_set)
		return r;
	if (is_single(q->stack_set, q->n_stacks, &stack)) /* faster, for blocks and for rows */
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_RANGE,
						       .column = STORE_STACK,
						       .min = stack,
						       .max = stack});
	else
		add_step(&q->plan, &(struct plan_step){.kind = PLAN_SET,
						       .column = STORE_STACK,
						       .set = q->stack_set,
						       .n_set = q->n_stacks});
	q->plan.is_table = is_table;
	return 0;
}

void plan_narrow(const struct query *q, uint64_t from_ns, uint64_t end_ns, struct plan *ret)
{
	uint64_t row = plan_first_row(q->c.store, end_ns);

	*ret = q->plan;
	ret->end_row = row < ret->end_row ? row : ret->end_row;
	if (ret->first_row > ret->end_row)
		ret->first_row = ret->end_row;
	if (from_ns > 0 && ret->n_steps < PLAN_MAX_STEPS)
		add_death(ret, PLAN_DEATH, from_ns, UINT64_MAX);
}

void plan_alive(const struct query *q, uint64_t at_ns, struct plan *ret)
{
	ASSERT(q->plan.n_steps < PLAN_MAX_STEPS); /* a filter does not need so many */
	plan_narrow(q, at_ns + 1, at_ns + 1, ret);
}

int plan_need_rows(const struct query *q, struct err *err)
{
	if (store_has_rows(q->c.store))
		return 0;
	return err_set(err, ERR_REFUSED, "the store was made without rows");
}

/* Steps are taken in this order: first those that often decide whole blocks, last the dear ones. */
int plan_create(struct query *q, struct err *err)
{
	const struct filter *f = q->filter;
	struct plan *p = &q->plan;
	int r;

	*p = (struct plan){.end_row = store_facts(q->c.store)->n_rows, .is_table = true};
	add_allocated(q);
	add_lifetime_kind(q);
	add_range(p, PLAN_RANGE, STORE_SIZE_BYTES, &f->size);
	add_range(p, PLAN_RANGE, STORE_ADDR, &f->address);
	add_range(p, PLAN_RANGE, STORE_CHAIN_POSITION, &f->position_in_chain);
	if (f->has_marker)
		add_step(p, &(struct plan_step){.kind = PLAN_RANGE,
						.column = STORE_MARKER,
						.min = f->marker,
						.max = f->marker});
	r = add_map(q, err);
	if (r >= 0)
		r = add_thread(q, err);
	if (r >= 0)
		r = add_stacks(q, err);
	if (r >= 0)
		r = add_free_stacks(q, err);
	if (r < 0)
		return r;
	add_flag(p, f->mmaped, STORE_FLAG_MMAPED);
	add_flag(p, f->main_arena, STORE_FLAG_MAIN_ARENA);
	add_flag(p, f->temporary, STORE_FLAG_TEMPORARY);
	add_alive_at(q, &f->alive_at);
	add_alive_at(q, &f->alive_at_2);
	add_windows(q);
	add_range(p, PLAN_LIFETIME, STORE_LIFETIME_NS, &f->lifetime_ns);
	add_range(p, PLAN_USABLE, STORE_SIZE_BYTES, &f->usable_size);
	add_chain(q);
	add_flag(p, f->crossed, STORE_FLAG_CROSSED);
	r = add_allocator(q, err);
	if (r < 0)
		return r;
	if (p->first_row >= p->end_row) {
		match_nothing(p);
		p->is_table = false;
	}
	return p->is_table ? 0 : plan_need_rows(q, err);
}
