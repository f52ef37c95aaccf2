/* query/query_fold.c - see query_fold.h. */
#include "query/query_fold.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "query/query_regex.h"

/* Numbers of titles, the most telling first. */
enum title {
	TITLE_NONE,
	TITLE_TOKIO,
	TITLE_TOKIO_BLOCKING,
	TITLE_TOKIO_BLOCK_ON,
	TITLE_RAYON,
	TITLE_ASYNC_STD,
	TITLE_SMOL,
	TITLE_LIBUV,
	TITLE_GLIB,
	TITLE_QT,
	TITLE_ASIO,
	TITLE_LIBEVENT,
	TITLE_TBB,
	TITLE_OPENMP,
	TITLE_THREAD,
	TITLE_START,
	N_TITLES,
};

static const char *const titles[N_TITLES] = {
	[TITLE_TOKIO] = "tokio worker",
	[TITLE_TOKIO_BLOCKING] = "tokio blocking thread",
	[TITLE_TOKIO_BLOCK_ON] = "tokio block_on",
	[TITLE_RAYON] = "rayon worker",
	[TITLE_ASYNC_STD] = "async-std worker",
	[TITLE_SMOL] = "smol executor",
	[TITLE_LIBUV] = "libuv loop",
	[TITLE_GLIB] = "GLib main loop",
	[TITLE_QT] = "Qt event loop",
	[TITLE_ASIO] = "asio loop",
	[TITLE_LIBEVENT] = "libevent loop",
	[TITLE_TBB] = "TBB worker",
	[TITLE_OPENMP] = "OpenMP worker",
	[TITLE_THREAD] = "thread start",
	[TITLE_START] = "program start",
};
static_assert(N_TITLES <= QUERY_FOLD_MAX_TITLES, "a title fits");

/* Frames that run tasks of others, by the start of their qualified name, up to the end of a word where the
 * entry does not end with ':' or '_'. The first entry that fits decides. Frames of the class runtime are
 * folded whether they stand here or not: for these the table has titles only. */
static const struct {
	const char *start;
	enum title title;
} executors[] = {
	{"tokio::runtime::scheduler::multi_thread::worker::", TITLE_TOKIO},
	{"tokio::runtime::scheduler::multi_thread_alt::worker::", TITLE_TOKIO},
	{"tokio::runtime::thread_pool::worker::", TITLE_TOKIO},
	{"tokio::runtime::blocking::pool::", TITLE_TOKIO_BLOCKING},
	{"tokio::runtime::scheduler::current_thread::", TITLE_TOKIO_BLOCK_ON},
	{"tokio::runtime::basic_scheduler::", TITLE_TOKIO_BLOCK_ON},
	{"tokio::runtime::runtime::Runtime::block_on", TITLE_TOKIO_BLOCK_ON},
	{"tokio::runtime::", TITLE_NONE},
	{"tokio::task::", TITLE_NONE},
	{"tokio::future::", TITLE_NONE},
	{"tokio::loom::", TITLE_NONE},
	{"tokio::util::", TITLE_NONE},
	{"tokio::coop::", TITLE_NONE},
	{"rayon_core::registry::", TITLE_RAYON},
	{"rayon_core::", TITLE_NONE},
	{"rayon::", TITLE_NONE},
	{"async_std::task::", TITLE_ASYNC_STD},
	{"async_std::rt::", TITLE_ASYNC_STD},
	{"async_global_executor::", TITLE_ASYNC_STD},
	{"async_executor::", TITLE_SMOL},
	{"async_io::driver::", TITLE_SMOL},
	{"smol::", TITLE_SMOL},
	{"async_task::", TITLE_NONE},
	{"futures_executor::", TITLE_NONE},
	{"futures_util::", TITLE_NONE},
	{"futures_core::", TITLE_NONE},
	{"tracing::instrument::", TITLE_NONE},
	{"crossbeam_utils::thread::", TITLE_THREAD},
	{"uv_run", TITLE_LIBUV},
	{"uv__", TITLE_LIBUV},
	{"node::SpinEventLoop", TITLE_LIBUV},
	{"node::SpinEventLoopInternal", TITLE_LIBUV},
	{"g_main_loop_run", TITLE_GLIB},
	{"g_main_context_", TITLE_GLIB},
	{"g_main_dispatch", TITLE_GLIB},
	{"g_application_run", TITLE_GLIB},
	{"QEventLoop::", TITLE_QT},
	{"QEventDispatcherUNIX::", TITLE_QT},
	{"QEventDispatcherGlib::", TITLE_QT},
	{"QCoreApplication::exec", TITLE_QT},
	{"QCoreApplicationPrivate::", TITLE_QT},
	{"QThreadPrivate::", TITLE_THREAD},
	{"boost::asio::detail::", TITLE_ASIO},
	{"boost::asio::io_context::", TITLE_ASIO},
	{"asio::detail::", TITLE_ASIO},
	{"asio::io_context::", TITLE_ASIO},
	{"event_base_", TITLE_LIBEVENT},
	{"event_process_active", TITLE_LIBEVENT},
	{"ev_run", TITLE_LIBEVENT},
	{"ev_invoke_pending", TITLE_LIBEVENT},
	{"tbb::detail::", TITLE_TBB},
	{"tbb::internal::", TITLE_TBB},
	{"GOMP_", TITLE_OPENMP},
	{"gomp_", TITLE_OPENMP},
	{"__kmp", TITLE_OPENMP},
	/* of the class runtime */
	{"std::thread::", TITLE_THREAD},
	{"std::sys::thread::", TITLE_THREAD},
	{"std::sys::pal::unix::thread::", TITLE_THREAD},
	{"std::sys::unix::thread::", TITLE_THREAD},
	{"start_thread", TITLE_THREAD},
	{"clone", TITLE_THREAD},
	{"clone3", TITLE_THREAD},
	{"__clone", TITLE_THREAD},
	{"__clone3", TITLE_THREAD},
	{"__GI___clone", TITLE_THREAD},
	{"__GI___clone3", TITLE_THREAD},
	{"execute_native_thread_routine", TITLE_THREAD},
	{"_start", TITLE_START},
	{"__libc_start_", TITLE_START},
	{"std::rt::", TITLE_START},
};

