/* gui/gui_files.h - the files of the web GUI, inside the binary.
 *
 * ui/ holds the sources. The build bundles them with Node into a few files, compresses the files,
 * and compiles them in (tools/embed_gui.py). A build without Node has no files: gui_file_find()
 * finds none, and the server has its API only. Threads: any number of readers.
 */
#ifndef GUI_GUI_FILES_H
#define GUI_GUI_FILES_H

#include "util/err.h"

struct gui_file {
	const char *name; /* "index.html", "app.js", "app.css", "questions.txt" */
	const char *content_type;
	const uint8_t *gzip; /* the content, compressed */
	size_t gzip_len;
	size_t len; /* of the content itself */
};

/* NULL: there is no such file, or this build has no GUI. */
const struct gui_file *gui_file_find(const char *name);

/* Unpacks the content, with a zero byte at the end, to free(). -ERR_MEMORY; -ERR_FORMAT: a broken
 * build. */
int gui_file_unpack(const struct gui_file *file, char **ret, struct err *err);

/* All files; *n is 0 in a build without the GUI. */
const struct gui_file *gui_files(size_t *n);

#endif
