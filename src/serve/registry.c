/* serve/registry.c - see registry.h. */
#include "serve/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/units.h"
#include "query/shared_results.h"
#include "util/memory_budget.h"
#include "util/monotonic.h"

#define MAX_LOADING 2u /* at the same time: each uses all CPUs by itself */
#define LOOK_NS 50000000
#define FOLLOW_NS (NS_PER_S / 2) /* between looks at a recording that grows, at least ... */
#define FOLLOW_SHARE                                                                               \
	4u /* ... and this part of what the last one took. What a look reads grows with */
/* the time since the look before: a longer pause makes looks longer, until they never catch up. */
#define SHARED_SIXTEENTHS 4u /* of the budget: results that the queries of all recordings share */
#define MIN_SHARED_BYTES ((size_t)16 << 20) /* of a recording, however many there are */
#define N_CODES_AT_ONCE 128u
#define ETA_PERCENT 2.0 /* so much must be read before the rest can be estimated */

struct registry_loading {
	atomic_bool cancel;
	_Atomic uint64_t n_done, n_all;
	_Atomic uint64_t start_ns; /* of reading, by monotonic_ns(); 0: not begun */
};

struct registry_entry {
	struct registry *registry;
	const char *path;
	char id[REGISTRY_ID_BYTES];
	struct registry_loading loading;
	struct registry_snapshot
		*snapshot; /* the registry's lock guards it; set before the state becomes READY */
	struct err err; /* set before it becomes FAILED */
	_Atomic enum registry_state state;
	_Atomic uint64_t n_codes, n_named; /* of the newest snapshot: names are looked up */
	pthread_t thread;
	bool has_thread;
	/* of one that grows; the registry's lock guards them */
	bool is_followed; /* the thread waits for is_wanted */
	bool is_wanted; /* it is to be looked at again */
	uint64_t next_look_ns; /* not before */
	uint64_t n_looks;
};

struct registry_snapshot {
	struct registry *registry;
	struct registry_opened opened;
	unsigned n_users; /* the registry's lock guards it; the item's is one */
	pthread_mutex_t counts_lock; /* guards the two below */
	uint64_t *code_count;
	bool has_counts;
	struct shared_results *shared; /* NULL: there was no memory */
};

struct registry {
	struct registry_source source;
	struct registry_entry *item;
	size_t n;
	pthread_mutex_t lock; /* guards n_loading, and what says so */
	pthread_cond_t changed; /* also any state */
	unsigned n_loading;
};

bool registry_progress(struct registry_loading *l, uint64_t n_done, uint64_t n_all)
{
	atomic_store(&l->n_done, n_done);
	atomic_store(&l->n_all, n_all);
	return !atomic_load(&l->cancel);
}

/* ---- ids ---- */

static void id_from_bytes(const uint8_t bytes[16], char id[REGISTRY_ID_BYTES])
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < 16; i++) {
		id[2 * i] = digit[bytes[i] >> 4];
		id[2 * i + 1] = digit[bytes[i] & 15];
	}
	id[32] = '\0';
}

/* Of what is no recording: anything, but always the same. */
static void id_from_path(const char *path, uint8_t bytes[16])
{
	uint64_t h[2] = {1, 2};

	for (; *path; path++) {
		h[0] = hash_pair64(h[0], (unsigned char)*path);
		h[1] = hash_pair64((unsigned char)*path, h[1]);
	}
	memcpy(bytes, h, sizeof(h));
}

static bool id_is_taken(const struct registry *s, size_t n, const char *id)
{
	for (size_t k = 0; k < n; k++) {
		if (strcmp(s->item[k].id, id) == 0)
			return true;
	}
	return false;
}

/* Of two copies of one recording, the second gets the next free id. */
static void id_choose(struct registry *s, size_t index)
{
	struct registry_entry *i = &s->item[index];
	uint8_t bytes[16];

	if (!s->source.identify || s->source.identify(s->source.user, i->path, bytes) < 0)
		id_from_path(i->path, bytes);
	id_from_bytes(bytes, i->id);
	while (id_is_taken(s, index, i->id)) {
		for (size_t k = 16; k-- > 0 && ++bytes[k] == 0;)
			;
		id_from_bytes(bytes, i->id);
	}
}

/* ---- snapshots ---- */

static struct registry_snapshot *make_snapshot(struct registry *s,
					       const struct registry_opened *opened)
{
	size_t shared_bytes = memory_budget_share(SHARED_SIXTEENTHS) / s->n;
	struct registry_snapshot *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->registry = s;
	p->opened = *opened;
	p->n_users = 1;
	pthread_mutex_init(&p->counts_lock, NULL);
	p->shared = shared_results_create(
		p->opened.store, shared_bytes > MIN_SHARED_BYTES ? shared_bytes : MIN_SHARED_BYTES);
	return p;
}

