/* ingest/late_ends.c - see late_ends.h. */
#include "ingest/late_ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/columns.h"
#include "util/temp_file.h"
#include "util/vec.h"

#define PAGE_ENTRIES 100u /* about 4 KiB */

struct late_ends_page {
	uint64_t previous; /* offset in the file of the bin's page before this one, + 1; 0: none */
	uint32_t n;
	struct late_ends_entry entry[PAGE_ENTRIES];
};

struct late_ends_bin {
	struct late_ends_page *page; /* that is being filled; NULL: none yet */
	uint64_t last; /* offset of its last page in the file, + 1; 0: none */
	uint64_t n;
};

struct late_ends {
	struct late_ends_bin *bin;
	size_t n_bins, cap_bins;
	int fd;
	uint64_t file_bytes;
	struct late_ends_entry *sorted; /* of one bin */
	size_t cap_sorted;
	struct late_ends_entry *raw;
	size_t cap_raw;
	uint32_t *count; /* by block, for sorting */
	const char *folder;
};

int late_ends_create(const char *folder, struct late_ends **ret, struct err *err)
{
	struct late_ends *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set_memory(err, sizeof(*l));
	l->fd = -1;
	l->folder = folder;
	*ret = l;
	return 0;
}

void late_ends_destroy(struct late_ends *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_bins; i++)
		free(l->bin[i].page);
	if (l->fd >= 0)
		close(l->fd);
	free(l->bin);
	free(l->sorted);
	free(l->raw);
	free(l->count);
	free(l);
}

static int add_bins(struct late_ends *l, size_t n, struct err *err)
{
	int r = vec_reserve(&l->bin, &l->cap_bins, n, sizeof(*l->bin), err);

	if (r < 0)
		return r;
	memset(l->bin + l->n_bins, 0, (n - l->n_bins) * sizeof(*l->bin));
	l->n_bins = n;
	return 0;
}

static int write_page(struct late_ends *l, struct late_ends_bin *bin, struct err *err)
{
	int r = 0;

	if (l->fd < 0)
		r = temp_file_create(l->folder, &l->fd, err);
	if (r < 0)
		return r;
	bin->page->previous = bin->last;
	r = temp_file_write(l->fd, l->file_bytes, bin->page, sizeof(*bin->page), err);
	if (r < 0)
		return r;
	bin->last = l->file_bytes + 1;
	l->file_bytes += sizeof(*bin->page);
	bin->page->n = 0;
	return 0;
}

int late_ends_add(struct late_ends *l, uint64_t row, const struct row_end *end, struct err *err)
{
	const uint64_t bin_rows = (uint64_t)LATE_ENDS_BIN_BLOCKS * STORE_BLOCK_ROWS;
	size_t number = (size_t)(row / bin_rows);
	struct late_ends_bin *bin;
	int r = 0;

	if (number >= l->n_bins)
		r = add_bins(l, number + 1, err);
	if (r < 0)
		return r;
	bin = &l->bin[number];
	if (!bin->page) {
		bin->page = calloc(1, sizeof(*bin->page));
		if (!bin->page)
			return err_set_memory(err, sizeof(*bin->page));
	}
	if (bin->page->n == PAGE_ENTRIES)
		r = write_page(l, bin, err);
	if (r < 0)
		return r;
	bin->page->entry[bin->page->n++] =
		(struct late_ends_entry){.end = *end, .row = (uint32_t)(row % bin_rows)};
	bin->n++;
	return 0;
}

/* Puts the entries of a bin into l->raw, in the order in which they came. The last page is in
 * memory; each page in the file leads to the one before it, so raw is filled from its end. */
static int gather(struct late_ends *l, struct late_ends_bin *bin, struct err *err)
{
	struct late_ends_page *page = malloc(sizeof(*page));
	uint64_t at = bin->n, next = bin->last;
	int r = page ? 0 : err_set_memory(err, sizeof(*page));

	if (r == 0 && bin->page) {
		at -= bin->page->n;
		memcpy(&l->raw[at], bin->page->entry, bin->page->n * sizeof(*l->raw));
	}
	while (r == 0 && next) {
		r = temp_file_read(l->fd, next - 1, page, sizeof(*page), err);
		if (r < 0)
			break;
		at -= page->n;
		memcpy(&l->raw[at], page->entry, page->n * sizeof(*l->raw));
		next = page->previous;
	}
	free(page);
	return r;
}

/* Sorts l->raw by block into l->sorted: a counting sort, which keeps the order inside a block. */
static int sort_by_block(struct late_ends *l, size_t n, struct err *err)
{
	uint32_t sum = 0;

	if (!l->count)
		l->count = malloc(LATE_ENDS_BIN_BLOCKS * sizeof(*l->count));
	if (!l->count)
		return err_set_memory(err, LATE_ENDS_BIN_BLOCKS * sizeof(*l->count));
	memset(l->count, 0, LATE_ENDS_BIN_BLOCKS * sizeof(*l->count));
	for (size_t i = 0; i < n; i++)
		l->count[l->raw[i].row / STORE_BLOCK_ROWS]++;
	for (size_t b = 0; b < LATE_ENDS_BIN_BLOCKS; b++) {
		uint32_t here = l->count[b];

		l->count[b] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		l->sorted[l->count[l->raw[i].row / STORE_BLOCK_ROWS]++] = l->raw[i];
	return 0;
}

int late_ends_read(struct late_ends *l, uint64_t bin, const struct late_ends_entry **ret, size_t *n,
		   struct err *err)
{
	size_t n_entries = bin < l->n_bins ? l->bin[bin].n : 0;
	int r = 0;

	*n = 0;
	*ret = NULL;
	if (!n_entries)
		return 0;
	r = vec_reserve(&l->raw, &l->cap_raw, n_entries, sizeof(*l->raw), err);
	if (r == 0)
		r = vec_reserve(&l->sorted, &l->cap_sorted, n_entries, sizeof(*l->sorted), err);
	if (r == 0)
		r = gather(l, &l->bin[bin], err);
	if (r == 0)
		r = sort_by_block(l, n_entries, err);
	if (r < 0)
		return r;
	*n = n_entries;
	*ret = l->sorted;
	return 0;
}
