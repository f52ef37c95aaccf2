/* record/rotation.c - see rotation.h. */
#include "record/rotation.h"

#include <string.h>

#include "record/log.h"
#include "record/options.h"
#include "record/output_file.h"
#include "record/own_memory.h"

#define MIN_ROTATE_BYTES (2 * MIB) /* half of these are the blocks that threads fill */
#define RETRY_NS (10 * NS_PER_S)
#define PAGE_TEXT_BYTES (4096 - 16)

/* Paths, each ended by a zero byte. [begin, end) are left. */
struct rotation_page {
	struct rotation_page *next;
	uint32_t begin, end;
	char text[PAGE_TEXT_BYTES];
};

_Static_assert(RECORD_PATH_BYTES <= PAGE_TEXT_BYTES, "a page holds at least one path");

bool rotation_is_due(const struct rotation *r, const struct session *s, uint64_t now_ns)
{
	uint64_t size_bytes = options_active.ROTATE_SIZE;
	uint64_t interval_s = options_active.ROTATE_INTERVAL;

	if (now_ns < r->not_before_ns)
		return false;
	if (interval_s != OPTIONS_U64_UNSET && interval_s &&
	    (now_ns - r->began_ns) / NS_PER_S >= interval_s)
		return true;
	if (size_bytes == OPTIONS_U64_UNSET || !size_bytes)
		return false;
	if (size_bytes < MIN_ROTATE_BYTES)
		size_bytes = MIN_ROTATE_BYTES;
	/* binaries do not count: they would begin a new piece before they are complete */
	return s->end_offset - s->bytes_embedded >= size_bytes;
}

/* Appends a path. Without memory the piece is forgotten: it stays. */
static void add_path(struct rotation *r, const char *path)
{
	size_t n_bytes = strlen(path) + 1;
	struct rotation_page *page = r->last;

	if (!page || page->end + n_bytes > PAGE_TEXT_BYTES) {
		page = own_memory_map(sizeof(*page));
		if (!page)
			return;
		if (r->last)
			r->last->next = page;
		else
			r->first = page;
		r->last = page;
	}
	memcpy(page->text + page->end, path, n_bytes);
	page->end += (uint32_t)n_bytes;
	r->n_kept++;
}

static void remove_oldest(struct rotation *r, struct recorder *rec)
{
	struct rotation_page *page = r->first;
	const char *path = page->text + page->begin;

	if (output_file_remove(rec, path))
		log_put_text(LOG_INFO, "removed the oldest piece", path);
	else
		log_put_text(LOG_WARN, "the oldest piece is gone or cannot be removed", path);
	page->begin += (uint32_t)strlen(path) + 1;
	r->n_kept--;
	if (page->begin < page->end || page == r->last)
		return;
	r->first = page->next;
	own_memory_unmap(page, sizeof(*page));
}

void rotation_on_piece(struct rotation *r, struct recorder *rec, const struct session *s,
		       uint64_t now_ns)
{
	uint64_t keep = options_active.KEEP;

	r->began_ns = now_ns;
	r->not_before_ns = 0;
	if (keep == OPTIONS_U64_UNSET || keep == 0)
		return;
	add_path(r, s->path);
	while (r->n_kept > keep)
		remove_oldest(r, rec);
}

void rotation_on_failure(struct rotation *r, uint64_t now_ns)
{
	r->not_before_ns = now_ns + RETRY_NS;
}

bool rotation_embeds_again(uint32_t piece)
{
	uint64_t keep = options_active.KEEP;

	return keep != OPTIONS_U64_UNSET && keep > 0 && piece % keep == 0;
}
