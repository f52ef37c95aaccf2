/* ingest/live_cold.c - see live_cold.h. */
#include "ingest/live_cold.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "util/big_vec.h"
#include "util/spill.h"
#include "util/temp_file.h"
#include "util/vec.h"

#define BLOCKS_PER_MISS 4u /* see is_merge_due() */
#define MAX_BLOCK_BYTES 96u /* of a packed block: 9 numbers of at most 10 bytes, and 3 bytes */
#define OUT_BYTES ((size_t)64 << 10) /* of a run are written at a time */
#define STEP_BYTES ((size_t)1 << 20) /* by which a run grows while it is written */
/* A fault brings in up to so many bytes of a file. After TRIM_BYTES the files are dropped from
 * memory. */
#define FAULT_BYTES ((size_t)64 << 10)
#define TRIM_BYTES ((size_t)48 << 20)
#define MIN_LINES ((size_t)1 << 9)
#define KEYS_PER_LINE 32u /* 16 bits per address: one or two wrong answers in a hundred */
#define REGION_SHIFT                                                                               \
	10u /* addresses of one KiB share a line, so that neighbours are in the cache */
#define NO_PAGE SIZE_MAX

struct page_ref {
	uint64_t first_addr;
	uint64_t offset; /* in run.bytes */
};

struct run {
	struct spill *bytes, *index, *gone; /* pages, struct page_ref per page, bit per block */
	size_t n_bytes, n_pages;
	uint8_t *out; /* OUT_BYTES and a page: the last n_out bytes; NULL: the run is complete */
	size_t n_out;
	uint64_t n, n_left; /* blocks; those that are not gone */
	uint64_t first_addr, last_addr;
	size_t page_number; /* of the page that is unpacked; NO_PAGE: none */
	size_t fault; /* where it was read, in units of FAULT_BYTES */
	struct live_block page[LIVE_COLD_PAGE_BLOCKS];
};

struct filter_line {
	uint64_t word[8]; /* a cache line */
};

struct live_cold {
	const char *folder;
	size_t run_budget_bytes; /* all runs in memory together */
	size_t max_lines;
	struct run **run; /* in order of age */
	size_t n_runs, cap_runs;
	uint64_t n_misses; /* looks at a run that does not hold the address, since the last merge */
	bool cannot_merge; /* there was no room */
	uint64_t n; /* blocks in all runs that are not gone */
	struct filter_line *filter; /* one line per address, four bits of it */
	size_t n_lines, cap_lines; /* a power of two */
	uint64_t n_in_filter; /* addresses, including those that are gone */
	size_t n_all_bytes; /* of all runs */
	size_t n_read_bytes; /* of files, since the last trim */
};

int live_cold_create(const char *folder, size_t budget_bytes, struct live_cold **ret,
		     struct err *err)
{
	struct live_cold *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set_memory(err, sizeof(*c));
	c->folder = folder ? folder : temp_file_folder();
	c->run_budget_bytes = budget_bytes / 2;
	c->max_lines = budget_bytes / 2 / sizeof(struct filter_line);
	*ret = c;
	return 0;
}

static void destroy_run(struct run *r)
{
	if (!r)
		return;
	spill_destroy(r->bytes);
	spill_destroy(r->index);
	spill_destroy(r->gone);
	free(r->out);
	free(r);
}

void live_cold_destroy(struct live_cold *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_runs; i++)
		destroy_run(c->run[i]);
	free(c->run);
	big_vec_free(c->filter, c->cap_lines, sizeof(*c->filter));
	free(c);
}

uint64_t live_cold_count(const struct live_cold *c)
{
	return c->n;
}

static void each_addr(struct live_cold *c, void (*visit)(struct live_cold *c, uint64_t addr));

/* ---- the filter ---- */

static inline struct filter_line *line_of(const struct live_cold *c, uint64_t addr)
{
	uint64_t hash = (addr >> REGION_SHIFT) * 0x9e3779b97f4a7c15ull;

	return &c->filter[hash >> 32 & (c->n_lines - 1)];
}

