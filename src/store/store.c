/* store/store.c - see store.h.
 *
 * The whole file is mapped. Where a limit on address space forbids that, only the tables and the
 * directory are mapped, and blocks are read with pread().
 *
 * Pages that were read count as memory of this process, although the system could take them back. A
 * scan of a large store would look like a process of gigabytes, and in a control group it would be
 * one. Therefore the mapping gives its pages back after every DROP_EVERY_BYTES that were unpacked.
 * The pages stay in the page cache and come back at a touch.
 */
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "store/checksum64.h"
#include "store/store_i.h"
#include "util/file.h"
#include "util/map_guard.h"

#define DROP_EVERY_BYTES (32u * 1024 * 1024)
#define DROP_ABOVE_BYTES (128u * 1024 * 1024) /* pages of smaller files stay in memory */
#define CHECK_STEP_BYTES                                                                           \
	(8u * 1024 * 1024) /* of the directory: after so many bytes its pages go back */

struct part {
	void *map; /* NULL: not mapped by itself */
	size_t map_bytes;
	struct map_guard guard;
};

struct store {
	struct file file;
	struct store_header header;
	uint8_t *map; /* the whole file, or NULL */
	struct map_guard guard; /* of map */
	struct part part[STORE_N_TABLES + 1]; /* if map is NULL: tables, then the directory */
	struct store_tables table;
	const struct store_entry *directory;
	uint64_t n_blocks;
	atomic_uint_fast64_t
		*n_read; /* bytes of blocks unpacked; apart, because stores are const */
	struct store_suppressed *suppressed; /* suppressed.h; NULL: nothing is */
};

/* ---- opening ---- */

