/* serve/v1_source.c - /api/v1: a source file with what its lines cost. */
#include "query/by_function.h"
#include "serve/handlers.h"
#include "serve/source_file.h"
#include "serve/v1_json.h"

#include <string.h>

static void put_text(struct request *rq, const struct source_file *f)
{
	const char *end = f->text ? f->text + f->len : NULL;

	json_array(&rq->json, "text");
	for (const char *line = f->text; line < end && !request_is_over(rq);) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;

		json_bytes(&rq->json, NULL, line,
			   (size_t)(stop - line) - (stop > line && stop[-1] == '\r'));
		line = stop + 1;
	}
	json_end_array(&rq->json);
}

static void put_source(struct request *rq, const char *file, const struct source_file *f,
		       const struct query_lines *lines)
{
	bool is_newer = f->text && f->changed_ns > store_facts(rq->store)->start_realtime_ns;
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_text(j, "file", file);
	json_bool(j, "found", f->text != NULL);
	json_text(j, "path", f->text ? f->path : NULL);
	json_text(j, "reason",
		  f->reason[0] ? f->reason
		  : is_newer   ? "it was changed after the recording began: lines may have moved"
			       : NULL);
	json_u64(j, "first_line", 1);
	put_text(rq, f);
	v1_json_lines(j, "lines", lines, false);
	json_end_object(j);
}

int v1_source(struct request *rq, struct err *err)
{
	const char *file = url_find(&rq->url, "file");
	struct query_lines lines = {0};
	struct source_file f = {0};
	int r;

	if (!file || !*file) {
		request_refuse(rq, 400, "file", file, "the path of a source file");
		return err_set(err, ERR_USAGE, "file: which one?");
	}
	r = request_query(rq, err);
	if (r < 0)
		return r;
	query_want(rq->query, QUERY_WANT_PEAK);
	/* First: a file that the recording does not name is not looked at. */
	r = query_lines_of_file(rq->query, file, &lines, err);
	if (r == -ERR_USAGE)
		request_refuse(rq, 404, "file", file, "a source that a frame has");
	if (r == 0 && rq->sources)
		r = source_file_read(rq->sources, file, &f, err);
	else if (r == 0)
		snprintf(f.reason, sizeof(f.reason), "this page has no source files in it");
	if (r == 0)
		put_source(rq, file, &f, &lines);
	source_file_fini(&f);
	query_lines_fini(&lines);
	return r;
}
