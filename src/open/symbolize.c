/* open/symbolize.c - see symbolize.h.
 *
 * symbolize_resolve() sorts its codes by module and address. A module with its codes is one piece
 * of work; threads take pieces from a list. Results go to frames_put() under a lock, because
 * frames_put() allows one caller at a time.
 *
 * Images stay open between calls: names are asked for in small lots and in any order, and opening an
 * image (extracting the binary, reading its symbols and debug information) costs much more than a
 * lot of names. symbol_image_size() bounds what stays open.
 */
#include "open/symbolize.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open/jit_files.h"
#include "open/symbol_table.h"
#include "recording/embedded.h"
#include "recording/pieces.h"
#include "recording/recording.h"
#include "symbol/symbol.h"
#include "util/progress.h"
#include "util/temp_file.h"
#include "util/vec.h"

#define MAX_BUILD_ID_BYTES 64
#define MAX_INLINED 256 /* frames of one code; more are left out */
#define MAX_KEPT_IMAGES 64u /* between calls, each with its files open ... */
#define MAX_KEPT_BYTES ((size_t)128 << 20) /* ... and of all of them together */

/* The image of a module between calls; NULL: not open. Used by the thread that has the module's
 * piece, else by the thread that called symbolize_resolve(). */
struct kept_image {
	struct symbol_image *image;
	uint64_t last_used; /* the number of the call */
};

struct symbolize {
	char *recording_path;
	const struct store *store;
	struct symbolize_options options;
	bool is_opened; /* the fields below are set */
	struct embedded *embedded; /* NULL: the recording is gone or cannot be read */
	struct recording *recording; /* NULL unless it carries names ... */
	struct symbol_table *table; /* ... which are here */
	struct perf_map *jit; /* code made at run time; for one thread at a time */
	struct symbol_options image_options; /* of all images, which borrow it */
	struct kept_image *kept; /* by number of the module */
	size_t n_modules;
	uint64_t n_calls;
};

/* Codes of one module: [first, first + n) of struct work.code. */
struct piece {
	uint32_t module;
	size_t first;
	size_t n;
};

struct work {
	struct symbolize *s;
	struct frames *frames;
	uint32_t *code; /* sorted by module and address */
	size_t n_codes;
	struct piece *piece; /* most codes first */
	size_t n_pieces, cap_pieces;
	pthread_mutex_t lock; /* guards the fields below, and calls of frames_put() */
	size_t next_piece;
	struct progress progress;
	int result;
	struct err err;
};

int symbolize_create(const char *recording_path, const struct store *store,
		     const struct symbolize_options *options, struct symbolize **ret,
		     struct err *err)
{
	struct symbolize *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->recording_path = strdup(recording_path);
	if (!s->recording_path) {
		free(s);
		return err_set_memory(err, strlen(recording_path) + 1);
	}
	s->store = store;
	if (options)
		s->options = *options;
	if (!s->options.temp_folder)
		s->options.temp_folder = temp_file_folder();
	*ret = s;
	return 0;
}

void symbolize_destroy(struct symbolize *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->kept && i < s->n_modules; i++)
		symbol_image_close(s->kept[i].image);
	free(s->kept);
	embedded_close(s->embedded);
	symbol_table_destroy(s->table);
	recording_close(s->recording);
	perf_map_destroy(s->jit);
	free(s->recording_path);
	free(s);
}

/* ---- one module ---- */

struct found {
	struct frame_names names[MAX_INLINED];
	size_t n;
};

/* Keeps a frame. Its texts are valid until the next call with the image; frames_put() comes before
 * that. */
static void keep_frame(void *user, const struct symbol_frame *f)
{
	struct found *found = user;

	if (found->n == MAX_INLINED)
		return;
	found->names[found->n++] = (struct frame_names){
		.function = f->function,
		.raw_function = f->raw_function,
		.source = f->source,
		.line = f->line,
		.column = f->column,
		.is_inline = f->is_inline,
	};
}