static int check_header(const struct store_header *h, uint64_t file_bytes, struct err *err)
{
	if (memcmp(h->magic, STORE_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, ERR_FORMAT, "is not a finished store");
	if (h->version != STORE_VERSION)
		return err_set(err, ERR_VERSION, "is a store of version %" PRIu32 ", not %u",
			       h->version, STORE_VERSION);
	if (h->header_bytes != sizeof(*h) || h->block_rows != STORE_BLOCK_ROWS ||
	    h->n_columns != STORE_N_COLUMNS || h->n_tables != STORE_N_TABLES ||
	    h->entry_bytes != sizeof(struct store_entry) ||
	    memcmp(h->item_bytes, store_item_bytes, sizeof(h->item_bytes)) != 0)
		return err_set(err, ERR_VERSION, "is a store with items of other sizes");
	if (h->checksum != checksum64_of(h, offsetof(struct store_header, checksum)))
		return err_set(err, ERR_FORMAT, "damaged store: the header has a wrong checksum");
	/* a store that can grow may be followed by what a later writer did not finish */
	if (h->file_bytes != file_bytes &&
	    (h->table[STORE_STATE].n_items == 0 || h->file_bytes > file_bytes))
		return err_set(err, ERR_FORMAT,
			       "damaged store: has %" PRIu64 " bytes instead of %" PRIu64,
			       file_bytes, h->file_bytes);
	return 0;
}

/* Do n items of item_bytes at offset lie in the file, aligned? */
static bool is_inside(const struct store *s, uint64_t offset, uint64_t n, uint64_t item_bytes)
{
	uint64_t end = s->header.file_bytes;

	return offset >= STORE_HEADER_BYTES && offset <= end && offset % STORE_ALIGN == 0 &&
	       n <= (end - offset) / item_bytes;
}

/* Makes len bytes at offset readable. They lie inside the file. */
static int map_part(struct store *s, uint64_t offset, uint64_t len, struct part *part,
		    const void **ret, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = align_down(offset, page);
	static const uint64_t nothing;
	void *map;

	if (len == 0) {
		*ret = &nothing;
		return 0;
	}
	if (s->map) {
		*ret = s->map + offset;
		return 0;
	}
	map = mmap(NULL, len + (offset - from), PROT_READ, MAP_SHARED, s->file.fd, (off_t)from);
	if (map == MAP_FAILED)
		return err_set_errno(err, errno, "cannot be mapped");
	*part = (struct part){.map = map, .map_bytes = len + (offset - from)};
	part->guard = map_guard_add(map, part->map_bytes);
	*ret = (const uint8_t *)map + (offset - from);
	return 0;
}

static int map_all(struct store *s, struct err *err)
{
	const struct store_header *h = &s->header;
	const void *directory;
	void *map = mmap(NULL, h->file_bytes, PROT_READ, MAP_SHARED, s->file.fd, 0);
	int r;

	if (map != MAP_FAILED) {
		s->map = map;
		s->guard = map_guard_add(map, h->file_bytes);
	}
	for (unsigned t = 0; t < STORE_N_TABLES; t++) {
		const struct store_extent *at = &h->table[t];

		if (!is_inside(s, at->offset, at->n_items, store_item_bytes[t]))
			return err_set(err, ERR_FORMAT,
				       "damaged store: table %u lies outside of the file", t);
		s->table.n[t] = at->n_items;
		r = map_part(s, at->offset, at->n_items * store_item_bytes[t], &s->part[t],
			     &s->table.item[t], err);
		if (r < 0)
			return r;
	}
	s->n_blocks = store_blocks_for(h->n_rows);
	if (!is_inside(s, h->directory_offset, s->n_blocks,
		       STORE_N_COLUMNS * sizeof(struct store_entry)))
		return err_set(err, ERR_FORMAT,
			       "damaged store: the directory lies outside of the file");
	r = map_part(s, h->directory_offset,
		     s->n_blocks * STORE_N_COLUMNS * sizeof(struct store_entry),
		     &s->part[STORE_N_TABLES], &directory, err);
	s->directory = directory;
	return r;
}

void store_drop_pages(const void *from, size_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t start = align_down((uintptr_t)from, page);
	uint64_t end = align_up((uintptr_t)from + len, page);

	madvise((void *)(uintptr_t)start, end - start, MADV_DONTNEED);
}

static void drop_all(const struct store *s)
{
	if (s->map)
		store_drop_pages(s->map, s->header.file_bytes);
	for (unsigned i = 0; i < ARRAY_LEN(s->part); i++) {
		if (s->part[i].map)
			store_drop_pages(s->part[i].map, s->part[i].map_bytes);
	}
}

/* The greatest value of a column that is an index of its table; UINT64_MAX: the column holds
 * none. */
static uint64_t greatest_allowed(const struct store *s, enum store_column c)
{
	uint64_t n_stacks = s->table.n[STORE_STACKS], n_threads = s->table.n[STORE_THREADS];

	switch (c) {
	case STORE_STACK:
	case STORE_FREE_STACK:
		return n_stacks - 1; /* there is one: checked */
	case STORE_THREAD:
	case STORE_FREE_THREAD:
		return n_threads - 1; /* there is one: check_directory() */
	case STORE_CHAIN:
		return s->table.n[STORE_CHAINS];
	default:
		return UINT64_MAX;
	}
}

/* Can a block be read by this entry? size_bytes: its length in the file. */
static bool is_possible(const struct store *s, const struct store_entry *e, uint64_t block,
			size_t *size_bytes)
{
	return pack_check(&e->head, size_bytes) &&
	       e->head.last + 1u == store_rows_of(s->header.n_rows, block) &&
	       (*size_bytes == 0 || is_inside(s, e->offset, *size_bytes, 1));
}

static int check_entry(const struct store *s, uint64_t block, enum store_column c,
		       uint64_t greatest, struct err *err)
{
	const struct store_entry *e = &s->directory[block * STORE_N_COLUMNS + c];
	size_t size_bytes;

	if (!is_possible(s, e, block, &size_bytes) || e->head.max > greatest)
		return err_set(err, ERR_FORMAT,
			       "damaged store: block %" PRIu64 " of column %u is not possible",
			       block, (unsigned)c);
	return 0;
}

static int check_directory(struct store *s, struct err *err)
{
	const size_t row_bytes = STORE_N_COLUMNS * sizeof(struct store_entry);
	const uint64_t step = CHECK_STEP_BYTES / row_bytes;
	uint64_t greatest[STORE_N_COLUMNS], last_ns = 0;
	struct checksum64 sum;

	if (s->n_blocks > 0 && s->table.n[STORE_THREADS] == 0)
		return err_set(err, ERR_FORMAT, "damaged store: rows, but no thread");
	for (unsigned c = 0; c < STORE_N_COLUMNS; c++)
		greatest[c] = greatest_allowed(s, c);
	checksum64_init(&sum);
	for (uint64_t block = 0; block < s->n_blocks; block++) {
		const struct store_entry *e = &s->directory[block * STORE_N_COLUMNS];

		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			int r = check_entry(s, block, c, greatest[c], err);

			if (r < 0)
				return r;
		}
		if (e[STORE_ALLOC_NS].head.min < last_ns)
			return err_set(err, ERR_FORMAT,
				       "damaged store: block %" PRIu64
				       " is not in order of allocation",
				       block);
		last_ns = e[STORE_ALLOC_NS].head.max;
		checksum64_add(&sum, e, row_bytes);
		if (block % step == step - 1)
			store_drop_pages(e - (step - 1) * STORE_N_COLUMNS, step * row_bytes);
	}
	if (checksum64_sum(&sum) != s->header.directory_checksum)
		return err_set(err, ERR_FORMAT,
			       "damaged store: the directory has a wrong checksum");
	return 0;
}

