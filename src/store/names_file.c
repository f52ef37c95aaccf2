/* store/names_file.c - see names_file.h. */
#include "store/names_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store/checksum64.h"
#include "util/atomic_file.h"
#include "util/file.h"
#include "util/map_guard.h"
#include "util/text_set.h"

#define NAMES_MAGIC "MPNAMES" /* with its zero byte: 8 bytes */
#define NAMES_VERSION 3u /* raised also when the same binaries give better names */

struct names_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	struct store_identity identity;
	uint64_t tables_checksum; /* of the store's codes and modules ... */
	uint64_t n_store_codes; /* ... so many ... */
	uint64_t n_store_modules; /* ... and so many */
	uint64_t n_codes;
	uint64_t n_names;
	uint64_t n_texts;
	uint64_t n_text_bytes;
	uint64_t body_checksum; /* of all after the header */
	uint64_t checksum; /* of the fields before this one */
};

/* After the header: codes in ascending order, names, ends of texts (uint64_t), bytes of texts. */
struct names_code {
	uint32_t code;
	uint32_t n;
	uint64_t first; /* name */
};

struct names_name {
	uint32_t function; /* numbers of texts; 0: not known */
	uint32_t raw_function;
	uint32_t source;
	uint32_t line;
	uint32_t column;
	uint32_t is_inline;
};

_Static_assert(sizeof(struct names_header) == 120, "lies in the file");
_Static_assert(sizeof(struct names_code) == 16, "lies in the file");
_Static_assert(sizeof(struct names_name) == 24, "lies in the file");

struct names_file {
	uint8_t *map;
	size_t map_bytes;
	struct map_guard guard;
	const struct names_code *code;
	size_t n_codes;
	const struct names_name *name;
	const uint64_t *text_end;
	const char *text;
	bool is_of_earlier_store; /* written before the store grew */
};

/* The checksum of the first n_codes codes and n_modules modules of the store; both must exist. */
static uint64_t tables_checksum(const struct store *store, size_t n_codes, size_t n_modules)
{
	size_t n;
	const void *codes = store_table(store, STORE_CODES, &n);
	const void *modules = store_table(store, STORE_MODULES, &n);
	const uint64_t both[] = {checksum64_of(codes, n_codes * sizeof(struct store_code)),
				 checksum64_of(modules, n_modules * sizeof(struct store_module))};

	return checksum64_of(both, sizeof(both));
}

/* ---- reading ---- */

/* Do the names belong to this store, or to the store before it grew? Growing adds codes and modules
 * at the end, so the earlier ones keep their numbers. */
static bool is_of_store(const struct names_header *h, const struct store *store)
{
	const struct store_identity *is = store_identity(store);
	size_t n_codes, n_modules;

	store_table(store, STORE_CODES, &n_codes);
	store_table(store, STORE_MODULES, &n_modules);
	if (memcmp(h->identity.recording_id, is->recording_id, sizeof(is->recording_id)) != 0 ||
	    h->n_store_codes > n_codes || h->n_store_modules > n_modules)
		return false;
	if (!(store_identity_grows(&h->identity) && store_identity_grows(is)) &&
	    (memcmp(&h->identity, is, sizeof(*is)) != 0 || h->n_store_codes != n_codes ||
	     h->n_store_modules != n_modules))
		return false;
	return h->tables_checksum == tables_checksum(store, h->n_store_codes, h->n_store_modules);
}

static int check_header(const struct names_header *h, const struct store *store, uint64_t n_bytes,
			struct err *err)
{
	uint64_t left = n_bytes - sizeof(*h);

