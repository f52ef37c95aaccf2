/* recording/header_page.h - the first page of a recording, read and judged.
 *
 * The one place that decides whether a file is a recording that this program reads, and that says
 * why not and what to do about it.
 */
#ifndef RECORDING_HEADER_PAGE_H
#define RECORDING_HEADER_PAGE_H

#include "format/file_header.h"
#include "util/file.h"

struct header_page {
	struct file_header header;
	struct file_status status; /* only with has_status */
	bool has_status;
	size_t n_bytes; /* of the page that are in the file */
};

/* ERR_FOREIGN: no recording. ERR_FORMAT: cut or damaged. ERR_VERSION: of a version that this program
 * does not read. Errors do not name the file. */
int header_page_read(const struct file *f, struct header_page *ret, struct err *err);

#endif
