/* serve/shelf.c - see shelf.h. */
#include "serve/shelf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

#define MAX_LOADING 2u /* at the same time: each uses all CPUs by itself */
#define LOOK_NS 50000000
#define N_CODES_AT_ONCE 128u

struct serve_loading {
	atomic_bool cancel;
	_Atomic uint64_t n_done, n_all;
};

struct shelf_item {
	struct shelf *shelf;
	const char *path;
	char id[SHELF_ID_BYTES];
	struct serve_loading loading;
	struct serve_opened opened; /* set before the state becomes READY */
	struct err err; /* set before it becomes FAILED */
	_Atomic enum shelf_state state;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t counts_lock; /* guards the two below */
	uint64_t *code_count;
	bool has_counts;
};

struct shelf {
	struct serve_source source;
	struct shelf_item *item;
	size_t n;
	pthread_mutex_t lock; /* guards n_loading */
	pthread_cond_t changed; /* also any state */
	unsigned n_loading;
};

bool serve_progress(struct serve_loading *l, uint64_t n_done, uint64_t n_all)
{
	atomic_store(&l->n_done, n_done);
	atomic_store(&l->n_all, n_all);
	return !atomic_load(&l->cancel);
}

const atomic_bool *serve_cancel_flag(const struct serve_loading *l)
{
	return &l->cancel;
}

/* ---- ids ---- */

static void id_from_bytes(const uint8_t bytes[16], char id[SHELF_ID_BYTES])
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

static bool id_is_taken(const struct shelf *s, size_t n, const char *id)
{
	for (size_t k = 0; k < n; k++) {
		if (strcmp(s->item[k].id, id) == 0)
			return true;
	}
	return false;
}

/* Of two copies of one recording, the second gets the next free id. */
static void id_choose(struct shelf *s, size_t index)
{
	struct shelf_item *i = &s->item[index];
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

/* ---- loading ---- */

static void set_state(struct shelf_item *i, enum shelf_state state)
{
	pthread_mutex_lock(&i->shelf->lock);
	atomic_store(&i->state, state);
	i->shelf->n_loading--;
	pthread_cond_broadcast(&i->shelf->changed);
	pthread_mutex_unlock(&i->shelf->lock);
}

/* Looks up names in the background, so that the first question that needs them need not. In small
 * pieces: questions that cannot wait come in between, and the end of the server, too. */
static void prepare_names(struct shelf_item *i)
{
	uint32_t code[N_CODES_AT_ONCE];
	struct err err;
	size_t n;

	store_table(i->opened.store, STORE_CODES, &n);
	for (size_t at = 1; at < n && !atomic_load(&i->loading.cancel);) {
		size_t count = 0;

		while (count < N_CODES_AT_ONCE && at < n)
			code[count++] = (uint32_t)at++;
		if (frames_need(i->opened.frames, code, count, &err) < 0)
			return; /* who asks for a name will hear why */
	}
}

static void *load(void *user)
{
	struct shelf_item *i = user;
	struct shelf *s = i->shelf;
	int r;

	pthread_mutex_lock(&s->lock);
	while (s->n_loading == MAX_LOADING && !atomic_load(&i->loading.cancel))
		pthread_cond_wait(&s->changed, &s->lock);
	s->n_loading++;
	pthread_mutex_unlock(&s->lock);
	if (atomic_load(&i->loading.cancel))
		r = err_set(&i->err, ERR_CANCELLED, "%s: not loaded", i->path);
	else
		r = s->source.open(s->source.user, i->path, &i->loading, &i->opened, &i->err);
	set_state(i, r < 0 ? SHELF_FAILED : SHELF_READY);
	if (r == 0)
		prepare_names(i);
	return NULL;
}

int shelf_create(const struct serve_source *source, const char *const *path, size_t n_paths,
		 struct shelf **ret, struct err *err)
{
	struct shelf *s = calloc(1, sizeof(*s));

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
		struct shelf_item *i = &s->item[k];

		i->shelf = s;
		i->path = path[k];
		pthread_mutex_init(&i->counts_lock, NULL);
		id_choose(s, k);
	}
	for (size_t k = 0; k < n_paths; k++) {
		struct shelf_item *i = &s->item[k];
		int e = pthread_create(&i->thread, NULL, load, i);

		if (e) {
			int r = err_set_errno(err, e, "cannot start a thread");

			shelf_destroy(s);
			return r;
		}
		i->has_thread = true;
	}
	*ret = s;
	return 0;
}

void shelf_destroy(struct shelf *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	for (size_t k = 0; k < s->n; k++)
		atomic_store(&s->item[k].loading.cancel, true);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	for (size_t k = 0; k < s->n; k++) {
		struct shelf_item *i = &s->item[k];

		if (i->has_thread)
			pthread_join(i->thread, NULL);
		if (atomic_load(&i->state) == SHELF_READY)
			s->source.close(s->source.user, &i->opened);
		pthread_mutex_destroy(&i->counts_lock);
		free(i->code_count);
	}
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->item);
	free(s);
}

void shelf_wait(struct shelf_item *i, unsigned max_ms, bool (*gone)(void *user), void *user)
{
	unsigned n_looks = max_ms / (LOOK_NS / 1000000);

	while (n_looks-- > 0 && atomic_load(&i->state) == SHELF_LOADING && !gone(user)) {
		struct timespec t = {.tv_nsec = LOOK_NS};

		nanosleep(&t, NULL);
	}
}

/* ---- looking ---- */

size_t shelf_n_items(const struct shelf *s)
{
	return s->n;
}

struct shelf_item *shelf_item(const struct shelf *s, size_t index)
{
	ASSERT(index < s->n);
	return &s->item[index];
}

struct shelf_item *shelf_find(const struct shelf *s, const char *id)
{
	struct shelf_item *found = NULL;
	bool is_last = strcmp(id, "last") == 0;

	for (size_t k = s->n; k-- > 0 && !found;) {
		struct shelf_item *i = &s->item[k];

		if (is_last ? atomic_load(&i->state) != SHELF_FAILED : strcmp(i->id, id) == 0)
			found = i;
	}
	return found;
}

enum shelf_state shelf_state(struct shelf_item *i)
{
	return atomic_load(&i->state);
}

double shelf_percent(struct shelf_item *i)
{
	uint64_t n_done = atomic_load(&i->loading.n_done), n_all = atomic_load(&i->loading.n_all);

	if (atomic_load(&i->state) == SHELF_READY)
		return 100;
	return n_all == 0 ? 0 : n_done >= n_all ? 100 : 100.0 * (double)n_done / (double)n_all;
}

const char *shelf_id(const struct shelf_item *i)
{
	return i->id;
}

const char *shelf_path(const struct shelf_item *i)
{
	return i->path;
}

const char *shelf_error(struct shelf_item *i)
{
	return i->err.text;
}

const struct store *shelf_store(struct shelf_item *i)
{
	return i->opened.store;
}

struct frames *shelf_frames(struct shelf_item *i)
{
	return i->opened.frames;
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

const uint64_t *shelf_code_counts(struct shelf_item *i)
{
	pthread_mutex_lock(&i->counts_lock);
	if (!i->has_counts) {
		i->code_count = count_codes(i->opened.store);
		i->has_counts = true;
	}
	pthread_mutex_unlock(&i->counts_lock);
	return i->code_count;
}
