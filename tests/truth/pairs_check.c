/* pairs_check RECORDING LOGDIR - do the pairs in a recording equal those that the program logged?
 *
 * tests/programs/stress_pairs.c names each of its blocks slot << 40 | k (the thread that allocated
 * it, and which of that thread's blocks it is) and logs, per thread, the names in the order in
 * which it freed them: LOGDIR/free_<slot>.bin. LOGDIR/thread_<slot>.txt holds the thread's tid. Its
 * blocks, and nothing else, have 64 <= size < 4096 and size % 16 == 9.
 *
 * The recording is replayed; the j-th free of such a block by a thread must end exactly the
 * allocation that the log names. Prints counts and the first differences; exit 1 on any.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/replay.h"
#include "util/vec.h"

#define MAX_SLOTS 4096
#define MAX_SHOWN 10
#define NO_NAME UINT64_MAX /* tag of blocks that are none of the test's */
#define K_BITS 40

struct free_record {
	uint64_t ordinal; /* of the freeing thread's releases */
	uint64_t name; /* of the block, as the recording has it */
};

/* A thread of the recording. */
struct checked_thread {
	uint64_t n_named; /* blocks of the test that it allocated so far */
	int64_t slot; /* of the program's thread; -1 none */
	struct free_record *free;
	size_t n_free, cap_free;
};

struct check {
	struct checked_thread *thread; /* by number */
	size_t n_threads;
	uint64_t n_unlogged; /* allocations of the test by threads that have no log */
	uint64_t n_wrong;
	uint64_t n_right;
	bool has_failed; /* out of memory in a callback */
};

static bool is_of_test(uint64_t size_bytes)
{
	return size_bytes >= 64 && size_bytes < 4096 && size_bytes % 16 == 9;
}

static uint64_t on_arrival(void *user, const struct live_block *a)
{
	struct check *c = user;
	struct checked_thread *t;

	if (!is_of_test(a->size_bytes))
		return NO_NAME;
	t = a->thread < c->n_threads ? &c->thread[a->thread] : NULL;
	if (!t || t->slot < 0) {
		c->n_unlogged++;
		return NO_NAME;
	}
	return (uint64_t)t->slot << K_BITS | t->n_named++;
}

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	struct check *c = user;
	struct checked_thread *t = how->thread < c->n_threads ? &c->thread[how->thread] : NULL;

	if (!is_of_test(a->size_bytes) || !t || how->how != REPLAY_FREED)
		return;
	if (vec_reserve(&t->free, &t->cap_free, t->n_free + 1, sizeof(*t->free), NULL) < 0) {
		c->has_failed = true;
		return;
	}
	t->free[t->n_free++] = (struct free_record){.ordinal = how->ordinal, .name = a->tag};
}

static int compare_ordinals(const void *x, const void *y)
{
	const struct free_record *a = x, *b = y;

	return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

/* Finds the recording's thread of each tid that the program logged. */
static size_t read_slots(const struct recording *r, const char *dir, struct check *c)
{
	size_t n_slots = 0;

	for (; n_slots < MAX_SLOTS; n_slots++) {
		char path[4096];
		uint64_t tid;
		FILE *f;

		snprintf(path, sizeof(path), "%s/thread_%zu.txt", dir, n_slots);
		f = fopen(path, "r");
		if (!f)
			break;
		if (fscanf(f, "%" SCNu64, &tid) != 1)
			tid = 0;
		fclose(f);
		for (size_t i = 0; i < r->n_lanes; i++) {
			const struct block_ref *b = &r->block[r->lane[i].first_block];

			if (b->tid == tid && b->thread < c->n_threads)
				c->thread[b->thread].slot = (int64_t)n_slots;
		}
	}
	return n_slots;
}

static void differ(struct check *c, const char *fmt, uint64_t slot, uint64_t j)
{
	if (c->n_wrong++ < MAX_SHOWN)
		printf(fmt, slot, j);
}

/* Compares the frees of a slot with its log. NULL t: the recording has no such thread. */
static int check_slot(struct check *c, const char *dir, size_t slot, struct checked_thread *t)
{
	size_t n_free = t ? t->n_free : 0;
	char path[4096];
	uint64_t name, j;
	FILE *f;

	snprintf(path, sizeof(path), "%s/free_%zu.bin", dir, slot);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return -1;
	}
	if (n_free)
		qsort(t->free, n_free, sizeof(*t->free), compare_ordinals);
	for (j = 0; fread(&name, sizeof(name), 1, f) == 1; j++) {
		if (j >= n_free) {
			differ(c, "slot %" PRIu64 ": free %" PRIu64 " is not in the recording\n",
			       slot, j);
		} else if (t->free[j].name != name) {
			differ(c, "slot %" PRIu64 ": free %" PRIu64 " differs:", slot, j);
			if (c->n_wrong <= MAX_SHOWN)
				printf(" logged 0x%" PRIx64 ", recorded 0x%" PRIx64 "\n", name,
				       t->free[j].name);
		} else {
			c->n_right++;
		}
	}
	fclose(f);
	for (; j < n_free; j++)
		differ(c, "slot %" PRIu64 ": free %" PRIu64 " is not in the log\n", slot, j);
	return 0;
}

static struct checked_thread *find_thread(struct check *c, size_t slot)
{
	for (size_t i = 0; i < c->n_threads; i++) {
		if (c->thread[i].slot == (int64_t)slot)
			return &c->thread[i];
	}
	return NULL;
}

static int make_threads(const struct recording *r, struct check *c)
{
	uint32_t max = 0;

	for (size_t i = 0; i < r->n_lanes; i++)
		max = r->lane[i].thread > max ? r->lane[i].thread : max;
	c->n_threads = (size_t)max + 1;
	c->thread = calloc(c->n_threads, sizeof(*c->thread));
	for (size_t i = 0; c->thread && i < c->n_threads; i++)
		c->thread[i].slot = -1;
	return c->thread ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct check c = {0};
	struct replay_callbacks callbacks = {
		.user = &c, .on_arrival = on_arrival, .on_free = on_free};
	struct replay_totals totals = {0};
	struct recording *r = NULL;
	struct err err = {0};
	size_t n_slots;

	if (argc != 3) {
		fprintf(stderr, "usage: pairs_check RECORDING LOGDIR\n");
		return 2;
	}
	if (recording_open(argv[1], &r, &err) < 0 || make_threads(r, &c) < 0) {
		fprintf(stderr, "pairs_check: %s\n", err.text);
		return 1;
	}
	n_slots = read_slots(r, argv[2], &c);
	if (n_slots == 0 || replay_run(r, &callbacks, &totals, NULL, &err) < 0 || c.has_failed) {
		fprintf(stderr, "pairs_check: %s\n",
			n_slots ? err.text : "no thread_0.txt in the logs");
		return 1;
	}
	for (size_t slot = 0; slot < n_slots; slot++) {
		if (check_slot(&c, argv[2], slot, find_thread(&c, slot)) < 0)
			return 1;
	}
	printf("%" PRIu64 " pairs equal, %" PRIu64 " wrong; %" PRIu64
	       " inversions repaired, %" PRIu64 " unknown frees, %" PRIu64
	       " duplicate allocations, %" PRIu64 " blocks of other threads\n",
	       c.n_right, c.n_wrong, totals.repaired, totals.unknown_frees,
	       totals.duplicate_allocations, c.n_unlogged);
	for (size_t i = 0; i < c.n_threads; i++)
		free(c.thread[i].free);
	free(c.thread);
	recording_close(r);
	return c.n_wrong || c.n_unlogged || c.n_right == 0 ? 1 : 0;
}