	if (memcmp(h->magic, NAMES_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, ERR_FORMAT, "is not a file of names");
	if (h->version != NAMES_VERSION || h->header_bytes != sizeof(*h))
		return err_set(err, ERR_VERSION, "is a file of names of another version");
	if (h->checksum != checksum64_of(h, offsetof(struct names_header, checksum)))
		return err_set(err, ERR_FORMAT, "damaged names: the header has a wrong checksum");
	if (!is_of_store(h, store))
		return err_set(err, ERR_FORMAT, "holds names for another store");
	if (h->n_codes > left / sizeof(struct names_code))
		goto cut;
	left -= h->n_codes * sizeof(struct names_code);
	if (h->n_names > left / sizeof(struct names_name))
		goto cut;
	left -= h->n_names * sizeof(struct names_name);
	if (h->n_texts > left / sizeof(uint64_t) || h->n_texts == 0)
		goto cut;
	left -= h->n_texts * sizeof(uint64_t);
	if (h->n_text_bytes != left || left == 0)
		goto cut;
	return 0;
cut:
	return err_set(err, ERR_FORMAT, "damaged names: the sizes do not fit the file");
}

static int check_body(const struct names_file *f, const struct names_header *h, size_t n_codes,
		      struct err *err)
{
	if (h->body_checksum != checksum64_of(f->map + sizeof(*h), f->map_bytes - sizeof(*h)))
		return err_set(err, ERR_FORMAT, "damaged names: wrong checksum");
	for (size_t i = 0; i < f->n_codes; i++) {
		const struct names_code *c = &f->code[i];

		if (c->code >= n_codes || (i > 0 && c->code <= f->code[i - 1].code) ||
		    c->first > h->n_names || c->n > h->n_names - c->first)
			return err_set(err, ERR_FORMAT, "damaged names: code %zu", i);
	}
	for (size_t i = 0; i < h->n_names; i++) {
		const struct names_name *n = &f->name[i];

		if (n->function >= h->n_texts || n->raw_function >= h->n_texts ||
		    n->source >= h->n_texts)
			return err_set(err, ERR_FORMAT, "damaged names: name %zu", i);
	}
	for (size_t i = 0; i < h->n_texts; i++) {
		if (f->text_end[i] >= h->n_text_bytes || f->text[f->text_end[i]] != 0 ||
		    (i > 0 && f->text_end[i] <= f->text_end[i - 1]))
			return err_set(err, ERR_FORMAT, "damaged names: text %zu", i);
	}
	return 0;
}

static int load(struct names_file *f, const struct file *file, const struct store *store,
		struct err *err)
{
	const struct names_header *h;
	size_t n_codes;
	int r;

	if (!file_is_trusted(file))
		return err_set(
			err, ERR_REFUSED,
			"is not used: it belongs to another user, or others may write to it");
	if (file->size_bytes < sizeof(*h) || file->size_bytes > PTRDIFF_MAX)
		return err_set(err, ERR_FORMAT, "is not a file of names");
	f->map = mmap(NULL, file->size_bytes, PROT_READ, MAP_SHARED, file->fd, 0);
	if (f->map == MAP_FAILED) {
		f->map = NULL;
		return err_set_errno(err, errno, "cannot be mapped");
	}
	f->map_bytes = file->size_bytes;
	f->guard = map_guard_add(f->map, f->map_bytes);
	h = (const struct names_header *)(const void *)f->map;
	r = check_header(h, store, f->map_bytes, err);
	if (r < 0)
		return r;
	f->is_of_earlier_store =
		memcmp(&h->identity, store_identity(store), sizeof(h->identity)) != 0;
	f->code = (const void *)(h + 1);
	f->n_codes = h->n_codes;
	f->name = (const void *)(f->code + h->n_codes);
	f->text_end = (const void *)(f->name + h->n_names);
	f->text = (const void *)(f->text_end + h->n_texts);
	store_table(store, STORE_CODES, &n_codes);
	return check_body(f, h, n_codes, err);
}

int names_file_open(const char *path, const struct store *store, struct names_file **ret,
		    struct err *err)
{
	struct names_file *f = calloc(1, sizeof(*f));
	struct file file = FILE_NONE;
	int r;