static const char *title_text(unsigned title)
{
	return title < N_TITLES ? titles[title] : NULL;
}

const char *query_fold_name_title(const struct query_names *names, uint32_t name)
{
	return name >= names->n_identities ? title_text((unsigned)(name - names->n_identities))
					   : NULL;
}

static bool starts_with(const struct frame_name_path *path, const char *start)
{
	size_t len = strlen(start);

	if (path->len < len || path->start[0] != start[0] || memcmp(path->start, start, len) != 0)
		return false;
	return path->len == len || start[len - 1] == ':' || start[len - 1] == '_' ||
	       !(isalnum((unsigned char)path->start[len]) || path->start[len] == '_');
}

/* Is the frame an executor's? Its title, too. */
static bool find_executor(const struct frame *f, uint8_t *title)
{
	struct frame_name_path path = frame_class_path(f);

	for (size_t i = 0; i < ARRAY_LEN(executors); i++) {
		if (starts_with(&path, executors[i].start)) {
			*title = (uint8_t)executors[i].title;
			return true;
		}
	}
	*title = TITLE_NONE;
	return false;
}

/* Without its sources an executor that was compiled into the program looks like the program's own. */
static enum query_fold_action action_of(const struct query_name_identity *i, uint8_t *title)
{
	bool is_executor = find_executor(i->frame, title);
	enum frame_class class = (enum frame_class)i->class;

	if (class == FRAME_CLASS_RUNTIME)
		return QUERY_FOLD_RUN;
	if (class != FRAME_CLASS_ALLOCATOR && is_executor &&
	    (class != FRAME_CLASS_OWN || !i->frame->source))
		return QUERY_FOLD_RUN;
	*title = TITLE_NONE;
	return class == FRAME_CLASS_ALLOCATOR ? QUERY_FOLD_ALLOCATOR : QUERY_FOLD_KEEP;
}

/* The main() that rustc makes calls std::rt::lang_start(), which calls the program's. */
static bool is_rust_main(const struct frame *f)
{
	return f->function && strcmp(f->function, "main") == 0 && !f->source;
}

static void fold_runtime(struct query_fold *f, const struct query_names *names)
{
	bool has_rust_start = false;

	for (size_t i = 1; i < names->n_identities; i++) {
		struct frame_name_path path = frame_class_path(names->identity[i].frame);

		f->action[i] = (uint8_t)action_of(&names->identity[i], &f->title[i]);
		has_rust_start |= starts_with(&path, "std::rt::lang_start");
	}
	for (size_t i = 1; has_rust_start && i < names->n_identities; i++) {
		if (is_rust_main(names->identity[i].frame)) {
			f->action[i] = QUERY_FOLD_RUN;
			f->title[i] = TITLE_START;
		}
	}
}