/* Four numbers of a bit in a line, nine bits each. */
static inline uint64_t hash_bits(uint64_t addr)
{
	return (addr ^ addr >> 20) * 0xd6e8feb86659fd93ull >> 28;
}

static inline uint64_t has_bit(const struct filter_line *line, uint64_t number)
{
	return line->word[number >> 6 & 7] >> (number & 63);
}

static inline void set_bit(struct filter_line *line, uint64_t number)
{
	line->word[number >> 6 & 7] |= 1ull << (number & 63);
}

bool live_cold_may_hold(const struct live_cold *c, uint64_t addr)
{
	const struct filter_line *line = line_of(c, addr);
	uint64_t bits = hash_bits(addr);

	return has_bit(line, bits) & has_bit(line, bits >> 9) & has_bit(line, bits >> 18) &
	       has_bit(line, bits >> 27) & 1;
}

static void add_to_filter(struct live_cold *c, uint64_t addr)
{
	struct filter_line *line = line_of(c, addr);
	uint64_t bits = hash_bits(addr);

	for (unsigned i = 0; i < 4; i++, bits >>= 9)
		set_bit(line, bits);
	c->n_in_filter++;
}

/* Makes room in the filter for n addresses that will be added. It is made anew, from the addresses
 * that are not gone, when it is full. */
static int reserve_filter(struct live_cold *c, uint64_t n, struct err *err)
{
	size_t n_lines = c->n_lines ? c->n_lines : MIN_LINES;
	int r;

	if (c->n_lines && (c->n_in_filter + n) / KEYS_PER_LINE < c->n_lines)
		return 0;
	while (n_lines * KEYS_PER_LINE < 2 * (c->n + n) && n_lines * 2 <= c->max_lines)
		n_lines *= 2;
	if (n_lines == c->n_lines && c->n_in_filter < 2 * c->n)
		return 0; /* as large as it may be, and little in it is gone */
	r = big_vec_reserve(&c->filter, &c->cap_lines, n_lines, sizeof(*c->filter), err);
	if (r < 0)
		return r;
	memset(c->filter, 0, n_lines * sizeof(*c->filter));
	c->n_lines = n_lines;
	c->n_in_filter = 0;
	each_addr(c, add_to_filter);
	return 0;
}

/* ---- pages ---- */

/* What a block has, besides the fields that are always there. Most blocks have none of these. */
enum {
	HAS_TAG = 1,
	HAS_CHAIN = 2,
	HAS_THREAD = 4,
	HAS_STACK = 8,
	HAS_EXTRA = 16,
	HAS_KIND = 32,
	HAS_ALLOCATOR = 64,
};

/* A page: the differences of the addresses, each to the one before (the index has the first); then
 * the other fields of each block, most of them as differences, too. A search unpacks the addresses
 * only. get_fields() reads what put_fields() writes. */
static uint8_t *put_fields(uint8_t *p, const struct live_block *b, const struct live_block *before)
{
	uint8_t *has = p++;

	p = uleb_put(p, b->size_bytes);
	p = uleb_put(p, zigzag((int64_t)(b->at_ns - before->at_ns)));
	p = uleb_put(p, zigzag((int64_t)(b->ordinal - before->ordinal)));
	*has = (uint8_t)((b->tag != before->tag ? HAS_TAG : 0) | (b->chain ? HAS_CHAIN : 0) |
			 (b->thread != before->thread ? HAS_THREAD : 0) |
			 (b->stack != before->stack ? HAS_STACK : 0) |
			 (b->extra_bytes != before->extra_bytes ? HAS_EXTRA : 0) |
			 (b->kind != before->kind ? HAS_KIND : 0) |
			 (b->allocator != before->allocator ? HAS_ALLOCATOR : 0));
	if (*has & HAS_TAG)
		p = uleb_put(p, zigzag((int64_t)(b->tag - before->tag)));
	if (*has & HAS_CHAIN)
		p = uleb_put(p, b->chain);
	if (*has & HAS_THREAD)
		p = uleb_put(p, b->thread);
	if (*has & HAS_STACK)
		p = uleb_put(p, zigzag((int64_t)b->stack - (int64_t)before->stack));
	if (*has & HAS_EXTRA)
		p = uleb_put(p, b->extra_bytes);
	if (*has & HAS_KIND)
		*p++ = b->kind;
	if (*has & HAS_ALLOCATOR)
		*p++ = b->allocator;
	return p;
}

