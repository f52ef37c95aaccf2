/* serve/data_maps.c - the address space: /maps (2023) and /regions.
 *
 * The recorder looks at the memory map now and then and keeps the last look, so /maps has what was
 * mapped then, and how much of it was resident; when it was mapped is not recorded (null).
 */
#include "serve/handlers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "query/regions.h"

struct maps_choice {
	const struct store_region *region;
	size_t index;
};

static void put_rights(struct json *j, const struct store_region *m)
{
	json_bool(j, "is_readable", m->prot & PROT_READ);
	json_bool(j, "is_writable", m->prot & PROT_WRITE);
	json_bool(j, "is_executable", m->prot & PROT_EXEC);
	json_bool(j, "is_shared", m->is_shared);
}

static void put_address(struct json *j, uint64_t addr)
{
	char text[20];

	snprintf(text, sizeof(text), "%016" PRIX64, addr);
	json_u64(j, "address", addr);
	json_text(j, "address_s", text);
}

static void put_region(struct request *rq, const struct store_region *m)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	put_address(j, m->start);
	json_u64(j, "size", m->end - m->start);
	put_rights(j, m);
	json_u64(j, "file_offset", m->offset);
	json_u64(j, "inode", m->inode);
	json_u64(j, "major", m->device_major);
	json_u64(j, "minor", m->device_minor);
	json_text(j, "name", store_string(rq->store, m->name, NULL));
	json_end_object(j);
}

static void put_map(struct request *rq, const struct maps_choice *c, bool has_regions,
		    bool has_history)
{
	struct json *j = &rq->json;

	json_object(j, NULL);
	json_u64(j, "id", c->index);
	put_address(j, c->region->start);
	json_null(j, "timestamp");
	json_null(j, "timestamp_relative");
	json_null(j, "timestamp_relative_p");
	json_u64(j, "size", c->region->end - c->region->start);
	put_rights(j, c->region);
	json_text(j, "name", store_string(rq->store, c->region->name, NULL));
	if (c->region->peak_rss_bytes == UINT64_MAX)
		json_null(j, "peak_rss");
	else
		json_u64(j, "peak_rss", c->region->peak_rss_bytes);
	json_null(j, "graph_preview_url");
	json_null(j, "graph_url");
	if (has_regions) {
		json_array(j, "regions");
		put_region(rq, c->region);
		json_end_array(j);
	}
	if (has_history) {
		json_array(j, "usage_history");
		json_end_array(j);
	}
	json_end_object(j);
}

static int compare_by_address(const void *a, const void *b)
{
	const struct maps_choice *x = a, *y = b;

	return x->region->start < y->region->start ? -1 : x->region->start > y->region->start;
}

static int compare_by_size(const void *a, const void *b)
{
	const struct maps_choice *x = a, *y = b;
	uint64_t n = x->region->end - x->region->start, m = y->region->end - y->region->start;

	return n != m ? (n < m ? -1 : 1) : compare_by_address(a, b);
}

/* What is not known comes first, so last in descending order. */
static int compare_by_peak(const void *a, const void *b)
{
	const struct maps_choice *x = a, *y = b;
	uint64_t n = x->region->peak_rss_bytes + 1, m = y->region->peak_rss_bytes + 1;

	return n != m ? (n < m ? -1 : 1) : compare_by_address(a, b);
}

static bool is_in(const struct filter_range *r, uint64_t value)
{
	return !(r->has_min && value < r->min) && !(r->has_max && value > r->max);
}

/* The conditions of the 2023 map filter that what is recorded can answer. */
struct map_conditions {
	unsigned right[3]; /* 0: any, 1: only_true, 2: only_false */
	uint64_t id;
};

static int read_conditions(struct request *rq, struct map_conditions *c, struct err *err)
{
	static const char *const name[] = {"readable", "writable", "executable"};
	int r = request_u64(rq, "id", UINT64_MAX, UINT64_MAX, &c->id, err);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(name); i++)
		r = request_choice(rq, name[i], "any|only_true|only_false", 0, &c->right[i], err);
	return r == 0 ? request_filter(rq, err) : r;
}

