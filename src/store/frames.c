/* store/frames.c - see frames.h.
 *
 * Each code has a slot: NULL, or the code's frames. The frames of a code are built once, in memory
 * that stays until frames_close(), and published in the slot by an atomic store; so readers take no
 * lock. Names in the file stay there until somebody asks for their code.
 *
 *	slot[code] --> struct code_frames --> texts of the store, of text_set, or of the mapped file
 *	                 | next
 *	all ------------>v  (every code_frames ever made, for frames_close())
 */
#include "store/frames.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/names_file.h"
#include "util/text_set.h"
#include "util/vec.h"

#define MAX_NAMES 4096u /* frames of one code; more is nonsense and cut off */
#define NEAR_FRAMES 128u /* codes of a stack that fit on the call stack, without malloc() */

/* The frames of one code; never changed once it is published. */
struct code_frames {
	struct code_frames *next; /* in the list frames.all */
	size_t n;
	bool is_known; /* a resolver or the file gave the names, if only none; false: bare */
	size_t n_names; /* n, or 0 when nothing was found: n is 1 then */
	struct frame frame[];
};

struct frames {
	const struct store *store;
	uint32_t n_codes;
	_Atomic(struct code_frames *) *slot;
	char *cache_path; /* NULL: nothing is kept */
	struct names_file *file; /* NULL: none */

	pthread_mutex_t resolving; /* guards the two below; held while the resolver runs */
	frames_resolve resolve;
	void *user;

	pthread_mutex_t data; /* guards all below; taken inside of resolving */
	struct text_set *texts;
	struct code_frames *all;
	bool has_news; /* not in the file */
};

static struct code_frames *known(struct frames *f, uint32_t code)
{
	return atomic_load_explicit(&f->slot[code], memory_order_acquire);
}

/* ---- building ---- */

static const char *text_or_null(struct store const *s, uint32_t string)
{
	return string == 0 ? NULL : store_string(s, string, NULL);
}

/* What the store itself knows of a code. */
static struct frame bare_frame(const struct frames *f, uint32_t code)
{
	const struct store_code *c = store_code(f->store, code);
	struct frame frame = {.addr = c->addr, .module_offset = c->addr, .code = code};

	if (c->module != STORE_NO_MODULE) {
		const struct store_module *m = store_module(f->store, c->module);

		frame.module = text_or_null(f->store, m->path);
		frame.module_offset = c->addr - m->base;
	}
	return frame;
}

static int keep_text(struct frames *f, const char *text, const char **ret, struct err *err)
{
	uint32_t number;
	int r = 0;

	*ret = NULL;
	if (!text || text[0] == 0)
		return 0;
	r = text_set_add(f->texts, text, &number, err);
	if (r == 0)
		*ret = text_set_get(f->texts, number);
	return r;
}

static int make_frames(struct frames *f, uint32_t code, size_t n_names, struct code_frames **ret,
		       struct err *err)
{
	size_t n = n_names ? n_names : 1;
	struct code_frames *cf = malloc(sizeof(*cf) + n * sizeof(cf->frame[0]));

	if (!cf)
		return err_set_memory(err, n * sizeof(cf->frame[0]));
	*cf = (struct code_frames){.n = n, .n_names = n_names};
	for (size_t i = 0; i < n; i++)
		cf->frame[i] = bare_frame(f, code);
	*ret = cf;
	return 0;
}

/* The data lock is held. The code's earlier frames, if any, stay valid: readers may have them. */
static void publish(struct frames *f, uint32_t code, struct code_frames *cf)
{
	cf->next = f->all;
	f->all = cf;
	atomic_store_explicit(&f->slot[code], cf, memory_order_release);
}

static void set_names(struct frame *frame, const struct frame_names *names)
{
	frame->function = names->function;
	frame->raw_function = names->raw_function;
	frame->source = names->source;
	frame->line = names->line;
	frame->column = names->column;
	frame->is_inline = names->is_inline;
}

