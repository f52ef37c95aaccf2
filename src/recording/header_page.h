/* recording/header_page.h - reads and judges the first page of a recording.
 *
 * Only this module decides whether a file is a recording that this program reads; if it is not, the
 * error says why and what to do.
 */
#ifndef RECORDING_HEADER_PAGE_H
#define RECORDING_HEADER_PAGE_H

#include "format/file_header.h"
#include "util/file.h"

struct header_page {
	struct file_header header;
	struct file_status status; /* if has_status */
	bool has_status;
	size_t n_bytes; /* of the page, as far as the file has them */
};

/* ERR_FOREIGN: no recording. ERR_FORMAT: too short or damaged. ERR_VERSION: of a version that this
 * program does not read. ERR_IO. Errors do not name the file. */
int header_page_read(const struct file *f, struct header_page *ret, struct err *err);

#endif