static bool map_fits(const struct request *rq, const struct map_conditions *c,
		     const struct store_region *m, size_t index)
{
	static const uint32_t bit[] = {PROT_READ, PROT_WRITE, PROT_EXEC};

	for (size_t i = 0; i < ARRAY_LEN(bit); i++) {
		if (c->right[i] && (c->right[i] == 1) != ((m->prot & bit[i]) != 0))
			return false;
	}
	return (c->id == UINT64_MAX || c->id == index) && m->end >= m->start &&
	       is_in(&rq->filter.size, m->end - m->start) && is_in(&rq->filter.address, m->start);
}

static void put_page(struct request *rq, struct maps_choice *c, size_t n,
		     const struct query_page *page, const bool with[2])
{
	json_object(&rq->json, NULL);
	json_array(&rq->json, "maps");
	for (uint64_t i = page->skip; i < n && i - page->skip < page->count; i++)
		put_map(rq, &c[page->is_descending ? n - 1 - i : i], with[0], with[1]);
	json_end_array(&rq->json);
	json_u64(&rq->json, "total_count", n);
	json_end_object(&rq->json);
}

int data_maps(struct request *rq, struct err *err)
{
	static int (*const compare[])(const void *, const void *) = {
		compare_by_address, compare_by_address, compare_by_size, compare_by_peak};
	struct map_conditions conditions;
	struct maps_choice *choice;
	struct query_page page = {0};
	size_t n, n_chosen = 0;
	const struct store_region *m = store_table(rq->store, STORE_REGIONS, &n);
	bool with[2] = {false, false};
	unsigned by = 0;
	int r = request_page(rq, &page, err);

	if (r == 0)
		r = request_choice(rq, "sort_by", REST_MAPS_SORT, 0, &by, err);
	if (r == 0)
		r = request_flag(rq, "with_regions", false, &with[0], err);
	if (r == 0)
		r = request_flag(rq, "with_usage_history", false, &with[1], err);
	if (r == 0)
		r = read_conditions(rq, &conditions, err);
	if (r < 0)
		return r;
	choice = calloc(n + 1, sizeof(*choice));
	if (!choice)
		return err_set_memory(err, n * sizeof(*choice));
	for (size_t i = 0; i < n; i++) {
		if (map_fits(rq, &conditions, &m[i], i))
			choice[n_chosen++] = (struct maps_choice){&m[i], i};
	}
	qsort(choice, n_chosen, sizeof(*choice), compare[by]);
	put_page(rq, choice, n_chosen, &page, with);
	free(choice);
	return 0;
}

/* ---- regions ---- */

#define GAP_BYTES 16u /* glibc puts 8 bytes of its own between blocks, and rounds */

static bool put_range(void *user, uint64_t start, uint64_t end)
{
	struct request *rq = user;

	json_array(&rq->json, NULL);
	json_u64(&rq->json, NULL, start);
	json_u64(&rq->json, NULL, end);
	json_end_array(&rq->json);
	return !request_is_over(rq);
}

static void put_heap(struct request *rq)
{
	struct json *j = &rq->json;
	uint64_t start = 0, end = 0;
	char text[24];
	size_t n;
	const struct store_region *m = store_table(rq->store, STORE_REGIONS, &n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(store_string(rq->store, m[i].name, NULL), "[heap]") == 0) {
			start = m[i].start;
			end = m[i].end;
		}
	}
	json_u64(j, "main_heap_start", start);
	json_u64(j, "main_heap_end", end);
	snprintf(text, sizeof(text), "%" PRIu64, start);
	json_text(j, "main_heap_start_s", text);
	snprintf(text, sizeof(text), "%" PRIu64, end);
	json_text(j, "main_heap_end_s", text);
}

int data_regions(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	uint64_t gap;
	int r = request_u64(rq, "gap", GAP_BYTES, UINT32_MAX, &gap, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	put_heap(rq);
	json_array(j, "regions");
	r = regions_each(rq->query, gap, put_range, rq, err);
	json_end_array(j);
	json_end_object(j);
	return r;
}