/* Publishes a frame without names, if the code has none. The data lock is held. */
static int put_bare(struct frames *f, uint32_t code, struct err *err)
{
	struct code_frames *cf = NULL;
	int r;

	if (known(f, code))
		return 0;
	r = make_frames(f, code, 0, &cf, err);
	if (r == 0)
		publish(f, code, cf);
	return r;
}

int frames_put(struct frames *f, uint32_t code, const struct frame_names *names, size_t n_names,
	       struct err *err)
{
	struct code_frames *cf = NULL;
	int r;

	if (code >= f->n_codes)
		return err_set(err, ERR_USAGE, "there is no code %u", code);
	if (n_names > MAX_NAMES)
		n_names = MAX_NAMES;
	pthread_mutex_lock(&f->data);
	r = make_frames(f, code, n_names, &cf, err);
	for (size_t i = 0; r == 0 && i < n_names; i++) {
		struct frame_names copy = names[i];

		r = keep_text(f, names[i].function, &copy.function, err);
		if (r == 0)
			r = keep_text(f, names[i].raw_function, &copy.raw_function, err);
		if (r == 0)
			r = keep_text(f, names[i].source, &copy.source, err);
		set_names(&cf->frame[i], &copy);
	}
	if (r == 0) {
		cf->is_known = true;
		publish(f, code, cf);
		f->has_news = true;
	} else {
		free(cf);
	}
	pthread_mutex_unlock(&f->data);
	return r;
}

/* Publishes the names that the file has for a code. False: the file has none. The data lock is
 * held. */
static bool put_from_file(struct frames *f, uint32_t code)
{
	struct code_frames *cf = NULL;
	size_t n;

	if (!f->file || !names_file_find(f->file, code, &n) || n > MAX_NAMES)
		return false;
	if (make_frames(f, code, n, &cf, NULL) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct frame_names names;

		names_file_get(f->file, code, i, &names);
		set_names(&cf->frame[i], &names);
	}
	cf->is_known = true;
	publish(f, code, cf);
	return true;
}

/* ---- opening and closing ---- */

int frames_open(const struct store *store, const char *cache_path, struct frames **ret,
		struct err *err)
{
	struct frames *f = calloc(1, sizeof(*f));
	size_t n_codes;
	int r;

	if (!f)
		return err_set_memory(err, sizeof(*f));
	store_table(store, STORE_CODES, &n_codes);
	f->store = store;
	f->n_codes = (uint32_t)n_codes; /* store_open() checked that */
	pthread_mutex_init(&f->resolving, NULL);
	pthread_mutex_init(&f->data, NULL);
	f->slot = calloc(n_codes + 1, sizeof(*f->slot));
	if (cache_path)
		f->cache_path = strdup(cache_path);
	if (!f->slot || (cache_path && !f->cache_path))
		r = err_set_memory(err, n_codes * sizeof(*f->slot));
	else
		r = text_set_create(true, &f->texts, err);
	if (r < 0) {
		frames_close(f);
		return r;
	}
	if (cache_path) /* a file that cannot be used counts as missing */
		(void)names_file_open(cache_path, store, &f->file, NULL);
	*ret = f;
	return 0;
}

static bool find_names(void *user, uint32_t code, size_t *n)
{
	struct frames *f = user;
	struct code_frames *cf = known(f, code);

	if (cf && cf->is_known) {
		*n = cf->n_names;
		return true;
	}
	return f->file && names_file_find(f->file, code, n);
}

static void get_names(void *user, uint32_t code, size_t i, struct frame_names *ret)
{
	struct frames *f = user;
	struct code_frames *cf = known(f, code);

	if (!cf || !cf->is_known) {
		names_file_get(f->file, code, i, ret);
		return;
	}
	*ret = (struct frame_names){
		.function = cf->frame[i].function,
		.raw_function = cf->frame[i].raw_function,
		.source = cf->frame[i].source,
		.line = cf->frame[i].line,
		.column = cf->frame[i].column,
		.is_inline = cf->frame[i].is_inline,
	};
}