/* The bytes are those that were written here: nothing else has access to them. */
static inline uint64_t get_number(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint64_t value = *p & 0x7f;

	for (unsigned shift = 7; *p++ & 0x80; shift += 7)
		value |= (uint64_t)(*p & 0x7f) << shift;
	*at = p;
	return value;
}

static inline uint64_t get_difference(const uint8_t **at)
{
	return (uint64_t)unzigzag(get_number(at));
}

static const uint8_t *get_fields(const uint8_t *p, const struct live_block *before,
				 struct live_block *ret)
{
	unsigned has = *p++;

	ret->size_bytes = get_number(&p);
	ret->at_ns = before->at_ns + get_difference(&p);
	ret->ordinal = before->ordinal + get_difference(&p);
	ret->tag = before->tag + (has & HAS_TAG ? get_difference(&p) : 0);
	ret->chain = has & HAS_CHAIN ? get_number(&p) : 0;
	ret->thread = has & HAS_THREAD ? (uint32_t)get_number(&p) : before->thread;
	ret->stack = before->stack + (has & HAS_STACK ? (uint32_t)get_difference(&p) : 0);
	ret->extra_bytes = has & HAS_EXTRA ? (uint32_t)get_number(&p) : before->extra_bytes;
	ret->kind = has & HAS_KIND ? *p++ : before->kind;
	ret->allocator = has & HAS_ALLOCATOR ? *p++ : before->allocator;
	return p;
}

static const struct page_ref *page_ref(const struct run *r, size_t page)
{
	return (const struct page_ref *)spill_data(r->index) + page;
}

static size_t page_blocks(const struct run *r, size_t page)
{
	uint64_t left = r->n - (uint64_t)page * LIVE_COLD_PAGE_BLOCKS;

	return left < LIVE_COLD_PAGE_BLOCKS ? (size_t)left : LIVE_COLD_PAGE_BLOCKS;
}

static void trim_runs(struct live_cold *c)
{
	for (size_t i = 0; i < c->n_runs; i++) {
		spill_trim(c->run[i]->bytes);
		spill_trim(c->run[i]->index);
	}
	c->n_read_bytes = 0;
}

static const uint8_t *page_bytes(struct live_cold *c, struct run *r, size_t page)
{
	size_t offset = page_ref(r, page)->offset;

	if (spill_is_file(r->bytes) && offset / FAULT_BYTES != r->fault) {
		r->fault = offset / FAULT_BYTES;
		c->n_read_bytes += FAULT_BYTES;
		if (c->n_read_bytes > TRIM_BYTES && c->n_all_bytes > TRIM_BYTES)
			trim_runs(c);
	}
	return (const uint8_t *)spill_data(r->bytes) + offset;
}

/* Unpacks a page to r->page. */
static void unpack(struct live_cold *c, struct run *r, size_t page)
{
	const struct live_block zero = {0}, *before = &zero;
	size_t n = page_blocks(r, page);
	const uint8_t *p;

	if (r->page_number == page)
		return;
	p = page_bytes(c, r, page);
	r->page[0].addr = page_ref(r, page)->first_addr;
	for (size_t i = 1; i < n; i++)
		r->page[i].addr = r->page[i - 1].addr + get_number(&p);
	for (size_t i = 0; i < n; i++) {
		p = get_fields(p, before, &r->page[i]);
		before = &r->page[i];
	}
	r->page_number = page;
}

/* The number of the block at addr in a page; SIZE_MAX: it is not there. */
static size_t find_in_page(struct live_cold *c, struct run *r, size_t page, uint64_t addr)
{
	size_t n = page_blocks(r, page);
	uint64_t at = page_ref(r, page)->first_addr;
	const uint8_t *p;

	if (r->page_number == page) {
		for (size_t i = 0; i < n; i++) {
			if (r->page[i].addr == addr)
				return i;
		}
		return SIZE_MAX;
	}
	p = page_bytes(c, r, page);
	for (size_t i = 0; i < n && at <= addr; i++) {
		if (at == addr)
			return i;
		if (i + 1 < n)
			at += get_number(&p);
	}
	return SIZE_MAX;
}

