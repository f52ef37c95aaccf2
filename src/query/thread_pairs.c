/* query/thread_pairs.c - see thread_pairs.h. */
#include "query/thread_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "query/estimate.h"
#include "query/query_i.h"

/* One thread's part of the pass. */
struct pairs_state {
	size_t n;
	struct thread_pair cell[];
};

/* A thread that the store does not know counts as the first one, as in scanner_row(). */
static inline uint64_t known_thread(uint64_t thread, size_t n_threads)
{
	return thread < n_threads ? thread : 0;
}

static int pairs_sink(void *state, struct scanner *s, struct err *err)
{
	struct pairs_state *st = state;
	const uint64_t *life = scanner_column(s, STORE_LIFETIME_NS);
	const uint64_t *size = scanner_column(s, STORE_SIZE_BYTES);
	const uint64_t *thread = scanner_column(s, STORE_THREAD);
	const uint64_t *free_thread = scanner_column(s, STORE_FREE_THREAD);
	size_t n_threads = s->q->n_threads;

	(void)err;
	for (uint32_t k = 0; k < s->n_selected; k++) {
		uint32_t i = s->selected[k];
		uint64_t by = known_thread(thread[i], n_threads);
		uint64_t freed_by = known_thread(free_thread[i], n_threads);
		struct thread_pair *p;

		if (!store_is_released(life[i]) || by >= st->n || freed_by >= st->n)
			continue;
		p = &st->cell[by * st->n + freed_by];
		p->count++;
		p->n_bytes += size[i];
	}
	return 0;
}

int thread_pairs_count(struct query *q, size_t n, struct thread_pair *ret, struct err *err)
{
	size_t n_cells = n * n, state_bytes = sizeof(struct pairs_state) + n_cells * sizeof(*ret);
	void *states[SCAN_MAX_THREADS] = {0};
	struct scan scan;
	int r = plan_need_rows(q, err);

	if (r < 0)
		return r;
	scan_init(&scan, q, &q->plan);
	scan.sink = pairs_sink;
	scan.states = states;
	scan.n_states = scan_n_threads(q, scan.end_block - scan.first_block, state_bytes);
	for (unsigned i = 0; i < scan.n_states && r >= 0; i++) {
		struct pairs_state *st = states[i] = calloc(1, state_bytes);

		if (st)
			st->n = n;
		else
			r = err_set_memory(err, state_bytes);
	}
	if (r >= 0)
		r = scan_run(&scan, err);
	if (r >= 0)
		memset(ret, 0, n_cells * sizeof(*ret));
	for (unsigned i = 0; i < scan.n_states; i++) {
		const struct pairs_state *st = states[i];

		for (size_t c = 0; c < n_cells && r >= 0; c++) {
			ret[c].count += st->cell[c].count;
			ret[c].n_bytes += st->cell[c].n_bytes;
		}
		free(states[i]);
	}
	for (size_t c = 0; c < n_cells && r >= 0; c++) {
		ret[c].count = estimate_scale(q, ret[c].count);
		ret[c].n_bytes = estimate_scale(q, ret[c].n_bytes);
	}
	return r;
}
