/* query/shared_results.c - see shared_results.h. */
#include "query/shared_results.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "query/estimate.h"
#include "query/query_i.h"

#define LOOK_NS 20000000 /* so often a waiting query checks whether it was cancelled */

/* States: free (no key), pending (a query computes the result), ready (result is set). An entry
 * that is pending or has waiting queries keeps its key, unless the computation fails. */
struct entry {
	uint8_t *key;
	size_t key_len;
	uint64_t used; /* number of the last use */
	struct shared_result *result;
	bool is_pending;
	atomic_uint n_waiting; /* changed under the lock; the computing query reads it without */
};

struct shared_results {
	const struct store *store;
	size_t max_bytes;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed; /* an entry is no longer pending */
	struct entry entry[SHARED_RESULTS_MAX_ENTRIES];
	size_t n_bytes; /* of all ready results with their keys */
	uint64_t n_uses;
	pthread_mutex_t names_lock; /* guards names and owners until they are made */
	struct query_names *names;
	struct owners *owners;
};

struct shared_results *shared_results_create(const struct store *store, size_t max_bytes)
{
	struct shared_results *c = calloc(1, sizeof(*c));

	if (c) {
		c->store = store;
		c->max_bytes = max_bytes;
		pthread_mutex_init(&c->lock, NULL);
		pthread_cond_init(&c->changed, NULL);
		pthread_mutex_init(&c->names_lock, NULL);
	}
	return c;
}

void shared_result_release(struct shared_result *r)
{
	if (!r || atomic_fetch_sub(&r->n_refs, 1) > 1)
		return;
	r->destroy(r->data);
	free(r);
}

/* ---- keys ---- */

struct key {
	uint8_t *bytes; /* NULL: only their number is wanted */
	size_t len;
};

static void put(struct key *k, const void *from, size_t n)
{
	if (k->bytes && n)
		memcpy(k->bytes + k->len, from, n);
	k->len += n;
}

static void put_u64(struct key *k, uint64_t value)
{
	put(k, &value, sizeof(value));
}

static void put_set(struct key *k, const uint64_t *set, uint64_t n)
{
	put_u64(k, set ? n : UINT64_MAX);
	if (set)
		put(k, set, (n + 63) / 64 * sizeof(*set));
}

static void put_range(struct key *k, struct plan_range r)
{
	put_u64(k, r.min);
	put_u64(k, r.max);
}

/* Field by field: the padding between fields has no defined value. */
static void put_query(struct key *k, const struct query *q, unsigned kind)
{
	const struct plan *p = &q->plan;

	put_u64(k, kind);
	put_u64(k, q->estimate ? q->estimate->n_read : 0);
	put_u64(k, q->span.from_ns);
	put_u64(k, q->span.span_ns);
	put_u64(k, p->first_row);
	put_u64(k, p->end_row);
	put_u64(k, p->is_leaked | p->is_released << 1 | p->chain.is_leaked << 2);
	put_range(k, p->chain.first_size);
	put_range(k, p->chain.last_size);
	put_range(k, p->chain.length);
	put_range(k, p->chain.lifetime_ns);
	put_set(k, q->stack_set, q->n_stacks);
	put_u64(k, p->n_steps);
	for (unsigned i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->step[i];

		put_u64(k, s->kind);
		put_u64(k, s->column);
		put_u64(k, s->min);
		put_u64(k, s->max);
		put_u64(k, s->mask);
		put_set(k, s->set, s->n_set);
	}
}

/* False: too long, or no memory. */
static bool key_make(const struct query *q, unsigned kind, struct key *ret)
{
	struct key k = {0};

	put_query(&k, q, kind);
	if (k.len > SHARED_RESULTS_MAX_KEY)
		return false;
	k.bytes = malloc(k.len);
	if (!k.bytes)
		return false;
	k.len = 0;
	put_query(&k, q, kind);
	*ret = k;
	return true;
}

/* ---- entries; the lock is held ---- */