static int load(struct store *s, const char *path, struct err *err)
{
	int r = file_open(path, &s->file, err);

	if (r < 0)
		return r;
	if (!file_is_trusted(&s->file))
		return err_set(
			err, ERR_REFUSED,
			"is not used: it belongs to another user, or others may write to it");
	if (s->file.size_bytes < STORE_HEADER_BYTES || s->file.size_bytes > PTRDIFF_MAX)
		return err_set(err, ERR_FORMAT, "is not a finished store");
	r = file_read_all(&s->file, 0, &s->header, sizeof(s->header), err);
	if (r == 0)
		r = check_header(&s->header, s->file.size_bytes, err);
	if (r == 0)
		r = map_all(s, err);
	if (r == 0)
		r = store_tables_check(&s->table, s->header.n_rows, err);
	if (r == 0)
		r = check_directory(s, err);
	return r;
}

int store_open(const char *path, struct store **ret, struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->file = FILE_NONE;
	s->n_read = calloc(1, sizeof(*s->n_read));
	r = s->n_read ? load(s, path, err) : err_set_memory(err, sizeof(*s->n_read));
	if (r < 0) {
		err_prefix(err, "%s", path);
		store_close(s);
		return r;
	}
	if (s->header.file_bytes > DROP_ABOVE_BYTES)
		drop_all(s);
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	map_guard_remove(&s->guard);
	if (s->map)
		munmap(s->map, s->header.file_bytes);
	for (unsigned i = 0; i < ARRAY_LEN(s->part); i++) {
		map_guard_remove(&s->part[i].guard);
		if (s->part[i].map)
			munmap(s->part[i].map, s->part[i].map_bytes);
	}
	file_close(&s->file);
	store_suppressed_destroy(s->suppressed);
	free(s->n_read);
	free(s);
}

bool store_is_cut(const struct store *s)
{
	bool is = map_guard_is_cut(s->guard);

	for (unsigned i = 0; !is && !s->map && i < ARRAY_LEN(s->part); i++)
		is = map_guard_is_cut(s->part[i].guard);
	return is;
}

/* ---- tables ---- */

const struct store_identity *store_identity(const struct store *s)
{
	return &s->header.identity;
}

struct store_extent store_state_extent(const struct store *s)
{
	return s->header.table[STORE_STATE];
}

uint64_t store_state_offset(const struct store *s)
{
	return s->header.table[STORE_STATE].offset;
}

const void *store_table(const struct store *s, enum store_table table, size_t *n_items)
{
	ASSERT((unsigned)table < STORE_N_TABLES);
	*n_items = s->table.n[table];
	return s->table.item[table];
}

void store_replace_table(struct store *s, enum store_table table, const void *items)
{
	s->table.item[table] = items;
}

void store_set_suppressed(struct store *s, struct store_suppressed *x)
{
	s->suppressed = x;
}

const struct store_suppressed *store_get_suppressed(const struct store *s)
{
	return s->suppressed;
}