void frames_save(struct frames *f)
{
	const struct names_source source = {f, find_names, get_names};

	pthread_mutex_lock(&f->resolving);
	if (f->has_news &&
	    f->cache_path) /* a cache: if it cannot be written, next time is slower */
		(void)names_file_write(f->cache_path, f->store, &source, NULL);
	f->has_news = false;
	pthread_mutex_unlock(&f->resolving);
}

void frames_close(struct frames *f)
{
	if (!f)
		return;
	frames_save(f);
	while (f->all) {
		struct code_frames *next = f->all->next;

		free(f->all);
		f->all = next;
	}
	names_file_close(f->file);
	text_set_destroy(f->texts);
	pthread_mutex_destroy(&f->resolving);
	pthread_mutex_destroy(&f->data);
	free(f->cache_path);
	free((void *)f->slot);
	free(f);
}

void frames_set_resolver(struct frames *f, frames_resolve resolve, void *user)
{
	pthread_mutex_lock(&f->resolving);
	f->resolve = resolve;
	f->user = user;
	pthread_mutex_unlock(&f->resolving);
}

void frames_forget(struct frames *f)
{
	pthread_mutex_lock(&f->data);
	names_file_close(f->file);
	f->file = NULL;
	pthread_mutex_unlock(&f->data);
}

/* ---- asking ---- */

static int compare_codes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Keeps those of n codes that are not known, each once, ascending. Returns how many remain. */
static size_t drop_known(struct frames *f, uint32_t *code, size_t n)
{
	size_t n_left = 0, n_distinct = 0;

	for (size_t i = 0; i < n; i++) {
		struct code_frames *cf;

		if (code[i] >= f->n_codes)
			continue;
		cf = known(f, code[i]);
		if (!(cf && cf->is_known) && !put_from_file(f, code[i]))
			code[n_left++] = code[i];
	}
	qsort(code, n_left, sizeof(*code), compare_codes);
	for (size_t i = 0; i < n_left; i++) {
		if (i == 0 || code[i] != code[i - 1])
			code[n_distinct++] = code[i];
	}
	return n_distinct;
}

/* As frames_need(), but changes code[]. */
static int need_list(struct frames *f, uint32_t *code, size_t n, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&f->resolving);
	pthread_mutex_lock(&f->data);
	n = drop_known(f, code, n);
	pthread_mutex_unlock(&f->data);
	if (n > 0 && f->resolve)
		r = f->resolve(f->user, f, code, n, err);
	pthread_mutex_lock(&f->data);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_bare(f, code[i], err);
	pthread_mutex_unlock(&f->data);
	pthread_mutex_unlock(&f->resolving);
	return r;
}

/* Is the code known? Needs no lock. */
static bool is_settled(struct frames *f, uint32_t code)
{
	struct code_frames *cf = code < f->n_codes ? known(f, code) : NULL;

	return cf && cf->is_known;
}

int frames_need(struct frames *f, const uint32_t *code, size_t n, struct err *err)
{
	uint32_t *list;
	size_t n_open = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		n_open += !is_settled(f, code[i]);
	if (n_open == 0)
		return 0;
	list = malloc(n_open * sizeof(*list));
	if (!list)
		return err_set_memory(err, n_open * sizeof(*list));
	n_open = 0;
	for (size_t i = 0; i < n; i++) { /* others may have settled some meanwhile: never more */
		if (!is_settled(f, code[i]))
			list[n_open++] = code[i];
	}
	r = need_list(f, list, n_open, err);
	free(list);
	return r;
}

bool frames_has_all(struct frames *f)
{
	for (uint32_t code = 1; code < f->n_codes; code++) {
		if (!is_settled(f, code))
			return false;
	}
	return true;
}