static bool is_gone(const struct run *r, uint64_t block)
{
	const uint64_t *gone = spill_data(r->gone);

	return gone[block / 64] >> (block % 64) & 1;
}

/* ---- writing a run ---- */

static int grow(struct spill *s, size_t n_bytes, struct err *err)
{
	return n_bytes <= spill_size(s) ? 0 : spill_resize(s, n_bytes + STEP_BYTES, err);
}

static int make_run(struct live_cold *c, struct run **ret, struct err *err)
{
	size_t left = c->run_budget_bytes;
	struct run *r = calloc(1, sizeof(*r));
	int n = r ? 0 : err_set_memory(err, sizeof(*r));

	for (size_t i = 0; i < c->n_runs; i++) {
		const struct run *other = c->run[i];
		size_t used = spill_is_file(other->bytes) ? 0 : spill_size(other->bytes);

		left -= used < left ? used : left;
	}
	if (n == 0) {
		r->page_number = NO_PAGE;
		r->out = malloc(OUT_BYTES + LIVE_COLD_PAGE_BLOCKS * MAX_BLOCK_BYTES);
		n = r->out ? 0 : err_set_memory(err, OUT_BYTES);
	}
	if (n == 0) {
		n = spill_create(c->folder, left, &r->bytes, err);
	}
	if (n == 0) /* small beside the pages: a 24th */
		n = spill_create(c->folder, left / 16, &r->index, err);
	if (n == 0)
		n = spill_create(c->folder, left / 16, &r->gone, err);
	if (n < 0)
		destroy_run(r);
	else
		*ret = r;
	return n;
}

static int write_out(struct run *r, struct err *err)
{
	int n = grow(r->bytes, r->n_bytes, err);

	if (n == 0)
		n = spill_write(r->bytes, r->n_bytes - r->n_out, r->out, r->n_out, err);
	r->n_out = 0;
	return n;
}

/* Writes the blocks in r->page, the last ones of the run, as a page. */
static int put_page(struct run *r, struct err *err)
{
	const struct live_block zero = {0}, *before = &zero;
	size_t n = (size_t)(r->n - (uint64_t)r->n_pages * LIVE_COLD_PAGE_BLOCKS);
	uint8_t *start = r->out + r->n_out, *p = start;
	int result = grow(r->index, (r->n_pages + 1) * sizeof(struct page_ref), err);

	if (result < 0 || n == 0)
		return result;
	((struct page_ref *)spill_data(r->index))[r->n_pages++] =
		(struct page_ref){.first_addr = r->page[0].addr, .offset = r->n_bytes};
	for (size_t i = 1; i < n; i++)
		p = uleb_put(p, r->page[i].addr - r->page[i - 1].addr);
	for (size_t i = 0; i < n; i++) {
		p = put_fields(p, &r->page[i], before);
		before = &r->page[i];
	}
	r->n_bytes += (size_t)(p - start);
	r->n_out += (size_t)(p - start);
	return r->n_out < OUT_BYTES ? 0 : write_out(r, err);
}

/* Adds a block, whose address is behind that of the last one. */
static int append(struct run *r, const struct live_block *b, struct err *err)
{
	if (r->n == 0)
		r->first_addr = b->addr;
	r->last_addr = b->addr;
	r->page[r->n++ % LIVE_COLD_PAGE_BLOCKS] = *b;
	return r->n % LIVE_COLD_PAGE_BLOCKS ? 0 : put_page(r, err);
}

/* The run is complete: gives back what is not used. */
static int finish_run(struct run *r, struct err *err)
{
	int n = r->n % LIVE_COLD_PAGE_BLOCKS ? put_page(r, err) : 0;

	if (n == 0)
		n = write_out(r, err);
	if (n == 0)
		n = spill_resize(r->bytes, r->n_bytes, err);
	if (n == 0)
		n = spill_resize(r->index, r->n_pages * sizeof(struct page_ref), err);
	if (n == 0)
		n = spill_resize(r->gone, (size_t)(r->n / 64 + 1) * sizeof(uint64_t), err);
	free(r->out);
	r->out = NULL;
	r->n_left = r->n;
	return n;
}