static int put(struct work *w, uint32_t code, const struct found *found, struct err *err)
{
	int n;

	pthread_mutex_lock(&w->lock);
	n = frames_put(w->frames, code, found->names, found->n, err);
	progress_add(&w->progress, 1);
	pthread_mutex_unlock(&w->lock);
	return n;
}

static size_t parse_build_id(const char *hex, uint8_t *ret)
{
	size_t n = 0;
	unsigned byte;

	while (n < MAX_BUILD_ID_BYTES && hex[2 * n] && hex[2 * n + 1] &&
	       sscanf(hex + 2 * n, "%2x", &byte) == 1)
		ret[n++] = (uint8_t)byte;
	return n;
}

static int open_image(struct symbolize *s, const struct store_module *m, struct symbol_image **ret,
		      struct err *err)
{
	uint8_t build_id[MAX_BUILD_ID_BYTES];
	struct symbol_module module = {
		.path = store_string(s->store, m->path, NULL),
		.build_id = build_id,
		.build_id_bytes =
			parse_build_id(store_string(s->store, m->build_id, NULL), build_id),
		.embedded_fd = -1,
	};
	const struct metadata_file *file = NULL;
	struct err ignored = {0};
	int n;

	if (s->embedded)
		file = embedded_find_module(s->embedded, m->file_id, module.path, build_id,
					    module.build_id_bytes);
	/* a binary that is damaged in the recording may still be on this machine */
	if (file && embedded_extract(s->embedded, file, s->options.temp_folder, &module.embedded_fd,
				     &ignored) < 0)
		module.embedded_fd = -1;
	n = symbol_image_open(&module, &s->image_options, ret, err);
	if (module.embedded_fd >= 0)
		close(module.embedded_fd);
	return n;
}

/* Puts the names that the recording carries. 1: done. 0: it says nothing about the code. Less: an
 * error. */
static int resolve_from_table(struct work *w, uint32_t code, struct found *found, struct err *err)
{
	const struct symbolize *s = w->s;
	const struct store_code *c = store_code(s->store, code);
	uint64_t id = SYMBOLS_NO_MODULE, offset = c->addr;
	const struct symbol_frame *frame;
	size_t n_frames;
	int n;

	if (!s->table)
		return 0;
	if (c->module != STORE_NO_MODULE) {
		/* modules of the store have the indexes of the recording's list */
		if (c->module >= s->recording->metadata.n_modules)
			return 0;
		id = s->recording->metadata.module[c->module].id;
		offset -= store_module(s->store, c->module)->base;
	}
	if (!symbol_table_find(s->table, id, offset, &frame, &n_frames))
		return 0;
	found->n = 0;
	for (size_t i = 0; i < n_frames; i++)
		keep_frame(found, &frame[i]);
	n = put(w, code, found, err);
	return n < 0 ? n : 1;
}

/* The image of a module, which stays open. */
static int get_image(struct symbolize *s, uint32_t module, struct symbol_image **ret,
		     struct err *err)
{
	struct kept_image *k = &s->kept[module];
	int n = k->image ? 0 : open_image(s, store_module(s->store, module), &k->image, err);

	k->last_used = s->n_calls;
	*ret = k->image;
	return n;
}

static int resolve_module(struct work *w, const struct piece *p, struct found *found,
			  struct err *err)
{
	struct symbolize *s = w->s;
	uint64_t base = store_module(s->store, p->module)->base;
	int n = 0;

	for (size_t i = 0; i < p->n && n >= 0; i++) {
		uint32_t code = w->code[p->first + i];
		struct symbol_image *image = NULL;

		n = resolve_from_table(w, code, found, err);
		if (n != 0)
			continue;
		n = get_image(s, p->module, &image, err);
		found->n = 0;
		if (n == 0)
			n = symbol_image_resolve(image, store_code(s->store, code)->addr - 1 - base,
						 keep_frame, found, err);
		if (n >= 0)
			n = put(w, code, found, err);
	}
	return n < 0 ? n : 0;
}

/* Closes the images that were not used for longest, until the others are within the limits. The one
 * that was used last stays whatever its size. */