static struct entry *entry_find(struct shared_results *c, const struct key *k)
{
	for (unsigned i = 0; i < SHARED_RESULTS_MAX_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (e->key && e->key_len == k->len && memcmp(e->key, k->bytes, k->len) == 0)
			return e;
	}
	return NULL;
}

/* n_waiting stays: a query that waited for the entry subtracts itself. */
static void entry_drop(struct shared_results *c, struct entry *e)
{
	if (e->result)
		c->n_bytes -= e->result->n_bytes + e->key_len;
	shared_result_release(e->result);
	free(e->key);
	e->key = NULL;
	e->key_len = 0;
	e->result = NULL;
	e->used = 0;
	e->is_pending = false;
}

/* The least recently used entry that may be dropped, or among the ready ones only; NULL: none. */
static struct entry *entry_oldest(struct shared_results *c, bool is_ready)
{
	struct entry *oldest = NULL;

	for (unsigned i = 0; i < SHARED_RESULTS_MAX_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (!e->is_pending && atomic_load(&e->n_waiting) == 0 && (e->result || !is_ready) &&
		    (!oldest || e->used < oldest->used))
			oldest = e;
	}
	return oldest;
}

/* A pending entry that takes the key; NULL: all entries are in use. */
static struct entry *entry_begin(struct shared_results *c, struct key *k)
{
	struct entry *e = entry_oldest(c, false);

	if (!e)
		return NULL;
	entry_drop(c, e);
	e->key = k->bytes;
	e->key_len = k->len;
	e->is_pending = true;
	k->bytes = NULL;
	return e;
}

static struct shared_result *entry_use(struct shared_results *c, struct entry *e)
{
	/* A result that never fits is dropped before any other. */
	e->used = e->result->n_bytes + e->key_len > c->max_bytes ? 0 : ++c->n_uses;
	atomic_fetch_add(&e->result->n_refs, 1);
	return e->result;
}

/* Drops results until the rest fits. Those that queries still wait for stay until these queries
 * call trim(). */
static void trim(struct shared_results *c)
{
	struct entry *e;

	while (c->n_bytes > c->max_bytes && (e = entry_oldest(c, true)))
		entry_drop(c, e);
}

void shared_results_destroy(struct shared_results *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < SHARED_RESULTS_MAX_ENTRIES; i++)
		entry_drop(c, &c->entry[i]);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	query_names_destroy(c->names);
	owners_destroy(c->owners);
	pthread_mutex_destroy(&c->names_lock);
	free(c);
}

static int wait_a_little(struct shared_results *c, const struct query *q, struct err *err)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&c->changed, &c->lock, &until);
	return query_check_cancel(q, err);
}

/* Waits while another query computes the result, without the turn: *has_waited, and the caller takes the
 * turn again when the lock is free. *ret: the result, or NULL: there is none. */
static int entry_wait(struct shared_results *c, const struct query *q, const struct key *k,
		      struct shared_result **ret, bool *has_waited, struct err *err)
{
	struct entry *e, *waited = NULL;
	int r = 0;

	while ((e = entry_find(c, k)) && e->is_pending && r == 0) {
		if (!waited)
			query_give_turn(q);
		if (e != waited) {
			if (waited)
				atomic_fetch_sub(&waited->n_waiting, 1);
			atomic_fetch_add(&e->n_waiting, 1);
			waited = e;
		}
		r = wait_a_little(c, q, err);
	}
	*ret = r == 0 && e ? entry_use(c, e) : NULL;
	*has_waited = waited != NULL;
	if (waited) {
		atomic_fetch_sub(&waited->n_waiting, 1);
		trim(c);
	}
	return r;
}

/* ---- computing ---- */

