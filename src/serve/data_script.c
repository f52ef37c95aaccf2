/* serve/data_script.c - scripts over HTTP, as bytehound has them: POST execute_script runs one, and
 * script_files/{hash}/{file} is a file that it wrote; filters as scripts.
 *
 * A script in the server sees one recording and no files, and has less time and memory than in the
 * command. It ends when its client goes away.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "script/script.h"
#include "serve/handlers.h"
#include "serve/offline.h"
#include "serve/script_files.h"

#define MAX_SCRIPTS 2u /* at one time */
#define MAX_MEMORY_BYTES ((size_t)256 << 20)
#define MAX_NS 120000000000u
#define MAX_OUTPUT_BYTES ((size_t)1 << 20)
#define MAX_FILE_BYTES ((size_t)16 << 20) /* one file */
#define MAX_FILES 100u /* of a script */

static atomic_uint n_running;

/* What the script printed or wrote. */
struct entry {
	char *text; /* owned: printed, or the path of a file */
	bool is_file;
	char hash[SCRIPT_FILES_HASH_BYTES];
};

struct run {
	struct request *rq;
	struct entry *entry; /* owned */
	size_t n, capacity;
	size_t n_files;
	bool is_out_of_memory;
	char *path; /* of the file that is open; owned */
	char *bytes; /* its content; owned */
	size_t len;
};

static void run_fini(struct run *run)
{
	for (size_t i = 0; i < run->n; i++)
		free(run->entry[i].text);
	free(run->entry);
	free(run->path);
	free(run->bytes);
}

/* Takes text over. NULL: no memory, and the answer will be that error. The script's output is bounded,
 * and so the number of entries is. */
static struct entry *add_entry(struct run *run, char *text)
{
	if (text && run->n == run->capacity) {
		size_t capacity = run->capacity ? 2 * run->capacity : 64;
		struct entry *more = reallocarray(run->entry, capacity, sizeof(*more));

		if (more) {
			run->entry = more;
			run->capacity = capacity;
		}
	}
	if (!text || run->n == run->capacity) {
		run->is_out_of_memory = true;
		free(text);
		return NULL;
	}
	run->entry[run->n] = (struct entry){.text = text};
	return &run->entry[run->n++];
}

/* Without the end of the line: an entry is a line. */
static void print_text(void *user, const char *text, size_t len)
{
	len -= len && text[len - 1] == '\n';
	add_entry(user, strndup(text, len));
}

/* ---- files ---- */

static ssize_t write_bytes(void *cookie, const char *bytes, size_t len)
{
	struct run *run = cookie;
	char *more;

	if (len > MAX_FILE_BYTES - run->len)
		return 0; /* an error for stdio */
	more = realloc(run->bytes, run->len + len + 1);
	if (!more)
		return 0;
	run->bytes = more;
	memcpy(more + run->len, bytes, len);
	run->len += len;
	return (ssize_t)len;
}

static int create_file(void *user, const char *path, FILE **ret, struct err *err)
{
	const cookie_io_functions_t io = {.write = write_bytes};
	struct run *run = user;

	if (run->n_files == MAX_FILES)
		return err_set(err, ERR_LIMIT, "a script saves at most %u files", MAX_FILES);
	run->n_files++;
	free(run->path);
	free(run->bytes);
	run->path = strdup(path);
	run->bytes = NULL;
	run->len = 0;
	*ret = run->path ? fopencookie(run, "w", io) : NULL;
	return *ret ? 0 : err_set_memory(err, strlen(path));
}

static int close_file(void *user, FILE *file, bool is_whole, struct err *err)
{
	struct run *run = user;
	char hash[SCRIPT_FILES_HASH_BYTES];
	struct entry *e;
	char *bytes;
	int r = 0;

	if (fclose(file) != 0 && is_whole) /* writes what stdio still has */
		r = err_set(err, ERR_LIMIT, "'%.200s' has more than %zu MiB", run->path,
			    MAX_FILE_BYTES >> 20);
	bytes = run->bytes ? run->bytes : calloc(1, 1);
	run->bytes = NULL;
	if (r < 0 || !is_whole || !bytes) {
		free(bytes);
		return r;
	}
	r = script_files_add(run->rq->script_files, bytes, run->len, hash, err);
	e = r == 0 ? add_entry(run, strdup(run->path)) : NULL;
	if (e) {
		e->is_file = true;
		memcpy(e->hash, hash, sizeof(hash));
	}
	return r;
}

static bool is_image(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && strcmp(path + len - 4, ".svg") == 0;
}

/* ---- running ---- */

static int ask(void *user, const char *question, const atomic_bool *cancel, FILE *out,
	       struct err *err)
{
	const struct request *rq = user;
	struct query_context context = rq->context;
	struct offline offline = {.context = &context, .file_name = rq->file_name};

	context.cancel = cancel;
	return offline_answer(&offline, question, out, err);
}

static void put_file(struct request *rq, const struct entry *e)
{
	struct json *j = &rq->json;
	char *url = NULL;
	size_t len;
	FILE *out = open_memstream(&url, &len);

	if (!out)
		return;
	fprintf(out, "/data/%s/script_files/%s/", rq->id, e->hash);
	url_encode(out, text_basename(e->text));
	if (fclose(out) == 0) {
		json_text(j, "kind", is_image(e->text) ? "image" : "file");
		json_text(j, "url", url);
		json_text(j, "basename", text_basename(e->text));
		json_text(j, "path", e->text);
		json_text(j, "checksum", e->hash);
	}
	free(url);
}