const struct store_facts *store_facts(const struct store *s)
{
	return s->table.item[STORE_FACTS];
}

const struct store_stack *store_stack(const struct store *s, uint32_t stack)
{
	ASSERT(stack < s->table.n[STORE_STACKS]);
	return (const struct store_stack *)s->table.item[STORE_STACKS] + stack;
}

const struct store_node *store_node(const struct store *s, uint32_t node)
{
	ASSERT(node < s->table.n[STORE_NODES]);
	return (const struct store_node *)s->table.item[STORE_NODES] + node;
}

const struct store_code *store_code(const struct store *s, uint32_t code)
{
	ASSERT(code < s->table.n[STORE_CODES]);
	return (const struct store_code *)s->table.item[STORE_CODES] + code;
}

const struct store_module *store_module(const struct store *s, uint32_t module)
{
	ASSERT(module < s->table.n[STORE_MODULES]);
	return (const struct store_module *)s->table.item[STORE_MODULES] + module;
}

const struct store_thread *store_thread(const struct store *s, uint32_t thread)
{
	ASSERT(thread < s->table.n[STORE_THREADS]);
	return (const struct store_thread *)s->table.item[STORE_THREADS] + thread;
}

const struct store_chain *store_chain(const struct store *s, uint64_t chain)
{
	ASSERT(chain < s->table.n[STORE_CHAINS]);
	return (const struct store_chain *)s->table.item[STORE_CHAINS] + chain;
}

size_t store_n_stacks(const struct store *s)
{
	return s->table.n[STORE_STACKS];
}

const char *store_string(const struct store *s, uint32_t string, size_t *len)
{
	const uint64_t *end = s->table.item[STORE_STRING_ENDS];
	uint64_t start = string ? end[string - 1] + 1 : 0;

	ASSERT(string < s->table.n[STORE_STRING_ENDS]);
	if (unlikely(end[string] < start)) { /* zeros: store_is_cut() */
		if (len)
			*len = 0;
		return "";
	}
	if (len)
		*len = end[string] - start;
	return (const char *)s->table.item[STORE_STRING_BYTES] + start;
}

const char *store_end_name(unsigned end)
{
	/* as format/format.h numbers them */
	static const char *const name[] = {"complete", "no_info",     "bad_info", "bad_memory",
					   "not_code", "no_progress", "no_room",  "lost"};

	return end < ARRAY_LEN(name) ? name[end] : "unknown";
}

const char *store_end_reason(unsigned end)
{
	static const char *const reason[] = {NULL,
					     "code without unwind information",
					     "unwind information that cannot be followed",
					     "a word of the stack cannot be read",
					     "a return address outside of executable memory",
					     "the unwind information leads nowhere",
					     "the recorder had no memory for a stack this deep",
					     "the part further out was lost"};

	return end < ARRAY_LEN(reason) ? reason[end] : "not known";
}

const char *store_allocator_name(const struct store *s, uint64_t flags)
{
	uint32_t number = store_allocator_of(flags);
	size_t n;
	const struct store_allocator *a = store_table(s, STORE_ALLOCATORS, &n);

	for (size_t i = 0; i < n; i++) {
		if (a[i].number == number)
			return store_string(s, a[i].name, NULL);
	}
	return number ? "not known" : "libc";
}

const char *store_kind_name(uint64_t flags)
{
	static const char *const name[STORE_KIND_MASK + 1] = {
		[STORE_KIND_MALLOC] = "malloc",
		[STORE_KIND_CALLOC] = "calloc",
		[STORE_KIND_ALIGNED] = "aligned",
		[STORE_KIND_REALLOC] = "realloc",
	};

	return name[flags & STORE_KIND_MASK] ? name[flags & STORE_KIND_MASK] : "unknown";
}

bool store_is_thread(const struct store_thread *t)
{
	return t->number != 0 || t->n_allocs > 0 || t->n_frees > 0;
}

size_t store_count_threads(const struct store *s)
{
	size_t n_all, n = 0;
	const struct store_thread *t = store_table(s, STORE_THREADS, &n_all);

	for (size_t i = 0; i < n_all; i++)
		n += store_is_thread(&t[i]);
	return n;
}