/* ---- merging ---- */

/* A walk over the blocks of a run that are not gone. */
struct walk {
	struct run *r;
	uint64_t at;
};

static const struct live_block *walk_block(struct live_cold *c, struct walk *w)
{
	while (w->at < w->r->n && is_gone(w->r, w->at))
		w->at++;
	if (w->at == w->r->n)
		return NULL;
	unpack(c, w->r, (size_t)(w->at / LIVE_COLD_PAGE_BLOCKS));
	return &w->r->page[w->at % LIVE_COLD_PAGE_BLOCKS];
}

/* A binary heap of walks: the one with the lowest address first. */
struct heap {
	struct walk *walk;
	const struct live_block **block; /* by walk: where it is */
	size_t n;
};

static void sift_down(struct heap *h, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
		struct walk walk = h->walk[at];
		const struct live_block *block = h->block[at];

		if (child + 1 < h->n && h->block[child + 1]->addr < h->block[child]->addr)
			child++;
		if (block->addr <= h->block[child]->addr)
			break;
		h->walk[at] = h->walk[child];
		h->block[at] = h->block[child];
		h->walk[child] = walk;
		h->block[child] = block;
	}
}

static int heap_init(struct heap *h, struct live_cold *c, struct err *err)
{
	*h = (struct heap){.walk = malloc(c->n_runs * sizeof(*h->walk)),
			   .block = malloc(c->n_runs * sizeof(struct live_block *))};
	if (!h->walk || !h->block)
		return err_set_memory(err, c->n_runs * sizeof(*h->walk));
	for (size_t i = 0; i < c->n_runs; i++) {
		h->walk[h->n] = (struct walk){.r = c->run[i]};
		h->block[h->n] = walk_block(c, &h->walk[h->n]);
		h->n += h->block[h->n] != NULL;
	}
	for (size_t i = h->n; i-- > 0;)
		sift_down(h, i);
	return 0;
}

static int merge_into(struct live_cold *c, struct run *to, struct err *err)
{
	struct heap h;
	int r = heap_init(&h, c, err);

	while (r == 0 && h.n > 0) {
		r = append(to, h.block[0], err);
		h.walk[0].at++;
		h.block[0] = walk_block(c, &h.walk[0]);
		if (!h.block[0]) {
			h.walk[0] = h.walk[--h.n];
			h.block[0] = h.block[h.n];
		}
		sift_down(&h, 0);
	}
	free(h.walk);
	free(h.block);
	return r;
}

/* Makes one run of all. After an error the runs are as before. */
static int merge_all(struct live_cold *c, struct err *err)
{
	struct run *to = NULL;
	int r = make_run(c, &to, err);

	if (r == 0)
		r = merge_into(c, to, err);
	if (r == 0)
		r = finish_run(to, err);
	if (r < 0) {
		destroy_run(to);
		return r;
	}
	for (size_t i = 0; i < c->n_runs; i++)
		destroy_run(c->run[i]);
	c->run[0] = to;
	c->n_runs = 1;
	c->n_all_bytes = to->n_bytes;
	return 0;
}

/* A look at a run costs about as much as merging BLOCKS_PER_MISS blocks. */
static bool is_merge_due(const struct live_cold *c)
{
	return c->n_runs > 1 && c->n_misses >= c->n / BLOCKS_PER_MISS && !c->cannot_merge;
}

int live_cold_add(struct live_cold *c, size_t n,
		  const struct live_block *(*block_at)(void *user, size_t i), void *user,
		  struct err *err)
{
	struct run *r = NULL;
	int result = reserve_filter(c, n, err);

	if (result == 0)
		result = vec_reserve(&c->run, &c->cap_runs, c->n_runs + 1, sizeof(struct run *),
				     err);
	if (result == 0)
		result = make_run(c, &r, err);
	for (size_t i = 0; i < n && result == 0; i++) {
		const struct live_block *b = block_at(user, i);

		result = append(r, b, err);
		add_to_filter(c, b->addr);
	}
	if (result == 0)
		result = finish_run(r, err);
	if (result < 0) {
		destroy_run(r);
		return result;
	}
	c->run[c->n_runs++] = r;
	c->n_all_bytes += r->n_bytes;
	c->n += n;
	return 0;
}