	if (!f)
		return err_set_memory(err, sizeof(*f));
	r = file_open(path, &file, err);
	if (r == 0)
		r = load(f, &file, store, err);
	file_close(&file);
	if (r < 0) {
		err_prefix(err, "%s", path);
		names_file_close(f);
		return r;
	}
	*ret = f;
	return 0;
}

void names_file_close(struct names_file *f)
{
	if (!f)
		return;
	map_guard_remove(&f->guard);
	if (f->map)
		munmap(f->map, f->map_bytes);
	free(f);
}

static const struct names_code *find_code(const struct names_file *f, uint32_t code)
{
	size_t low = 0, high = f->n_codes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->code[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n_codes && f->code[low].code == code ? &f->code[low] : NULL;
}

bool names_file_find(const struct names_file *f, uint32_t code, size_t *n)
{
	const struct names_code *c = find_code(f, code);

	if (!c || (f->is_of_earlier_store && c->n == 0)) /* see names_file.h */
		return false;
	*n = c->n;
	return true;
}

static const char *text_of(const struct names_file *f, uint32_t number)
{
	return number == 0 ? NULL : f->text + f->text_end[number - 1] + 1;
}

void names_file_get(const struct names_file *f, uint32_t code, size_t i, struct frame_names *ret)
{
	const struct names_code *c = find_code(f, code);
	const struct names_name *n;

	ASSERT(c && i < c->n);
	n = &f->name[c->first + i];
	*ret = (struct frame_names){
		.function = text_of(f, n->function),
		.raw_function = text_of(f, n->raw_function),
		.source = text_of(f, n->source),
		.line = n->line,
		.column = n->column,
		.is_inline = n->is_inline != 0,
	};
}

/* ---- writing ---- */

static int write_codes(struct atomic_file *out, uint32_t n_codes, const struct names_source *source,
		       struct names_header *h, struct err *err)
{
	for (uint32_t code = 0; code < n_codes; code++) {
		struct names_code c = {.code = code, .first = h->n_names};
		size_t n;
		int r;

		if (!source->find(source->user, code, &n))
			continue;
		c.n = (uint32_t)n;
		r = atomic_file_append(out, &c, sizeof(c), err);
		if (r < 0)
			return r;
		h->n_codes++;
		h->n_names += n;
	}
	return 0;
}

static int add_text(struct text_set *texts, const char *text, uint32_t *ret, struct err *err)
{
	return text_set_add(texts, text ? text : "", ret, err);
}

static int write_name(struct atomic_file *out, struct text_set *texts,
		      const struct frame_names *names, struct err *err)
{
	struct names_name n = {
		.line = names->line, .column = names->column, .is_inline = names->is_inline};
	int r = add_text(texts, names->function, &n.function, err);

	if (r == 0)
		r = add_text(texts, names->raw_function, &n.raw_function, err);
	if (r == 0)
		r = add_text(texts, names->source, &n.source, err);
	if (r == 0)
		r = atomic_file_append(out, &n, sizeof(n), err);
	return r;
}

static int write_names(struct atomic_file *out, uint32_t n_codes, const struct names_source *source,
		       struct text_set *texts, struct err *err)
{
	for (uint32_t code = 0; code < n_codes; code++) {
		size_t n;

		if (!source->find(source->user, code, &n))
			continue;
		for (size_t i = 0; i < n; i++) {
			struct frame_names names;
			int r;

			source->get(source->user, code, i, &names);
			r = write_name(out, texts, &names, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int write_texts(struct atomic_file *out, const struct text_set *texts,
		       struct names_header *h, struct err *err)
{
	int r = 0;

	h->n_texts = text_set_count(texts);
	for (uint32_t i = 0; r == 0 && i < h->n_texts; i++) {
		uint64_t end = h->n_text_bytes + strlen(text_set_get(texts, i));

		r = atomic_file_append(out, &end, sizeof(end), err);
		h->n_text_bytes = end + 1;
	}
	for (uint32_t i = 0; r == 0 && i < h->n_texts; i++) {
		const char *text = text_set_get(texts, i);

		r = atomic_file_append(out, text, strlen(text) + 1, err);
	}
	return r;
}

/* Computes the checksum of the body, then writes the header in front of it. */
static int write_header(struct atomic_file *out, struct names_header *h, struct err *err)
{
	size_t size = atomic_file_size(out);
	const uint8_t *map;
	int r = atomic_file_flush(out, err);

	if (r < 0)
		return r;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, atomic_file_fd(out), 0);
	if (map == MAP_FAILED)
		return err_set_errno(err, errno, "cannot be mapped");
	h->body_checksum = checksum64_of(map + sizeof(*h), size - sizeof(*h));
	munmap((void *)(uintptr_t)map, size);
	h->checksum = checksum64_of(h, offsetof(struct names_header, checksum));
	return atomic_file_pwrite(out, 0, h, sizeof(*h), err);
}

int names_file_write(const char *path, const struct store *store, const struct names_source *source,
		     struct err *err)
{
	struct names_header h = {
		.magic = NAMES_MAGIC,
		.version = NAMES_VERSION,
		.header_bytes = sizeof(h),
		.identity = *store_identity(store),
	};
	struct atomic_file *out = NULL;
	struct text_set *texts = NULL;
	size_t n_codes, n_modules;
	int r;

	store_table(store, STORE_CODES, &n_codes);
	store_table(store, STORE_MODULES, &n_modules);
	h.n_store_codes = n_codes;
	h.n_store_modules = n_modules;
	h.tables_checksum = tables_checksum(store, n_codes, n_modules);
	r = text_set_create(false, &texts, err);
	if (r == 0)
		r = atomic_file_create(path, 0600, 0, &out, err);
	if (r == 0)
		r = atomic_file_append(out, &h, sizeof(h), err);
	if (r == 0)
		r = write_codes(out, (uint32_t)n_codes, source, &h, err);
	if (r == 0)
		r = write_names(out, (uint32_t)n_codes, source, texts, err);
	if (r == 0)
		r = write_texts(out, texts, &h, err);
	if (r == 0)
		r = write_header(out, &h, err);
	if (r == 0) {
		r = atomic_file_commit(out, err);
		out = NULL;
	}
	atomic_file_discard(out);
	text_set_destroy(texts);
	return r;
}
