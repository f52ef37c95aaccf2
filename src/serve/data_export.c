/* serve/data_export.c - /export/{format} and the ASCII tree: what src/export/ writes, over HTTP. */
#include "base/text.h"
#include "serve/handlers.h"
#include "serve/offline.h"

#include <string.h>

#include "export/export.h"

static int read_options(struct request *rq, struct export_options *o, struct err *err)
{
	for (size_t i = 0; i < rq->url.n_pairs; i++) {
		const struct url_pair *p = &rq->url.pair[i];
		int r = export_set(o, p->name, p->value, err);

		if (r == -ERR_USAGE)
			request_refuse(rq, 400, p->name, p->value, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

#define SAFE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+"

/* Formats that only other programs read are saved and not shown, as koute's server had it. */
static bool is_download(const struct export_format *f)
{
	return strcmp(f->name, "heaptrack") == 0 || strcmp(f->name, "collapsed") == 0 ||
	       f->flags & EXPORT_BINARY;
}

/* The name that the address suggests, or that of the recording with the format's ending. */
static void name_download(const struct request *rq, const struct export_format *f,
			  char name[ANSWER_FILE_NAME_BYTES])
{
	const char *wish = rq->value[2];

	if (wish && wish[0] != '.' && wish[strspn(wish, SAFE_CHARACTERS)] == '\0')
		snprintf(name, ANSWER_FILE_NAME_BYTES, "%s", wish);
	else
		snprintf(name, ANSWER_FILE_NAME_BYTES, "%.90s%s",
			 rq->file_name ? rq->file_name : "recording", f->suffix);
	for (char *c = name; *c; c++) {
		if (!strchr(SAFE_CHARACTERS, *c))
			*c = '_';
	}
}

static int write_export(struct request *rq, const struct export_format *f, struct err *err)
{
	char file_name[ANSWER_FILE_NAME_BYTES];

	struct offline offline = {.context = &rq->context,
				  .file_name = rq->file_name,
				  .filter = rq->url.pair,
				  .n_filter = rq->url.n_pairs};
	struct export_options o = {.context = &rq->context,
				   .filter = &rq->filter,
				   .title = rq->file_name,
				   .answer = offline_answer,
				   .answer_user = &offline};
	int r = read_options(rq, &o, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	name_download(rq, f, file_name);
	if (is_download(f))
		answer_set_type(rq->answer,
				f->flags & EXPORT_BINARY ? f->content_type
							 : "application/octet-stream",
				file_name);
	else
		answer_set_type(rq->answer, f->content_type, NULL);
	r = export_write(f, rq->query, &o, rq->out, err);
	if (r == -ERR_REFUSED) /* a format that this build lacks: html without the GUI */
		request_refuse(rq, 404, "format", f->name, NULL);
	return r;
}

static void list_formats(char *buf, size_t len)
{
	size_t n, at = 0;
	const struct export_format *f = export_formats(&n);

	for (size_t i = 0; i < n && at < len; i++) {
		int more = snprintf(buf + at, len - at, "%s%s", i ? "|" : "", f[i].name);

		at += more > 0 ? (size_t)more : 0;
	}
}

int data_export(struct request *rq, struct err *err)
{
	const struct export_format *f = export_find(rq->value[1]);
	char valid[400];

	if (f)
		return write_export(rq, f, err);
	list_formats(valid, sizeof(valid));
	request_refuse(rq, 404, "format", rq->value[1], valid);
	return err_set(err, ERR_USAGE, "there is no export format '%.100s'", rq->value[1]);
}

int data_ascii_tree(struct request *rq, struct err *err)
{
	const struct export_format *f = export_find("ascii-tree");

	if (!f)
		f = export_find("tree");
	if (!f)
		return err_set(err, ERR_REFUSED, "this build has no ASCII tree");
	return write_export(rq, f, err);
}