uint64_t store_tid(const struct store *s, uint64_t thread)
{
	return thread < s->table.n[STORE_THREADS] ? store_thread(s, (uint32_t)thread)->tid : 0;
}

/* ---- rows ---- */

bool store_has_rows(const struct store *s)
{
	return store_n_rows(s) == store_facts(s)->n_rows;
}

uint64_t store_n_rows(const struct store *s)
{
	return s->header.n_rows;
}

uint64_t store_n_blocks(const struct store *s)
{
	return s->n_blocks;
}

uint32_t store_block_rows(const struct store *s, uint64_t block)
{
	ASSERT(block < s->n_blocks);
	return store_rows_of(s->header.n_rows, block);
}

static const struct store_entry *entry_of(const struct store *s, enum store_column c,
					  uint64_t block)
{
	ASSERT(block < s->n_blocks && (unsigned)c < STORE_N_COLUMNS);
	return &s->directory[block * STORE_N_COLUMNS + c];
}

/* May values of the block differ from those in the file, because leaks are suppressed? */
static bool is_suppressible(const struct store *s, enum store_column c, const struct store_entry *e)
{
	return s->suppressed && c == STORE_LIFETIME_NS && e->head.min == 0;
}

uint64_t store_block_min(const struct store *s, enum store_column c, uint64_t block)
{
	return entry_of(s, c, block)->head.min;
}

uint64_t store_block_max(const struct store *s, enum store_column c, uint64_t block)
{
	const struct store_entry *e = entry_of(s, c, block);

	if (is_suppressible(s, c, e))
		return STORE_SUPPRESSED_NS + 1;
	return e->head.max;
}

/* Counts what was unpacked, and gives the pages of a large file back from time to time. */
static void count_read(const struct store *s, size_t n_bytes)
{
	uint64_t before = atomic_fetch_add_explicit(s->n_read, n_bytes, memory_order_relaxed);

	if (before / DROP_EVERY_BYTES != (before + n_bytes) / DROP_EVERY_BYTES &&
	    s->header.file_bytes > DROP_ABOVE_BYTES)
		drop_all(s);
}

/* Reads a block with pread(); bytes that cannot be read count as zeroes. */
static NOINLINE void read_unmapped(const struct store *s, const struct store_entry *e,
				   size_t size_bytes, uint64_t *out)
{
	_Alignas(STORE_ALIGN) uint8_t packed[2 * PACK_MAX_BYTES + 8 * PACK_MAX_VALUES];
	size_t n_read = 0;

	ASSERT(size_bytes <= sizeof(packed));
	if (file_read(&s->file, e->offset, packed, size_bytes, &n_read, NULL) < 0)
		n_read = 0;
	memset(packed + n_read, 0, size_bytes - n_read);
	pack_decode(&e->head, packed, out);
}

void store_read_block(const struct store *s, enum store_column c, uint64_t block, uint64_t *out)
{
	struct store_entry e = *entry_of(s, c, block);
	size_t size_bytes = 0;

	/* store_open() checked it, but a part is zeroes if the file was cut in the middle of it */
	if (!is_possible(s, &e, block, &size_bytes)) {
		memset(out, 0, STORE_BLOCK_ROWS * sizeof(*out));
		return;
	}
	if (size_bytes == 0)
		pack_decode(&e.head, NULL, out);
	else if (s->map)
		pack_decode(&e.head, s->map + e.offset, out);
	else
		read_unmapped(s, &e, size_bytes, out);
	count_read(s, size_bytes);
	if (is_suppressible(s, c, &e))
		store_suppressed_apply(s->suppressed, s, block, out);
}

uint64_t store_value(const struct store *s, enum store_column c, uint64_t row)
{
	uint64_t out[STORE_BLOCK_ROWS];
	uint64_t block = row / STORE_BLOCK_ROWS;
	const struct store_entry *e;

	if (row >= s->header.n_rows)
		return 0;
	e = entry_of(s, c, block);
	if (e->head.min == e->head.max && !is_suppressible(s, c, e))
		return e->head.min;
	store_read_block(s, c, block, out);
	return out[row % STORE_BLOCK_ROWS];
}
