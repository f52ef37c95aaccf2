/* recording/header_page.c - see header_page.h. */
#include "recording/header_page.h"

#include <inttypes.h>

#include "recording/file_kind.h"

static int refuse(const uint8_t *page, size_t len, enum file_header_result result,
		  const struct file_header *h, struct err *err)
{
	switch (result) {
	case FILE_HEADER_FOREIGN:
		return err_set(err, ERR_FOREIGN, "offset 0: not a recording; %s",
			       file_kind_hint(page, len));
	case FILE_HEADER_SHORT:
		return err_set(
			err, ERR_FORMAT,
			"offset %zu: the file ends inside its header (%d bytes are needed); it was "
			"cut when copied, or the recorder could not write: see its log",
			len, FILE_HEADER_FIXED_BYTES);
	case FILE_HEADER_OLDER:
		return err_set(err, ERR_VERSION,
			       "offset 8: recording of format %u.%u; this program reads format %d: "
			       "open it with the memory-profiler-cli of the release that recorded "
			       "it, or record again",
			       h->version_major, h->version_minor, FORMAT_VERSION_MAJOR);
	case FILE_HEADER_NEWER:
		return err_set(err, ERR_VERSION,
			       "offset 8: recording of format %u.%u with features 0x%" PRIx64
			       "; this program reads format %d: use a newer memory-profiler-cli",
			       h->version_major, h->version_minor, h->features_required,
			       FORMAT_VERSION_MAJOR);
	default:
		return err_set(
			err, ERR_FORMAT,
			"offset 0: the header is damaged (bad checksum at offset 124); copy the "
			"recording again from where it was made");
	}
}

int header_page_read(const struct file *f, struct header_page *ret, struct err *err)
{
	uint8_t page[FORMAT_HEADER_BYTES];
	enum file_header_result result;
	struct header_page p = {0};
	int r;

	if (f->size_bytes == 0)
		return err_set(err, ERR_FORMAT,
			       "is empty: nothing was recorded; run the program again and see the "
			       "recorder's log");
	r = file_read(f, 0, page, sizeof(page), &p.n_bytes, err);
	if (r < 0)
		return r;
	result = file_header_decode(page, p.n_bytes, &p.header);
	if (result != FILE_HEADER_OK)
		return refuse(page, p.n_bytes, result, &p.header, err);
	if (p.header.header_bytes < FILE_HEADER_FIXED_BYTES)
		return err_set(err, ERR_FORMAT,
			       "offset 12: a header of %" PRIu32 " bytes is too short",
			       p.header.header_bytes);
	p.has_status = file_status_decode(page, p.n_bytes, &p.status);
	*ret = p;
	return 0;
}