static void put_result(const struct run *run, const struct script_result *r)
{
	struct json *j = &run->rq->json;
	bool has_failed = r->status != SCRIPT_OK && r->status != SCRIPT_EXITED;

	json_object(j, NULL);
	json_text(j, "status", has_failed ? "error" : "ok");
	json_double(j, "elapsed", (double)r->elapsed_ns / 1e9, 6);
	if (r->status == SCRIPT_EXITED)
		json_u64(j, "exit_status", (uint64_t)r->exit_status);
	if (has_failed) {
		json_text(j, "message", r->message);
		if (r->line)
			json_u64(j, "line", r->line);
		else
			json_null(j, "line");
		json_null(j, "column"); /* Lua knows the line only */
	}
	json_array(j, "output");
	for (size_t i = 0; i < run->n; i++) {
		json_object(j, NULL);
		if (run->entry[i].is_file) {
			put_file(run->rq, &run->entry[i]);
		} else {
			json_text(j, "kind", "println");
			json_text(j, "value", run->entry[i].text);
		}
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static int execute(struct request *rq, struct err *err)
{
	struct run run = {.rq = rq};
	const struct script_host host = {
		.user = &run, .print = print_text, .create = create_file, .close = close_file};
	const struct script_data data = {
		.context = rq->context, .name = rq->file_name, .ask = ask, .ask_user = rq};
	const struct script_options o = {.host = &host,
					 .data = &data,
					 .n_data = 1,
					 .max_memory_bytes = MAX_MEMORY_BYTES,
					 .max_ns = MAX_NS,
					 .max_output_bytes = MAX_OUTPUT_BYTES,
					 .cancel = rq->context.cancel};
	struct script_result result;
	struct script *s = NULL;
	int r = script_create(&o, &s, err);

	if (r == 0) {
		script_run(s, "script", rq->body ? rq->body : "", rq->body_len, &result);
		if (run.is_out_of_memory)
			r = err_set_memory(err, MAX_OUTPUT_BYTES);
		else
			put_result(&run, &result);
	}
	script_destroy(s);
	run_fini(&run);
	return r;
}

int data_execute_script(struct request *rq, struct err *err)
{
	int r;

	if (!rq->script_files)
		return err_set(err, ERR_REFUSED, "there is no server to run scripts");
	if (atomic_fetch_add(&n_running, 1) >= MAX_SCRIPTS) {
		atomic_fetch_sub(&n_running, 1);
		request_refuse(rq, 503, NULL, NULL, NULL);
		return err_set(err, ERR_USAGE,
			       "%u scripts run already; wait for one to end, or cancel it",
			       MAX_SCRIPTS);
	}
	r = execute(rq, err);
	atomic_fetch_sub(&n_running, 1);
	return r;
}

/* Files that browsers show are SVG images and plain texts; others are saved. */
int data_script_file(struct request *rq, struct err *err)
{
	int r;

	if (!rq->script_files)
		return err_set(err, ERR_REFUSED, "there is no server to run scripts");
	answer_set_type(rq->answer,
			is_image(rq->value[2]) ? "image/svg+xml" : "application/octet-stream",
			is_image(rq->value[2]) ? NULL : rq->value[2]);
	r = script_files_write(rq->script_files, rq->value[1], rq->out, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 404, "hash", rq->value[1], NULL);
	return r;
}

/* ---- filters as scripts ---- */

/* A text of Lua. Bytes that JSON or a terminal would change become escapes. */
static void put_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static bool is_condition(const char *name)
{
	size_t n;
	const struct filter_parameter *p = filter_parameters(&n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(p[i].name, name) == 0)
			return true;
	}
	return false;
}

/* The function with the conditions of the request as a table. */
static void put_call(struct request *rq, const char *function, FILE *out)
{
	bool has_one = false;

	fputs(function, out);
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		const struct url_pair *p = &rq->url.pair[i];

		/* the last value of a name counts; an empty one is no condition */
		if (!is_condition(p->name) || !p->value[0] ||
		    url_find(&rq->url, p->name) != p->value)
			continue;
		fputs(has_one ? "" : "{\n", out);
		fprintf(out, "\t%s = ", p->name);
		put_quoted(out, p->value);
		fputs(",\n", out);
		has_one = true;
	}
	fputs(has_one ? "}" : "()", out);
}

static int filter_to_script(struct request *rq, const char *function, struct err *err)
{
	char *code = NULL;
	size_t len;
	FILE *out;
	int r = request_filter(rq, err);

	if (r < 0)
		return r;
	out = open_memstream(&code, &len);
	if (!out)
		return err_set_memory(err, BUFSIZ);
	put_call(rq, function, out);
	if (fclose(out) == 0) {
		json_object(&rq->json, NULL);
		json_text(&rq->json, "prologue", "");
		json_text(&rq->json, "code", code);
		json_end_object(&rq->json);
	} else {
		r = err_set_memory(err, len);
	}
	free(code);
	return r;
}

int data_allocation_filter_to_script(struct request *rq, struct err *err)
{
	return filter_to_script(rq, "allocations", err);
}

int data_map_filter_to_script(struct request *rq, struct err *err)
{
	return filter_to_script(rq, "maps", err);
}
