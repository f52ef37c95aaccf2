/* query/site_facts.c - see site_facts.h. */
#include "query/site_facts.h"

#include <stdlib.h>
#include <string.h>

#include "query/query_i.h"
#include "util/log_class.h"

#define LIFE_BITS 5u
#define N_LIVES LOG_CLASSES(LIFE_BITS)

/* The stacks of one pass. */
struct chosen {
	const uint32_t *stack;
	size_t n;
	size_t n_threads; /* of the recording */
	uint32_t *slot; /* by number of stack: 1 + index, or 0 */
};

struct markers {
	uint64_t min, max;
};

/* One for each thread of the pass. */
struct facts_state {
	const struct chosen *chosen;
	uint64_t *allocs; /* n * n_threads: by stack and thread */
	uint64_t *lives; /* n * N_LIVES: by stack and class of lifetimes */
	struct markers *marker; /* n */
};

static int facts_sink(void *state, struct scanner *s, struct err *err)
{
	struct facts_state *st = state;
	const struct chosen *c = st->chosen;
	const uint64_t *stack = scanner_column(s, STORE_STACK);
	const uint64_t *thread = scanner_column(s, STORE_THREAD);
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *marker = scanner_column(s, STORE_MARKER);

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint32_t slot = stack[i] < s->q->n_stacks ? c->slot[stack[i]] : 0;
		struct markers *m;

		if (!slot--)
			continue;
		m = &st->marker[slot];
		if (thread[i] < c->n_threads)
			st->allocs[slot * c->n_threads + thread[i]]++;
		if (store_is_released(life[i])) /* 1 + lifetime */
			st->lives[slot * N_LIVES + log_class(life[i] - 1, LIFE_BITS)]++;
		m->min = marker[i] < m->min ? marker[i] : m->min;
		m->max = marker[i] > m->max ? marker[i] : m->max;
	}
	return 0;
}

static void state_fini(struct facts_state *st)
{
	free(st->allocs);
	free(st->lives);
	free(st->marker);
}

static int state_init(struct facts_state *st, const struct chosen *c, struct err *err)
{
	size_t n_cells = c->n * (c->n_threads + N_LIVES + 2);

	*st = (struct facts_state){
		.chosen = c,
		.allocs = calloc(c->n * c->n_threads + 1, sizeof(*st->allocs)),
		.lives = calloc(c->n * N_LIVES, sizeof(*st->lives)),
		.marker = malloc(c->n * sizeof(*st->marker)),
	};
	if (!st->allocs || !st->lives || !st->marker)
		return err_set_memory(err, n_cells * sizeof(*st->lives));
	for (size_t i = 0; i < c->n; i++)
		st->marker[i] = (struct markers){.min = UINT64_MAX};
	return 0;
}

static void state_add(struct facts_state *sum, const struct facts_state *st)
{
	const struct chosen *c = sum->chosen;

	for (size_t i = 0; i < c->n * c->n_threads; i++)
		sum->allocs[i] += st->allocs[i];
	for (size_t i = 0; i < c->n * N_LIVES; i++)
		sum->lives[i] += st->lives[i];
	for (size_t i = 0; i < c->n; i++) {
		struct markers *m = &sum->marker[i];

		m->min = st->marker[i].min < m->min ? st->marker[i].min : m->min;
		m->max = st->marker[i].max > m->max ? st->marker[i].max : m->max;
	}
}

static void find_median(const uint64_t *lives, struct site_facts *ret)
{
	uint64_t rank, width;
	size_t class = 0;

	for (size_t i = 0; i < N_LIVES; i++)
		ret->n_freed += lives[i];
	if (!ret->n_freed)
		return;
	for (rank = (ret->n_freed - 1) / 2; rank >= lives[class]; class ++)
		rank -= lives[class];
	log_class_range(class, LIFE_BITS, &ret->median_min_ns, &width);
	ret->median_max_ns = ret->median_min_ns + width;
}

static void take_facts(const struct facts_state *st, struct site_facts *ret)
{
	const struct chosen *c = st->chosen;

	for (size_t i = 0; i < c->n; i++) {
		const uint64_t *allocs = st->allocs + i * c->n_threads;
		struct site_facts *f = &ret[i];
		uint64_t most = 0;

		*f = (struct site_facts){0};
		for (size_t thread = 0; thread < c->n_threads; thread++) {
			f->n_threads += allocs[thread] > 0;
			if (allocs[thread] > most) {
				most = allocs[thread];
				f->busiest = (uint32_t)thread;
			}
		}
		if (st->marker[i].min <= st->marker[i].max) {
			f->min_marker = st->marker[i].min;
			f->max_marker = st->marker[i].max;
		}
		find_median(st->lives + i * N_LIVES, f);
	}
}

static int run_pass(struct query *q, const struct chosen *c, struct site_facts *ret,
		    struct err *err)
{
	struct facts_state st[SCAN_MAX_THREADS] = {0};
	void *states[SCAN_MAX_THREADS];
	struct scan scan;
	int r = 0;

	scan_init(&scan, q, &q->plan);
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block,
				       c->n * (c->n_threads + N_LIVES + 2) * sizeof(uint64_t));
	for (unsigned i = 0; r >= 0 && i < scan.n_states; i++) {
		r = state_init(&st[i], c, err);
		states[i] = &st[i];
	}
	scan.sink = facts_sink;
	scan.states = states;
	if (r >= 0)
		r = scan_run(&scan, err);
	for (unsigned i = 1; r >= 0 && i < scan.n_states; i++)
		state_add(&st[0], &st[i]);
	if (r >= 0)
		take_facts(&st[0], ret);
	for (unsigned i = 0; i < scan.n_states; i++)
		state_fini(&st[i]);
	return r;
}

int site_facts_of(struct query *q, const uint32_t *stack, size_t n, struct site_facts *ret,
		  struct err *err)
{
	struct chosen c = {.slot = calloc(q->n_stacks + 1, sizeof(*c.slot))};
	size_t at_once;
	int r = c.slot ? plan_need_rows(q, err) : err_set_memory(err, q->n_stacks);

	store_table(q->c.store, STORE_THREADS, &c.n_threads);
	at_once = SITE_FACTS_CELLS / (c.n_threads + N_LIVES + 2);
	at_once = at_once ? at_once : 1;
	for (size_t done = 0; r >= 0 && done < n; done += c.n) {
		c.stack = stack + done;
		c.n = n - done < at_once ? n - done : at_once;
		memset(c.slot, 0, q->n_stacks * sizeof(*c.slot));
		for (size_t i = 0; i < c.n; i++) {
			ASSERT(c.stack[i] < q->n_stacks && !c.slot[c.stack[i]]);
			c.slot[c.stack[i]] = (uint32_t)i + 1;
		}
		r = run_pass(q, &c, ret + done, err);
	}
	free(c.slot);
	return r < 0 ? r : 0;
}
