/* query/peak_cache.c - see peak_cache.h. */
#include "query/peak_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query/query_i.h"

#define LOOK_NS 20000000 /* so often a waiting query looks whether it was cancelled */

/* An entry without a key is free. A peak that somebody looks for has is_pending set; that entry is not given to
 * another key. */
struct entry {
	uint8_t *key;
	size_t key_len;
	uint64_t used; /* number of the last use */
	struct query_peak peak;
	bool is_pending;
};

struct peak_cache {
	const struct store *store;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed; /* an entry is no longer pending */
	struct entry entry[PEAK_CACHE_ENTRIES];
	uint64_t n_uses;
};

struct peak_cache *peak_cache_create(const struct store *store)
{
	struct peak_cache *c = calloc(1, sizeof(*c));

	if (c) {
		c->store = store;
		pthread_mutex_init(&c->lock, NULL);
		pthread_cond_init(&c->changed, NULL);
	}
	return c;
}

void peak_cache_destroy(struct peak_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < PEAK_CACHE_ENTRIES; i++)
		free(c->entry[i].key);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
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

/* Field by field: what lies between fields has no defined value. */
static void put_plan(struct key *k, const struct query *q)
{
	const struct plan *p = &q->plan;

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
static bool key_make(const struct query *q, struct key *ret)
{
	struct key k = {0};

	put_plan(&k, q);
	if (k.len > PEAK_CACHE_MAX_KEY)
		return false;
	k.bytes = malloc(k.len);
	if (!k.bytes)
		return false;
	k.len = 0;
	put_plan(&k, q);
	*ret = k;
	return true;
}

/* ---- entries; the lock is held ---- */

static struct entry *entry_find(struct peak_cache *c, const struct key *k)
{
	for (unsigned i = 0; i < PEAK_CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (e->key && e->key_len == k->len && memcmp(e->key, k->bytes, k->len) == 0)
			return e;
	}
	return NULL;
}

/* An entry for a new key, which it takes; NULL: peaks of all entries are being looked for. */
static struct entry *entry_begin(struct peak_cache *c, struct key *k)
{
	struct entry *oldest = NULL;

	for (unsigned i = 0; i < PEAK_CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (!e->is_pending && (!oldest || e->used < oldest->used))
			oldest = e;
	}
	if (!oldest)
		return NULL;
	free(oldest->key);
	*oldest = (struct entry){.key = k->bytes, .key_len = k->len, .is_pending = true};
	k->bytes = NULL;
	return oldest;
}

static void entry_drop(struct entry *e)
{
	free(e->key);
	*e = (struct entry){0};
}

static int wait_a_little(struct peak_cache *c, const struct query *q, struct err *err)
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

int peak_cache_get(struct peak_cache *c, struct query *q,
		   int (*find)(struct query *q, struct query_peak *ret, struct err *err),
		   struct query_peak *ret, struct err *err)
{
	struct key k;
	struct entry *e, *mine = NULL;
	int r = 0;

	if (q->c.store != c->store || !key_make(q, &k))
		return find(q, ret, err);
	pthread_mutex_lock(&c->lock);
	while ((e = entry_find(c, &k)) && e->is_pending && r == 0)
		r = wait_a_little(c, q, err);
	if (r == 0 && e) {
		e->used = ++c->n_uses;
		*ret = e->peak;
	} else if (r == 0)
		mine = entry_begin(c, &k);
	pthread_mutex_unlock(&c->lock);
	free(k.bytes);
	if (r < 0 || e)
		return r;
	r = find(q, ret, err);
	if (!mine)
		return r;
	pthread_mutex_lock(&c->lock);
	if (r < 0)
		entry_drop(mine);
	else {
		mine->peak = *ret;
		mine->used = ++c->n_uses;
		mine->is_pending = false;
	}
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return r;
}
