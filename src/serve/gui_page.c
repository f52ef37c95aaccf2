/* serve/gui_page.c - the web GUI: its files from the binary, and what "/" says without them. */
#include "serve/handlers.h"

#include <stdlib.h>

#include "gui/gui_files.h"

static const char no_gui[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<title>memory-profiler</title></head><body><h1>memory-profiler</h1>\n"
	"<p>This build has no GUI: Node was not there when it was built. The API is complete.</p>\n"
	"<ul><li><a href=\"/list\">/list</a>: the recordings</li>\n"
	"<li><a href=\"/api/v1/openapi.json\">/api/v1/openapi.json</a>: everything that can be "
	"asked</li>\n"
	"<li><a href=\"/data/last/export/html\">/data/last/export/html</a>: a report of the last "
	"recording</li></ul>\n"
	"<p>To build the GUI, install nodejs and npm, and run make again.</p></body></html>\n";

static int write_file(struct request *rq, const struct gui_file *file, struct err *err)
{
	char *text;
	int r = gui_file_unpack(file, &text, err);

	if (r < 0)
		return r;
	fwrite(text, 1, file->len, rq->out);
	free(text);
	return 0;
}

/* "/" is index.html; the other paths are names of files. */
int gui_page_answer(struct request *rq, struct err *err)
{
	const char *path = rq->route->path;
	const struct gui_file *file = gui_file_find(path[1] ? path + 1 : "index.html");

	if (file)
		return write_file(rq, file, err);
	if (!path[1]) {
		fputs(no_gui, rq->out);
		return 0;
	}
	request_refuse(rq, 404, NULL, NULL, NULL);
	return err_set(err, ERR_USAGE, "this build has no GUI");
}
