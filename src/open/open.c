/* open/open.c - see open.h.
 *
 * The store of a recording that nobody writes any more (it ended in order, or its writer is gone)
 * is kept and used as it is. While a recording is being written, its events change without a change
 * of its size and time of modification. So its store is not used as it is; it is kept to be resumed
 * (ingest/incremental.h), if the recording is long enough for that.
 */
#include "open/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "ingest/build.h"
#include "open/symbolize.h"
#include "recording/being_written.h"
#include "recording/checkpoint_pos.h"
#include "recording/header_page.h"
#include "recording/pieces.h"
#include "recording/writer_wait.h"
#include "store/store_cache.h"
#include "util/progress.h"
#include "util/temp_file.h"

struct opening {
	const char **path; /* of the pieces, in order; often only one */
	size_t n_paths;
	size_t n_looked_at;
	char *kept_as; /* the path that the store is named after */
	const struct open_options *options;
	struct store_identity identity;
	bool is_kept; /* a store from the cache may be used as it is */
	bool is_growing; /* a store from the cache may only be resumed */
	bool without_rows;
	uint64_t status_sequence;
	struct store_paths paths; /* zeroed: a temporary store, whose file is deleted already */
	struct progress progress;
	uint64_t size_bytes;
};

PRINTF_LIKE(2, 3) static void add_note(struct open_recording *o, const char *fmt, ...)
{
	va_list ap;

	if (o->n_notes == OPEN_MAX_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(o->note[o->n_notes++], OPEN_NOTE_BYTES, fmt, ap);
	va_end(ap);
}

/* Adds what the first page of a piece says. */
static void look_at_piece(struct opening *op, const char *path, struct file_header *header)
{
	struct file f = FILE_NONE;
	struct header_page page;
	struct stat st;

	if (file_open(path, &f, NULL) < 0)
		return;
	writer_wait(&f);
	if (fstat(f.fd, &st) == 0 && header_page_read(&f, &page, NULL) == 0) {
		uint64_t changed_ns =
			(uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
		bool has_ended = page.has_status &&
				 page.status.field[STATUS_STATE] != FORMAT_STATE_RECORDING;

		*header = page.header;
		op->is_growing = !has_ended && being_written(f.fd); /* the last piece decides */
		op->size_bytes += f.size_bytes;
		op->status_sequence = page.has_status ? page.status.sequence : 0;
		op->identity.size_bytes += (uint64_t)st.st_size;
		if (changed_ns > op->identity.changed_ns)
			op->identity.changed_ns = changed_ns;
		op->n_looked_at++;
	}
	file_close(&f);
}

/* Reads only the first page of each piece: may a store be kept, and what identity must it have?
 * Errors of the files are ignored here: recording_open_pieces() reports them. */
static int look_at_recording(struct opening *op, struct err *err)
{
	struct file_header *header = calloc(op->n_paths, sizeof(*header));
	const struct file_header **at = calloc(op->n_paths, sizeof(struct file_header *));
	int n = header && at ? pieces_sort(op->path, op->n_paths, err)
			     : err_set_memory(err, op->n_paths * sizeof(*header));

	for (size_t i = 0; n == 0 && i < op->n_paths; i++) {
		at[i] = &header[i];
		look_at_piece(op, op->path[i], &header[i]);
	}
	if (n == 0 && op->n_looked_at == op->n_paths) {
		/* a growing recording of several pieces is read anew each time */
		op->is_kept = !op->options->no_cache && !op->is_growing;
		recording_id_of(at, op->n_paths, op->identity.recording_id);
	}
	free(header);
	free(at);
	return n;
}

static int on_progress(void *user, uint64_t n_done, uint64_t n_total)
{
	struct opening *op = user;
	double share = n_total ? (double)n_done / (double)n_total : 0;

	progress_set(&op->progress, (uint64_t)(share * (double)op->size_bytes));
	if (op->options->on_progress)
		return op->options->on_progress(op->options->user, n_done, n_total);
	return 0;
}

static int build_at(struct opening *op, enum build_how how, const char *store_path,
		    const char *temp, struct err *err)
{
	struct build_options o = {
		.how = how,
		.is_growing = op->is_growing,
		.without_rows = op->without_rows,
		.temp_folder = temp,
		.on_progress = on_progress,
		.user = op,
	};
	char label[PROGRESS_LABEL_BYTES];
	struct recording *r = NULL;
	int n = recording_open_pieces(op->path, op->n_paths, &r, err);

	if (n < 0)
		return n;
	if (how == BUILD_RESUMABLE && !checkpoint_pos_is_possible(r)) {
		recording_close(r);
		return err_set(err, ERR_REFUSED, "there is nothing to go on from");
	}
	if (how != BUILD_RESUME && r->raw_event_bytes <= op->options->small_bytes)
		o.without_rows = false;
	op->size_bytes = r->file_bytes;
	snprintf(label, sizeof(label), "reading %s", text_basename(op->path[0]));
	progress_start(&op->progress, label, op->size_bytes, PROGRESS_BYTES);
	n = build_store(r, store_path, &o, err);
	progress_end(&op->progress);
	recording_close(r);
	return n;
}

/* Resumes the store in the cache. 1: done. 0: there is none that can be resumed. Less: an error. */
static int resume(struct opening *op, struct err *err)
{
	struct store *s = NULL;
	size_t n_bytes = 0;
	bool is_good;
	int n;

	if (store_open(op->paths.store, &s, NULL) < 0)
		return 0;
	store_table(s, STORE_STATE, &n_bytes);
	is_good = n_bytes > 0 && (op->options->without_rows || store_has_rows(s)) &&
		  memcmp(store_identity(s)->recording_id, op->identity.recording_id,
			 sizeof(op->identity.recording_id)) == 0;
	op->without_rows = !store_has_rows(s); /* as the store has been so far */
	store_close(s);
	n = is_good ? build_at(op, BUILD_RESUME, op->paths.store, NULL, err) : -ERR_REFUSED;
	op->without_rows = op->options->without_rows;
	if (n == -ERR_REFUSED || n == -ERR_FORMAT || n == -ERR_VERSION)
		return 0; /* the recording must be read in full */
	return n < 0 ? n : 1;
}

/* Makes the store in the cache, or resumes the one that is there. */
static int build_kept(struct opening *op, struct open_recording *ret, struct err *err)
{
	int n = store_cache_paths(op->kept_as, op->identity.recording_id, &op->paths, err);

	if (n == 0)
		n = resume(op, err);
	if (n == 0)
		n = build_at(op, op->is_growing ? BUILD_RESUMABLE : BUILD_WHOLE, op->paths.store,
			     NULL, err);
	if (n >= 0)
		n = store_open(op->paths.store, &ret->store, err);
	if (n < 0)
		return n;
	if (!op->paths.is_beside)
		add_note(ret, "%s; what was read is kept in %s", op->paths.why_not_beside,
			 op->paths.store);
	return 0;
}

/* Makes the store in a file that is deleted at once, and lives as long as this process uses it. */
static int build_temporary(struct opening *op, struct open_recording *ret, struct err *err)
{
	const char *folder = temp_file_folder();
	uint64_t secret[2];
	char path[4096];
	int n;

	/* While the store is made its file has no name, so nothing is left if we are killed.
	 * Between the commit and unlink() it has a name that nobody can guess. */
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return err_set_errno(err, errno, "no random numbers");
	snprintf(path, sizeof(path), "%s/memory-profiler-%016" PRIx64 "%016" PRIx64, folder,
		 secret[0], secret[1]);
	n = build_at(op, BUILD_WHOLE, path, folder, err);
	if (n == 0)
		n = store_open(path, &ret->store, err);
	unlink(path);
	return n;
}

/* Finds a store that was made before and can answer what is asked for. */
static bool find_kept(struct opening *op, struct open_recording *ret)
{
	if (!op->is_kept ||
	    store_cache_find(op->kept_as, &op->identity, &ret->store, &op->paths, NULL) < 0 ||
	    !ret->store)
		return false;
	/* the store has no rows, and now they are needed */
	if (!op->options->without_rows && !store_has_rows(ret->store)) {
		store_close(ret->store);
		ret->store = NULL;
		store_paths_fini(&op->paths);
		op->paths = (struct store_paths){0};
		return false;
	}
	ret->is_from_cache = true;
	return true;
}

static int get_store(struct opening *op, struct open_recording *ret, struct err *err)
{
	struct err why = {0};
	bool is_note_needed;
	int n;

	if (find_kept(op, ret))
		return 0;
	if (op->options->no_cache || (op->n_paths > 1 && op->is_growing))
		return build_temporary(op, ret, err);
	n = build_kept(op, ret, err);
	if (n != -ERR_IO && (n != -ERR_REFUSED || !op->is_growing))
		return n;
	is_note_needed = n == -ERR_IO;
	/* No room, no permission, no home, or the recording is too short for a checkpoint: do not
	 * keep the store. */
	store_paths_fini(&op->paths);
	op->paths = (struct store_paths){0};
	n = build_temporary(op, ret, &why);
	if (n == 0 && is_note_needed)
		add_note(ret, "what was read cannot be kept for next time: %s", err->text);
	else if (n < 0)
		*err = why;
	return n;
}

static int get_frames(struct opening *op, struct open_recording *ret, struct err *err)
{
	const struct open_options *o = op->options;
	struct symbolize_options symbols = {
		.debug_path = o->debug_path,
		.n_debug_paths = o->n_debug_paths,
		.use_debuginfod = o->use_debuginfod,
		.n_threads = o->n_threads,
		.show_progress = true,
		.piece = (const char *const *)op->path + 1,
		.n_pieces = op->n_paths - 1,
	};
	int n = frames_open(ret->store, op->paths.names, &ret->frames, err);

	if (n < 0)
		return n;
	if (o->n_debug_paths > 0 || o->use_debuginfod)
		frames_forget(ret->frames); /* with other debug files there may be better names */
	n = symbolize_create(op->path[0], ret->store, &symbols, &ret->symbolize, err);
	if (n == 0)
		frames_set_resolver(ret->frames, symbolize_resolve, ret->symbolize);
	return n;
}

/* The store of a single file is named after the file; that of several pieces after the first of
 * them, so that both can be there. */
static int name_store(struct opening *op, struct err *err)
{
	if (asprintf(&op->kept_as, "%s%s", op->path[0], op->n_paths > 1 ? ".pieces" : "") < 0) {
		op->kept_as = NULL;
		return err_set_memory(err, strlen(op->path[0]));
	}
	return 0;
}

/* ret has the paths: they must live as long as names are looked up. */
static int open_all(struct opening *op, struct open_recording *ret, struct err *err)
{
	int n = look_at_recording(op, err);

	if (n == 0)
		n = name_store(op, err);
	if (n < 0)
		return n;
	ret->is_growing = op->is_growing;
	ret->status_sequence = op->status_sequence;
	ret->growing_path = op->path[op->n_paths - 1];
	n = get_store(op, ret, err);
	if (n == 0)
		n = get_frames(op, ret, err);
	if (n == 0 && op->options->suppressions)
		n = suppressions_apply(op->options->suppressions, ret->store, ret->frames, err);
	store_paths_fini(&op->paths);
	free(op->kept_as);
	return n;
}

int open_recording_open(const char *path, const struct open_options *o, struct open_recording *ret,
			struct err *err)
{
	static const struct open_options none;
	struct opening op = {
		.options = o ? o : &none,
		.n_paths = 1 + (o ? o->n_pieces : 0),
		.without_rows = o && o->without_rows,
	};
	int n;

	*ret = (struct open_recording){0};
	op.path = calloc(op.n_paths, sizeof(*op.path));
	if (!op.path)
		return err_set_memory(err, op.n_paths * sizeof(*op.path));
	ret->path = op.path;
	op.path[0] = path;
	for (size_t i = 1; i < op.n_paths; i++)
		op.path[i] = o->piece[i - 1];
	n = open_all(&op, ret, err);
	if (n < 0) {
		if (err && op.n_paths == 1 && !strstr(err->text, path))
			err_prefix(err, "%s", path);
		open_recording_close(ret);
	}
	return n;
}

bool open_recording_has_grown(const struct open_recording *o)
{
	struct file f = FILE_NONE;
	struct header_page page;
	bool has = false;

	if (!o->is_growing || file_open(o->growing_path, &f, NULL) < 0)
		return false;
	/* the writer of a recording updates the status ten times a second, until it ends */
	if (header_page_read(&f, &page, NULL) == 0)
		has = !page.has_status || page.status.sequence != o->status_sequence ||
		      !being_written(f.fd);
	file_close(&f);
	return has;
}

void open_recording_close(struct open_recording *o)
{
	frames_close(o->frames);
	symbolize_destroy(o->symbolize);
	store_close(o->store);
	free(o->path);
	*o = (struct open_recording){0};
}