/* ---- searching ---- */

/* The last page whose first address is not after addr. The run begins before addr. */
static size_t find_page(const struct run *r, uint64_t addr)
{
	size_t lo = 0, hi = r->n_pages;

	if (r->page_number != NO_PAGE && page_ref(r, r->page_number)->first_addr <= addr) {
		lo = r->page_number;
		if (lo + 1 == hi || page_ref(r, lo + 1)->first_addr > addr)
			return lo;
	}
	while (hi - lo > 1) {
		size_t middle = lo + (hi - lo) / 2;

		if (page_ref(r, middle)->first_addr <= addr)
			lo = middle;
		else
			hi = middle;
	}
	return lo;
}

/* Finds the block at addr in a run, whose range it is in; false: it is not there, or gone. */
static bool find_in_run(struct live_cold *c, struct run *r, uint64_t addr, uint64_t *ret)
{
	size_t page = find_page(r, addr), at = find_in_page(c, r, page, addr);

	if (at == SIZE_MAX)
		return false;
	*ret = (uint64_t)page * LIVE_COLD_PAGE_BLOCKS + at;
	if (is_gone(r, *ret))
		return false;
	unpack(c, r, page);
	return true;
}

static struct run *find_run(struct live_cold *c, uint64_t addr, uint64_t *ret)
{
	if (!live_cold_may_hold(c, addr))
		return NULL;
	if (unlikely(is_merge_due(c))) { /* without room the search takes longer, no more */
		c->cannot_merge = merge_all(c, NULL) < 0;
		c->n_misses = 0;
	}
	for (size_t i = c->n_runs; i-- > 0;) {
		struct run *r = c->run[i];

		if (r->n_left == 0 || addr < r->first_addr || addr > r->last_addr)
			continue;
		if (find_in_run(c, r, addr, ret))
			return r;
		c->n_misses++;
	}
	return NULL;
}

const struct live_block *live_cold_find(struct live_cold *c, uint64_t addr)
{
	uint64_t at = 0;
	struct run *r = find_run(c, addr, &at);

	return r ? &r->page[at % LIVE_COLD_PAGE_BLOCKS] : NULL;
}

bool live_cold_take(struct live_cold *c, uint64_t addr, struct live_block *ret)
{
	uint64_t at = 0;
	struct run *r = find_run(c, addr, &at);

	if (!r)
		return false;
	*ret = r->page[at % LIVE_COLD_PAGE_BLOCKS];
	((uint64_t *)spill_data(r->gone))[at / 64] |= 1ull << (at % 64);
	r->n_left--;
	c->n--;
	return true;
}

void live_cold_each(struct live_cold *c, bool (*visit)(void *user, const struct live_block *block),
		    void *user)
{
	for (size_t i = 0; i < c->n_runs; i++) {
		struct walk w = {.r = c->run[i]};
		const struct live_block *b;

		for (; (b = walk_block(c, &w)); w.at++) {
			if (!visit(user, b))
				return;
		}
		spill_trim(c->run[i]->bytes);
	}
}

/* Visits the addresses of all blocks. */
static void each_addr(struct live_cold *c, void (*visit)(struct live_cold *c, uint64_t addr))
{
	for (size_t i = 0; i < c->n_runs; i++) {
		struct run *r = c->run[i];

		for (size_t page = 0; page < r->n_pages; page++) {
			uint64_t first = (uint64_t)page * LIVE_COLD_PAGE_BLOCKS;
			uint64_t addr = page_ref(r, page)->first_addr;
			const uint8_t *p = page_bytes(c, r, page);
			size_t n = page_blocks(r, page);

			for (size_t k = 0; k < n; k++) {
				if (!is_gone(r, first + k))
					visit(c, addr);
				if (k + 1 < n)
					addr += get_number(&p);
			}
		}
		spill_trim(r->bytes);
	}
}