struct registry_snapshot *registry_take(struct registry_entry *i)
{
	struct registry_snapshot *p;

	pthread_mutex_lock(&i->registry->lock);
	p = i->snapshot;
	if (p)
		p->n_users++;
	pthread_mutex_unlock(&i->registry->lock);
	return p;
}

void registry_hold(struct registry_snapshot *p)
{
	pthread_mutex_lock(&p->registry->lock);
	p->n_users++;
	pthread_mutex_unlock(&p->registry->lock);
}

void registry_give(struct registry_snapshot *p)
{
	bool is_last;

	if (!p)
		return;
	pthread_mutex_lock(&p->registry->lock);
	is_last = --p->n_users == 0;
	pthread_mutex_unlock(&p->registry->lock);
	if (!is_last)
		return;
	p->registry->source.close(p->registry->source.user, &p->opened);
	pthread_mutex_destroy(&p->counts_lock);
	free(p->code_count);
	shared_results_destroy(p->shared);
	free(p);
}

/* ---- loading ---- */

static int compare_codes(const void *a, const void *b, void *store)
{
	const struct store_code *x = store_code(store, *(const uint32_t *)a);
	const struct store_code *y = store_code(store, *(const uint32_t *)b);

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Looks up names in the background, so that the first question that needs them need not. In the
 * order of modules and addresses, which is how debug information is read once. In small pieces:
 * questions that cannot wait come in between, and the end of the server, too. */
static void prepare_names(struct registry_entry *i)
{
	struct registry_snapshot *p = i->snapshot; /* only this thread replaces it */
	const struct registry_opened *o = &p->opened;
	struct err err;
	uint32_t *code;
	size_t n;

	store_table(o->store, STORE_CODES, &n);
	atomic_store(&i->n_codes, n > 1 ? n - 1 : 0);
	atomic_store(&i->n_named, 0);
	code = malloc((n + 1) * sizeof(*code));
	if (!code)
		return; /* names are then looked up when they are asked for */
	for (size_t k = 1; k < n; k++)
		code[k - 1] = (uint32_t)k;
	n = n ? n - 1 : 0;
	qsort_r(code, n, sizeof(*code), compare_codes, (void *)(uintptr_t)o->store);
	for (size_t at = 0; at < n && !atomic_load(&i->loading.cancel); at += N_CODES_AT_ONCE) {
		size_t count = n - at < N_CODES_AT_ONCE ? n - at : N_CODES_AT_ONCE;

		if (frames_need(o->frames, code + at, count, &err) < 0)
			break; /* who asks for a name will hear why */
		atomic_store(&i->n_named, at + count);
	}
	free(code);
}

/* Opens the recording, now or again, and puts the snapshot in the place of what was there. Not while too
 * many others are being loaded. */
static int load_snapshot(struct registry_entry *i, struct err *err)
{
	struct registry *s = i->registry;
	struct registry_snapshot *p = NULL, *old = NULL;
	struct registry_opened opened = {0};
	int r;

	pthread_mutex_lock(&s->lock);
	while (s->n_loading == MAX_LOADING && !atomic_load(&i->loading.cancel))
		pthread_cond_wait(&s->changed, &s->lock);
	s->n_loading++;
	pthread_mutex_unlock(&s->lock);
	if (atomic_load(&i->loading.cancel)) {
		r = err_set(err, ERR_CANCELLED, "%s: not loaded", i->path);
	} else {
		atomic_store(&i->loading.start_ns, monotonic_ns());
		r = s->source.open(s->source.user, i->path, &i->loading, &opened, err);
	}
	if (r == 0)
		p = make_snapshot(s, &opened);
	if (r == 0 && !p) {
		s->source.close(s->source.user, &opened);
		r = err_set_memory(err, sizeof(*p));
	}
	pthread_mutex_lock(&s->lock);
	s->n_loading--;
	if (p) {
		old = i->snapshot;
		i->snapshot = p;
	}
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	registry_give(old);
	return r;
}

static void set_state(struct registry_entry *i, enum registry_state state)
{
	pthread_mutex_lock(&i->registry->lock);
	atomic_store(&i->state, state);
	i->is_followed = state == REGISTRY_READY && i->snapshot->opened.is_growing &&
			 i->registry->source.has_grown;
	i->next_look_ns = monotonic_ns() + FOLLOW_NS;
	pthread_cond_broadcast(&i->registry->changed);
	pthread_mutex_unlock(&i->registry->lock);
}

/* Waits until somebody wants to know whether the recording has grown. False: the server ends. */
static bool wait_for_wish(struct registry_entry *i)
{
	struct registry *s = i->registry;

	pthread_mutex_lock(&s->lock);
	while (!i->is_wanted && !atomic_load(&i->loading.cancel))
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return !atomic_load(&i->loading.cancel);
}

/* Once more; when that fails, what was read before stays, and it is tried again the next time. */
static void look_again(struct registry_entry *i)
{
	struct registry *s = i->registry;
	uint64_t start_ns = monotonic_ns(), took_ns;
	bool has_grown = s->source.has_grown(s->source.user, i->path, &i->snapshot->opened);
	struct err err;

	if (has_grown) {
		frames_save(i->snapshot->opened.frames);
		has_grown = load_snapshot(i, &err) == 0;
	}
	took_ns = monotonic_ns() - start_ns;
	pthread_mutex_lock(&s->lock);
	i->is_wanted = false;
	i->is_followed = i->snapshot->opened.is_growing;
	i->next_look_ns = monotonic_ns() +
			  (took_ns / FOLLOW_SHARE < FOLLOW_NS ? FOLLOW_NS : took_ns / FOLLOW_SHARE);
	i->n_looks++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (has_grown)
		prepare_names(i);
}

static void *load(void *user)
{
	struct registry_entry *i = user;
	int r = load_snapshot(i, &i->err);

	set_state(i, r < 0 ? REGISTRY_FAILED : REGISTRY_READY);
	if (r == 0 && i->registry->source.loaded)
		i->registry->source.loaded(i->registry->source.user, i->path,
					   monotonic_ns() - atomic_load(&i->loading.start_ns));
	if (r == 0)
		prepare_names(i);
	while (r == 0 && i->is_followed && wait_for_wish(i)) /* only this thread changes it */
		look_again(i);
	return NULL;
}

void registry_freshen(struct registry_entry *i, unsigned max_ms)
{
	struct registry *s = i->registry;
	struct timespec until;
	uint64_t n_looks, until_ns;

	clock_gettime(CLOCK_REALTIME, &until);
	until_ns = (uint64_t)until.tv_nsec + max_ms * NS_PER_MS;
	until.tv_sec += (time_t)(until_ns / NS_PER_S);
	until.tv_nsec = (long)(until_ns % NS_PER_S);
	pthread_mutex_lock(&s->lock);
	if (i->is_followed && !i->is_wanted && monotonic_ns() >= i->next_look_ns) {
		i->is_wanted = true;
		pthread_cond_broadcast(&s->changed);
	}
	n_looks = i->n_looks;
	while (i->is_wanted && i->n_looks == n_looks && !atomic_load(&i->loading.cancel) &&
	       pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
		;
	pthread_mutex_unlock(&s->lock);
}

int registry_create(const struct registry_source *source, const char *const *path, size_t n_paths,
		    struct registry **ret, struct err *err)
{
	struct registry *s = calloc(1, sizeof(*s));

	if (s)
		s->item = calloc(n_paths ? n_paths : 1, sizeof(*s->item));
	if (!s || !s->item) {
		free(s);
		return err_set_memory(err, n_paths * sizeof(*s->item));
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->source = *source;
	s->n = n_paths;
	for (size_t k = 0; k < n_paths; k++) {
		struct registry_entry *i = &s->item[k];

		i->registry = s;
		i->path = path[k];
		id_choose(s, k);
	}
	for (size_t k = 0; k < n_paths; k++) {
		struct registry_entry *i = &s->item[k];
		int e = pthread_create(&i->thread, NULL, load, i);

		if (e) {
			int r = err_set_errno(err, e, "cannot start a thread");

			registry_destroy(s);
			return r;
		}
		i->has_thread = true;
	}
	*ret = s;
	return 0;
}

void registry_destroy(struct registry *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t k = 0; k < s->n; k++)
		atomic_store(&s->item[k].loading.cancel, true);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (size_t k = 0; k < s->n; k++) {
		struct registry_entry *i = &s->item[k];

		if (i->has_thread)
			pthread_join(i->thread, NULL);
		registry_give(i->snapshot);
	}
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->item);
	free(s);
}

void registry_wait(struct registry_entry *i, unsigned max_ms, bool (*gone)(void *user), void *user)
{
	unsigned n_looks = max_ms / (LOOK_NS / 1000000);

	while (n_looks-- > 0 && atomic_load(&i->state) == REGISTRY_LOADING && !gone(user)) {
		struct timespec t = {.tv_nsec = LOOK_NS};

		nanosleep(&t, NULL);
	}
}

/* ---- looking ---- */

size_t registry_n_entries(const struct registry *s)
{
	return s->n;
}

struct registry_entry *registry_entry(const struct registry *s, size_t index)
{
	ASSERT(index < s->n);
	return &s->item[index];
}

struct registry_entry *registry_find(const struct registry *s, const char *id)
{
	struct registry_entry *found = NULL;
	bool is_last = strcmp(id, "last") == 0;

	for (size_t k = s->n; k-- > 0 && !found;) {
		struct registry_entry *i = &s->item[k];

		if (is_last ? atomic_load(&i->state) != REGISTRY_FAILED : strcmp(i->id, id) == 0)
			found = i;
	}
	return found;
}

enum registry_state registry_state(struct registry_entry *i)
{
	return atomic_load(&i->state);
}

double registry_percent(struct registry_entry *i)
{
	uint64_t n_done = atomic_load(&i->loading.n_done), n_all = atomic_load(&i->loading.n_all);

	if (atomic_load(&i->state) == REGISTRY_READY)
		return 100;
	return n_all == 0 ? 0 : n_done >= n_all ? 100 : 100.0 * (double)n_done / (double)n_all;
}

double registry_names_percent(struct registry_entry *i)
{
	uint64_t n = atomic_load(&i->n_codes), n_named = atomic_load(&i->n_named);

	if (atomic_load(&i->state) != REGISTRY_READY)
		return 0;
	return n_named >= n ? 100 : 100.0 * (double)n_named / (double)n;
}

bool registry_eta_s(struct registry_entry *i, double *ret)
{
	uint64_t start_ns = atomic_load(&i->loading.start_ns);
	double percent = registry_percent(i);

	if (start_ns == 0 || percent < ETA_PERCENT)
		return false;
	*ret = (double)(monotonic_ns() - start_ns) / (double)NS_PER_S * (100 - percent) / percent;
	return true;
}

const char *registry_id(const struct registry_entry *i)
{
	return i->id;
}

const char *registry_path(const struct registry_entry *i)
{
	return i->path;
}

const char *registry_error(struct registry_entry *i)
{
	return i->err.text;
}

const struct store *registry_store(const struct registry_snapshot *p)
{
	return p->opened.store;
}

bool registry_is_growing(const struct registry_snapshot *p)
{
	return p->opened.is_growing;
}

struct frames *registry_frames(const struct registry_snapshot *p)
{
	return p->opened.frames;
}

struct shared_results *registry_shared(const struct registry_snapshot *p)
{
	return p->shared;
}

/* ---- counts per code ---- */

/* A recursive function counts once per stack: a node counts unless its code lies further out, too. */
static bool is_outermost(const struct store *s, uint32_t n)
{
	uint32_t code = store_node(s, n)->code;

	while (n && store_node(s, n)->parent < n) {
		n = store_node(s, n)->parent;
		if (store_node(s, n)->code == code)
			return false;
	}
	return true;
}

static uint64_t *count_codes(const struct store *s)
{
	size_t n_nodes, n_codes;
	const struct store_node *node = store_table(s, STORE_NODES, &n_nodes);
	uint64_t *per_node, *per_code;

	store_table(s, STORE_CODES, &n_codes);
	per_node = calloc(n_nodes + 1, sizeof(*per_node));
	per_code = calloc(n_codes + 1, sizeof(*per_code));
	if (!per_node || !per_code) {
		free(per_node);
		free(per_code);
		return NULL;
	}
	for (size_t i = 0; i < store_n_stacks(s); i++)
		per_node[store_stack(s, (uint32_t)i)->node] +=
			store_stack(s, (uint32_t)i)->n_allocs;
	for (size_t i = n_nodes; i-- > 1;) { /* callers come before what they call */
		if (node[i].parent < i)
			per_node[node[i].parent] += per_node[i];
		if (node[i].code && per_node[i] && is_outermost(s, (uint32_t)i))
			per_code[node[i].code] += per_node[i];
	}
	free(per_node);
	return per_code;
}

const uint64_t *registry_code_counts(struct registry_snapshot *p)
{
	pthread_mutex_lock(&p->counts_lock);
	if (!p->has_counts) {
		p->code_count = count_codes(p->opened.store);
		p->has_counts = true;
	}
	pthread_mutex_unlock(&p->counts_lock);
	return p->code_count;
}