/* Runs an expression over the functions; sets the action of identities that match. */
static int match_regex(struct query_fold *f, const struct query *q, const char *parameter,
		       const char *pattern, enum query_fold_action action, struct err *err)
{
	const struct query_names *names = q->names;
	struct query_regex *x = NULL;
	int r = pattern && *pattern ? query_regex_create(parameter, pattern, &x, err) : 0;

	for (size_t i = 1; x && i < names->n_identities && r >= 0; i++) {
		const struct query_name_identity *n = &names->identity[i];

		r = n->function ? query_regex_match(x, names->text[n->function], err) : 0;
		if (r > 0)
			f->action[i] = (uint8_t)action;
		if (r >= 0 && i % 4096 == 0)
			r = query_check_cancel(q, err);
	}
	query_regex_destroy(x);
	return r < 0 ? r : 0;
}

int query_fold_init(struct query_fold *f, struct query *q, const struct query_tree_options *o,
		    struct err *err)
{
	bool wants_action = o->fold != QUERY_FOLD_NONE || (o->fold_regex && *o->fold_regex) ||
			    (o->hide_regex && *o->hide_regex);
	int r = query_need_names(q, err);

	*f = (struct query_fold){
		.collapses_recursion = o->collapses_recursion,
		.drops_innermost = o->fold == QUERY_FOLD_RUNTIME && o->kind == QUERY_BOTTOM_UP,
	};
	if (r < 0 || !wants_action)
		return r;
	f->action = calloc(q->names->n_identities, 1);
	f->title = calloc(q->names->n_identities, 1);
	if (!f->action || !f->title)
		r = err_set_memory(err, q->names->n_identities);
	if (r >= 0 && o->fold == QUERY_FOLD_RUNTIME)
		r = query_names_classify(q->names, q->c.rules, err);
	if (r >= 0 && o->fold == QUERY_FOLD_RUNTIME)
		fold_runtime(f, q->names);
	if (r >= 0)
		r = match_regex(f, q, "fold_regex", o->fold_regex, QUERY_FOLD_CHOSEN, err);
	if (r >= 0)
		r = match_regex(f, q, "hide_regex", o->hide_regex, QUERY_FOLD_HIDE, err);
	if (r < 0)
		query_fold_fini(f);
	return r;
}

void query_fold_fini(struct query_fold *f)
{
	free(f->action);
	free(f->title);
	*f = (struct query_fold){0};
}

/* ---- keys ---- */

#define KEY_BITS 53u /* what a double holds */

static uint64_t hash_text(uint64_t h, const char *text)
{
	return hash_pair64(h, text ? hash_bytes(text, strlen(text)) : 0);
}

uint64_t query_fold_key(const struct query_names *names, uint32_t name)
{
	const char *title = query_fold_name_title(names, name);
	uint64_t h = hash_text(1, title);

	if (!title) {
		const struct query_name_identity *i = &names->identity[name];

		h = hash_text(2, names->text[i->function]);
		h = hash_text(h, names->text[i->source]);
		h = hash_text(h, names->text[i->module]);
		if (!i->function && name)
			h = hash_pair64(h, i->frame->addr);
	}
	return h >> (64 - KEY_BITS);
}

int query_fold_find_keys(const struct query_names *names, const uint64_t *key, size_t n,
			 uint32_t *ret, struct err *err)
{
	uint32_t n_names = (uint32_t)names->n_identities + N_TITLES;
	struct map name_of = {0}; /* key -> name */
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		uint64_t *slot;

		r = map_add(&name_of, key[i], &slot, NULL, err);
	}
	for (uint32_t name = 1; n && name < n_names && r >= 0; name++) {
		uint64_t *found;

		if (name == names->n_identities) /* the title of none */
			continue;
		found = map_find(&name_of, query_fold_key(names, name));
		if (found && *found)
			r = err_set(err, ERR_USAGE,
				    "under: two names have the key %" PRIu64
				    "; use a filter instead",
				    query_fold_key(names, name));
		else if (found)
			*found = name;
	}
	for (size_t i = 0; i < n && r >= 0; i++) {
		ret[i] = (uint32_t)*map_find(&name_of, key[i]);
		if (!ret[i])
			r = err_set(err, ERR_USAGE,
				    "under: no name of this recording has the key %" PRIu64,
				    key[i]);
	}
	map_fini(&name_of);
	return r;
}