int frames_need_all(struct frames *f, struct err *err)
{
	uint32_t *list = malloc((f->n_codes + 1) * sizeof(*list));
	size_t n = 0;
	int r;

	if (!list)
		return err_set_memory(err, (f->n_codes + 1) * sizeof(*list));
	for (uint32_t code = 1; code < f->n_codes; code++)
		list[n++] = code;
	r = frames_need(f, list, n, err);
	free(list);
	return r;
}

/* The codes of a stack, innermost first. code has room for n_frames of its node. */
static size_t list_codes(const struct frames *f, uint32_t stack, uint32_t *code)
{
	uint32_t node = store_stack(f->store, stack)->node;
	size_t n = 0;

	while (node != 0) {
		const struct store_node *at = store_node(f->store, node);

		if (at->kind == STORE_NODE_FRAME)
			code[n++] = at->code;
		node = at->parent;
	}
	return n;
}

/* The codes of a stack in near[] or, when they are too many, in memory that *far owns. */
static int stack_codes(const struct frames *f, uint32_t stack, uint32_t near[NEAR_FRAMES],
		       uint32_t **far, size_t *n, struct err *err)
{
	uint32_t n_frames;

	*far = NULL;
	*n = 0;
	if (stack >= store_n_stacks(f->store))
		return err_set(err, ERR_USAGE, "there is no stack %u", stack);
	n_frames = store_node(f->store, store_stack(f->store, stack)->node)->n_frames;
	if (n_frames > NEAR_FRAMES) {
		*far = malloc(n_frames * sizeof(**far));
		if (!*far)
			return err_set_memory(err, n_frames * sizeof(**far));
	}
	*n = list_codes(f, stack, *far ? *far : near);
	return 0;
}

const struct frame *frames_of_code(struct frames *f, uint32_t code, size_t *n)
{
	static const struct frame nothing;
	struct code_frames *cf;

	ASSERT(code < f->n_codes);
	cf = known(f, code);
	if (!cf) { /* not asked for, or the resolver failed: show at least the address */
		pthread_mutex_lock(&f->data);
		if (!put_from_file(f, code))
			(void)put_bare(f, code, NULL);
		pthread_mutex_unlock(&f->data);
		cf = known(f, code);
	}
	*n = cf ? cf->n : 1;
	return cf ? cf->frame : &nothing;
}

int frames_each(struct frames *f, uint32_t stack, bool (*fn)(void *user, const struct frame *frame),
		void *user, struct err *err)
{
	uint32_t near[NEAR_FRAMES], *far;
	size_t n;
	bool goes_on = true;
	int r = stack_codes(f, stack, near, &far, &n, err);

	if (r == 0)
		r = frames_need(f, far ? far : near, n, err);
	for (size_t i = 0; r == 0 && goes_on && i < n; i++) {
		size_t n_frames;
		const struct frame *frame = frames_of_code(f, (far ? far : near)[i], &n_frames);

		for (size_t k = 0; goes_on && k < n_frames; k++)
			goes_on = fn(user, &frame[k]);
	}
	free(far);
	return r;
}

struct gathering {
	const struct frame **frame;
	size_t n, cap;
	struct err *err;
	int result;
};

static bool gather(void *user, const struct frame *frame)
{
	struct gathering *g = user;

	g->result = vec_reserve(&g->frame, &g->cap, g->n + 1, sizeof(*g->frame), g->err);
	if (g->result < 0)
		return false;
	g->frame[g->n++] = frame;
	return true;
}

int frames_list(struct frames *f, uint32_t stack, const struct frame ***ret, size_t *n,
		struct err *err)
{
	struct gathering g = {.err = err};
	int r = frames_each(f, stack, gather, &g, err);

	if (r == 0)
		r = g.result;
	if (r < 0) {
		free(g.frame);
		return r;
	}
	*ret = g.frame;
	*n = g.n;
	return 0;
}