static void close_images(struct symbolize *s)
{
	for (;;) {
		struct kept_image *oldest = NULL;
		size_t n = 0, n_bytes = 0;

		for (size_t i = 0; i < s->n_modules; i++) {
			struct kept_image *k = &s->kept[i];

			if (!k->image)
				continue;
			n++;
			n_bytes += symbol_image_size(k->image);
			if (!oldest || k->last_used < oldest->last_used)
				oldest = k;
		}
		if (n <= 1 || (n <= MAX_KEPT_IMAGES && n_bytes <= MAX_KEPT_BYTES))
			return;
		symbol_image_close(oldest->image);
		oldest->image = NULL;
	}
}

/* Resolves codes that are in no module. */
static int resolve_loose(struct work *w, const struct piece *p, struct found *found,
			 struct err *err)
{
	int n = 0;

	for (size_t i = 0; i < p->n && n >= 0; i++) {
		uint32_t code = w->code[p->first + i];
		struct symbol_frame frame;

		n = resolve_from_table(w, code, found, err);
		if (n != 0)
			continue;
		found->n = 0;
		if (perf_map_resolve(w->s->jit, store_code(w->s->store, code)->addr - 1, UINT64_MAX,
				     &frame))
			keep_frame(found, &frame);
		n = put(w, code, found, err);
	}
	return n < 0 ? n : 0;
}

/* ---- all modules ---- */

static const struct piece *next_piece(struct work *w)
{
	const struct piece *p = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->result == 0 && w->next_piece < w->n_pieces)
		p = &w->piece[w->next_piece++];
	pthread_mutex_unlock(&w->lock);
	return p;
}

static void *work_off(void *user)
{
	struct work *w = user;
	struct found *found = malloc(sizeof(*found));
	const struct piece *p;
	struct err err = {0};
	int n = found ? 0 : err_set_memory(&err, sizeof(*found));

	while (n == 0 && (p = next_piece(w)))
		n = p->module == STORE_NO_MODULE ? resolve_loose(w, p, found, &err)
						 : resolve_module(w, p, found, &err);
	free(found);
	if (n < 0) {
		pthread_mutex_lock(&w->lock);
		if (w->result == 0) {
			w->result = n;
			w->err = err;
		}
		pthread_mutex_unlock(&w->lock);
	}
	return NULL;
}

static int compare_codes(const void *a, const void *b, void *store)
{
	const struct store_code *x = store_code(store, *(const uint32_t *)a);
	const struct store_code *y = store_code(store, *(const uint32_t *)b);

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->n > y->n ? -1 : x->n < y->n;
}

static int make_pieces(struct work *w, struct err *err)
{
	for (size_t i = 0; i < w->n_codes;) {
		uint32_t module = store_code(w->s->store, w->code[i])->module;
		size_t end = i + 1;
		int n = vec_reserve(&w->piece, &w->cap_pieces, w->n_pieces + 1, sizeof(*w->piece),
				    err);

		if (n < 0)
			return n;
		while (end < w->n_codes && store_code(w->s->store, w->code[end])->module == module)
			end++;
		w->piece[w->n_pieces++] =
			(struct piece){.module = module, .first = i, .n = end - i};
		i = end;
	}
	qsort(w->piece, w->n_pieces, sizeof(*w->piece), compare_pieces);
	return 0;
}

static unsigned count_threads(const struct work *w)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = w->s->options.n_threads ? w->s->options.n_threads
					     : (n_cpus > 0 ? (unsigned)n_cpus : 1);

	if (n > SYMBOLIZE_MAX_THREADS)
		n = SYMBOLIZE_MAX_THREADS;
	return n < w->n_pieces ? n : (unsigned)w->n_pieces;
}

static void run_threads(struct work *w)
{
	pthread_t thread[SYMBOLIZE_MAX_THREADS];
	unsigned n_threads = count_threads(w), n = 0;

	/* this thread works too, so fewer threads than wanted are no error */
	while (n + 1 < n_threads && pthread_create(&thread[n], NULL, work_off, w) == 0)
		n++;
	work_off(w);
	while (n > 0)
		pthread_join(thread[--n], NULL);
}

