/* serve/script_files.c - see script_files.h. */
#include "serve/script_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/blake2b.h"

#define DIGEST_BYTES ((SCRIPT_FILES_HASH_BYTES - 1) / 2)

struct kept {
	char hash[SCRIPT_FILES_HASH_BYTES];
	char *bytes; /* owned; NULL: not used */
	size_t len;
	uint64_t used_at; /* script_files.clock */
};

struct script_files {
	pthread_mutex_t lock; /* guards all */
	struct kept file[SCRIPT_FILES_MAX];
	size_t n_bytes;
	uint64_t clock;
};

int script_files_create(struct script_files **ret, struct err *err)
{
	struct script_files *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set_memory(err, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	*ret = f;
	return 0;
}

void script_files_destroy(struct script_files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < SCRIPT_FILES_MAX; i++)
		free(f->file[i].bytes);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static void hash_bytes(const char *bytes, size_t len, char hash[SCRIPT_FILES_HASH_BYTES])
{
	uint8_t digest[DIGEST_BYTES];
	struct blake2b b;

	blake2b_init(&b, sizeof(digest), NULL, 0);
	blake2b_add(&b, bytes, len);
	blake2b_finish(&b, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
}

static struct kept *find(struct script_files *f, const char *hash)
{
	for (size_t i = 0; i < SCRIPT_FILES_MAX; i++) {
		if (f->file[i].bytes && strcmp(f->file[i].hash, hash) == 0)
			return &f->file[i];
	}
	return NULL;
}

/* The place for a new file: one that is not used, or else the least recently used one. */
static struct kept *find_place(struct script_files *f)
{
	struct kept *oldest = &f->file[0];

	for (size_t i = 0; i < SCRIPT_FILES_MAX; i++) {
		if (!f->file[i].bytes)
			return &f->file[i];
		if (f->file[i].used_at < oldest->used_at)
			oldest = &f->file[i];
	}
	return oldest;
}

static void drop(struct script_files *f, struct kept *k)
{
	f->n_bytes -= k->len;
	free(k->bytes);
	*k = (struct kept){0};
}

static void drop_oldest(struct script_files *f)
{
	struct kept *oldest = NULL;

	for (size_t i = 0; i < SCRIPT_FILES_MAX; i++) {
		if (f->file[i].bytes && (!oldest || f->file[i].used_at < oldest->used_at))
			oldest = &f->file[i];
	}
	if (oldest)
		drop(f, oldest);
}

int script_files_add(struct script_files *f, char *bytes, size_t len,
		     char hash[SCRIPT_FILES_HASH_BYTES], struct err *err)
{
	struct kept *k;

	if (len > SCRIPT_FILES_MAX_BYTES) {
		free(bytes);
		return err_set(err, ERR_LIMIT, "a file has more than %zu MiB",
			       SCRIPT_FILES_MAX_BYTES >> 20);
	}
	hash_bytes(bytes, len, hash);
	pthread_mutex_lock(&f->lock);
	k = find(f, hash);
	if (k) {
		free(bytes);
	} else {
		while (f->n_bytes + len > SCRIPT_FILES_MAX_BYTES)
			drop_oldest(f);
		k = find_place(f);
		drop(f, k);
		k->bytes = bytes;
		k->len = len;
		memcpy(k->hash, hash, SCRIPT_FILES_HASH_BYTES);
		f->n_bytes += len;
	}
	k->used_at = ++f->clock;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

int script_files_write(struct script_files *f, const char *hash, FILE *out, struct err *err)
{
	char *copy = NULL;
	size_t len = 0;
	struct kept *k;
	int r = 0;

	pthread_mutex_lock(&f->lock);
	k = find(f, hash);
	if (k) {
		k->used_at = ++f->clock;
		len = k->len;
		copy = malloc(len + 1);
		if (copy)
			memcpy(copy, k->bytes, len);
		else
			r = err_set_memory(err, len);
	} else {
		r = err_set(err, ERR_USAGE,
			    "this file of a script is not kept any more; run the "
			    "script again");
	}
	pthread_mutex_unlock(&f->lock);
	if (r == 0)
		fwrite(copy, 1, len, out);
	free(copy);
	return r;
}