/* What make() is called with. */
struct request {
	struct query *q;
	unsigned kind;
	shared_results_make make;
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int compute(const struct request *req, struct shared_result **ret, struct err *err)
{
	struct shared_result *result = calloc(1, sizeof(*result));
	uint64_t start_ns = thread_cpu_ns();
	int r = result ? req->make(req->q, req->kind, result, err)
		       : err_set_memory(err, sizeof(*result));

	if (r < 0) {
		free(result);
		return r;
	}
	atomic_init(&result->n_refs, 1);
	result->read_share = query_read_share(req->q);
	result->cpu_ns = thread_cpu_ns() - start_ns;
	*ret = result;
	return 0;
}

/* Computes the result of a pending entry and passes it to those who wait. */
static int compute_entry(struct shared_results *c, struct entry *e, const struct request *req,
			 struct shared_result **ret, struct err *err)
{
	struct query *q = req->q;
	const struct query_audience audience = {&e->n_waiting, q->audience};
	int r;

	q->audience = &audience;
	r = compute(req, ret, err);
	q->audience = audience.outer;
	pthread_mutex_lock(&c->lock);
	if (r < 0)
		entry_drop(c, e);
	else {
		e->result = *ret;
		e->is_pending = false;
		c->n_bytes += e->result->n_bytes + e->key_len;
		entry_use(c, e); /* one reference is the caller's, one is the entry's */
		trim(c);
	}
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* An estimate that q uses makes the figures of q estimates. */
static struct shared_result *note_use(const struct query *q, struct shared_result *found,
				      bool has_waited)
{
	if (has_waited && q->c.progress)
		atomic_fetch_add(&q->c.progress->others_cpu_ns, found->cpu_ns);
	if (found->read_share < 1 && q->estimate)
		atomic_store(found->read_share > 0 ? &q->estimate->was_used
						   : &q->estimate->is_of_table,
			     true);
	return found;
}

int shared_results_find(struct shared_results *c, struct query *q, unsigned kind,
			struct shared_result **ret, struct err *err)
{
	struct shared_result *found = NULL;
	bool has_waited;
	struct key k;
	int r;

	*ret = NULL;
	if (!c || q->c.store != c->store || !key_make(q, kind, &k))
		return 0;
	pthread_mutex_lock(&c->lock);
	r = entry_wait(c, q, &k, &found, &has_waited, err);
	pthread_mutex_unlock(&c->lock);
	free(k.bytes);
	if (has_waited)
		query_take_turn(q);
	if (r == 0 && found)
		*ret = note_use(q, found, has_waited);
	return r;
}

int shared_results_get(struct shared_results *c, struct query *q, unsigned kind,
		       shared_results_make make, struct shared_result **ret, struct err *err)
{
	const struct request req = {q, kind, make};
	struct shared_result *found = NULL;
	struct entry *mine = NULL;
	bool has_waited;
	struct key k;
	int r;

	if (!c || q->c.store != c->store || !key_make(q, kind, &k))
		return compute(&req, ret, err);
	pthread_mutex_lock(&c->lock);
	r = entry_wait(c, q, &k, &found, &has_waited, err);
	if (r == 0 && !found)
		mine = entry_begin(c, &k);
	pthread_mutex_unlock(&c->lock);
	free(k.bytes);
	if (has_waited)
		query_take_turn(q);
	if (r < 0)
		return r;
	if (mine)
		return compute_entry(c, mine, &req, ret, err);
	if (!found)
		return compute(&req, ret, err);
	*ret = note_use(q, found, has_waited);
	return 0;
}

int shared_results_names(struct shared_results *c, const struct query *q, struct query_names **ret,
			 struct err *err)
{
	int r = 0;

	*ret = NULL;
	if (q->c.store != c->store)
		return 0;
	pthread_mutex_lock(&c->names_lock);
	if (!c->names) {
		r = query_names_create(q->c.store, q->c.frames, &c->names, err);
		if (r >= 0)
			r = query_names_classify(c->names, q->c.rules, err);
	}
	*ret = r < 0 ? NULL : c->names;
	pthread_mutex_unlock(&c->names_lock);
	return r;
}

int shared_results_owners(struct shared_results *c, const struct query *q, struct owners **ret,
			  struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&c->names_lock);
	ASSERT(q->names == c->names);
	if (!c->owners)
		r = owners_create(q->c.store, c->names, &c->owners, err);
	if (r >= 0)
		*ret = c->owners;
	pthread_mutex_unlock(&c->names_lock);
	return r;
}