/* Opens what the recording embeds. A piece of a run may lack what other pieces have. */
static int open_embedded(struct symbolize *s, struct err *err)
{
	char **beside = NULL;
	size_t n_beside = 0;
	int n = s->options.n_pieces ? 0 : pieces_beside(s->recording_path, &beside, &n_beside, err);
	size_t n_paths = 1 + s->options.n_pieces + n_beside;
	const char **path = n == 0 ? calloc(n_paths, sizeof(*path)) : NULL;

	if (!path) {
		pieces_free(beside, n_beside);
		return n < 0 ? n : err_set_memory(err, n_paths * sizeof(*path));
	}
	path[0] = s->recording_path;
	for (size_t i = 0; i < s->options.n_pieces; i++)
		path[1 + i] = s->options.piece[i];
	for (size_t i = 0; i < n_beside; i++)
		path[1 + s->options.n_pieces + i] = beside[i];
	/* without the recording the files of this machine are left */
	n = embedded_open_pieces(path, n_paths, &s->embedded, err);
	free(path);
	pieces_free(beside, n_beside);
	return n == -ERR_MEMORY ? n : 0;
}

/* Loads the names that a postprocessed recording carries. */
static int load_table(struct symbolize *s, struct err *err)
{
	size_t n_paths = 1 + s->options.n_pieces;
	const char **path;
	int n;

	if (!s->embedded || !embedded_has_symbols(s->embedded))
		return 0;
	path = calloc(n_paths, sizeof(*path));
	if (!path)
		return err_set_memory(err, n_paths * sizeof(*path));
	path[0] = s->recording_path;
	for (size_t i = 1; i < n_paths; i++)
		path[i] = s->options.piece[i - 1];
	n = recording_open_pieces(path, n_paths, &s->recording, err);
	free(path);
	if (n == 0)
		return symbol_table_load(s->recording, &s->table, err);
	return n == -ERR_MEMORY ? n : 0;
}

static int open_sources(struct symbolize *s, struct err *err)
{
	struct jit_files_options jit = {.temp_folder = s->options.temp_folder,
					.use_local_files = !s->options.use_only_recording};
	int n;

	if (s->is_opened)
		return 0;
	store_table(s->store, STORE_MODULES, &s->n_modules);
	s->kept = calloc(s->n_modules + 1, sizeof(*s->kept));
	if (!s->kept)
		return err_set_memory(err, (s->n_modules + 1) * sizeof(*s->kept));
	s->image_options = (struct symbol_options){
		.debug_path = s->options.debug_path,
		.n_debug_paths = s->options.n_debug_paths,
		.use_debuginfod = s->options.use_debuginfod,
		.use_local_files = !s->options.use_only_recording,
	};
	s->is_opened = true;
	n = open_embedded(s, err);
	if (n == 0)
		n = load_table(s, err);
	if (n == 0)
		n = perf_map_create(&s->jit, err);
	jit.embedded = s->embedded;
	return n == 0 ? jit_files_load(s->jit, s->store, &jit, err) : n;
}

int symbolize_resolve(void *user, struct frames *f, const uint32_t *code, size_t n, struct err *err)
{
	struct work w = {.s = user, .frames = f, .n_codes = n, .lock = PTHREAD_MUTEX_INITIALIZER};
	int result;

	if (n == 0)
		return 0;
	result = open_sources(w.s, err);
	if (result < 0)
		return result;
	w.code = malloc(n * sizeof(*code));
	if (!w.code)
		return err_set_memory(err, n * sizeof(*code));
	memcpy(w.code, code, n * sizeof(*code));
	qsort_r(w.code, n, sizeof(*w.code), compare_codes, (void *)w.s->store);
	w.s->n_calls++;
	result = make_pieces(&w, err);
	if (result == 0) {
		if (w.s->options.show_progress)
			progress_start(&w.progress, "finding names", n, PROGRESS_ITEMS);
		run_threads(&w);
		progress_end(&w.progress);
		result = w.result;
		if (result < 0 && err)
			*err = w.err;
	}
	close_images(w.s);
	free(w.piece);
	free(w.code);
	return result;
}
