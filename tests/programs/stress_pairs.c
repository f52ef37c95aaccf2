/* stress_pairs LOGDIR BLOCKS [THREADS [back | own]] - threads pass blocks around and free each other's.
 *
 * With "back" they work in pairs: one makes a block, the other frees it, gets the same address again, and
 * hands that back at once; in between both make and free many small blocks. With "own" each frees its own
 * blocks: where all use the same arena, and nothing keeps freed blocks for their thread
 * (GLIBC_TUNABLES), addresses go from thread to thread by way of the allocator alone.
 *
 * Every block holds id = slot << 40 | k, where slot is the thread that allocated it and k counts
 * that thread's blocks from 0. Blocks of this test, and nothing else in the program, are asked for
 * with 64 <= size < 4096 and size % 16 == 9. Each thread leaves LOGDIR/free_<slot>.bin (u64 ids in
 * the order in which it freed) and LOGDIR/thread_<slot>.txt (its tid). tests/truth/pairs_check
 * compares that with the recording.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_THREADS 64
#define N_BOXES 2048
#define N_QUEUES 32
#define QUEUE_BLOCKS 64

struct queue {
	pthread_mutex_t lock;
	unsigned n;
	uint64_t *blocks[QUEUE_BLOCKS];
};

struct worker {
	uint64_t slot;
	uint64_t n_blocks;
	uint64_t random;
	uint64_t *log; /* mapped: n_freed ids so far */
	uint64_t n_freed;
	int fd;
};

static _Atomic(uint64_t *) boxes[N_BOXES];
static struct queue queues[N_QUEUES];
static pthread_barrier_t all_done;
static const char *log_dir;
static void (*run)(struct worker *w);
static uint64_t total_blocks;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static void open_log(struct worker *w)
{
	char path[4096];
	char tid[32];
	int len, fd;

	snprintf(path, sizeof(path), "%s/thread_%u.txt", log_dir, (unsigned)w->slot);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	len = snprintf(tid, sizeof(tid), "%d\n", (int)gettid());
	if (fd < 0 || write(fd, tid, (size_t)len) != len)
		die(path);
	close(fd);

	/* Sparse, and big enough for the case that one thread frees everything. */
	snprintf(path, sizeof(path), "%s/free_%u.bin", log_dir, (unsigned)w->slot);
	w->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (w->fd < 0 || ftruncate(w->fd, (off_t)(total_blocks * sizeof(uint64_t))) < 0)
		die(path);
	w->log = mmap(NULL, total_blocks * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED,
		      w->fd, 0);
	if (w->log == MAP_FAILED)
		die(path);
}

static void close_log(struct worker *w)
{
	munmap(w->log, total_blocks * sizeof(uint64_t));
	if (ftruncate(w->fd, (off_t)(w->n_freed * sizeof(uint64_t))) < 0)
		die("ftruncate");
	close(w->fd);
}

static void give_back(struct worker *w, uint64_t *block)
{
	if (!block)
		return;
	w->log[w->n_freed++] = *block;
	free(block);
}

/* Puts the block into a locked queue and takes another out when there are many. */
static uint64_t *swap_in_queue(struct queue *q, uint64_t *block, uint64_t random)
{
	uint64_t *other = NULL;

	pthread_mutex_lock(&q->lock);
	if (q->n == QUEUE_BLOCKS) {
		unsigned i = random % QUEUE_BLOCKS;

		other = q->blocks[i];
		q->blocks[i] = block;
	} else {
		q->blocks[q->n++] = block;
	}
	pthread_mutex_unlock(&q->lock);
	return other;
}

static void run_worker(struct worker *w)
{
	for (uint64_t k = 0; k < w->n_blocks; k++) {
		uint64_t r = next_random(w);
		/* Mostly four size classes, so that addresses come back soon and elsewhere. */
		uint64_t class = (r & 7) ? (r >> 3) & 3 : (r >> 3) % 251;
		uint64_t *block = malloc(73 + 16 * class);

		if (!block)
			die("malloc");
		*block = w->slot << 40 | k;
		r >>= 16;
		if ((r & 15) == 0)
			give_back(w, block);
		else if ((r & 15) < 4)
			give_back(w, swap_in_queue(&queues[(r >> 4) % N_QUEUES], block, r >> 16));
		else
			give_back(w, atomic_exchange(&boxes[(r >> 4) % N_BOXES], block));
	}
}

static void make_small_blocks(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		void *volatile small = malloc(24 + 16 * (i & 1));

		free(small);
	}
}

static uint64_t *make_block(struct worker *w, uint64_t k)
{
	uint64_t *block = malloc(73);

	if (!block)
		die("malloc");
	*block = w->slot << 40 | k;
	return block;
}

static uint64_t *wait_for_block(_Atomic(uint64_t *) *box)
{
	uint64_t *block;

	for (unsigned i = 1; !(block = atomic_load(box)); i++) {
		if (i % 4096 == 0)
			sched_yield(); /* the other one may need this CPU */
	}
	atomic_store(box, NULL);
	return block;
}

/* The first of each pair begins a round, the second one answers. Their boxes are on lines of their own. */
static void run_pair(struct worker *w)
{
	_Atomic(uint64_t *) *there = &boxes[w->slot / 2 * 64], *back = there + 32;
	uint64_t *block;

	for (uint64_t k = 0; k < w->n_blocks; k++) {
		if (w->slot % 2 == 0) {
			block = make_block(w, k);
			make_small_blocks(k % 4);
			atomic_store(there, block);
			give_back(w, wait_for_block(back));
		} else {
			give_back(w, wait_for_block(there));
			block = make_block(w, k);
			make_small_blocks(k % 3);
			atomic_store(back, block);
		}
	}
}

static void run_alone(struct worker *w)
{
	for (uint64_t k = 0; k < w->n_blocks; k++) {
		uint64_t *block = make_block(w, k);

		if (k % 8 == 3 && k + 1 < w->n_blocks) /* two at a time */
			give_back(w, make_block(w, ++k));
		make_small_blocks(k % 3);
		give_back(w, block);
	}
}

static void drain(struct worker *w)
{
	for (unsigned i = 0; i < N_BOXES; i++)
		give_back(w, atomic_exchange(&boxes[i], NULL));
	for (unsigned i = 0; i < N_QUEUES; i++)
		while (queues[i].n)
			give_back(w, queues[i].blocks[--queues[i].n]);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	open_log(w);
	run(w);
	pthread_barrier_wait(&all_done);
	if (w->slot == 0)
		drain(w);
	close_log(w);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	static pthread_t threads[MAX_THREADS];
	unsigned n_threads = argc > 3 ? (unsigned)atoi(argv[3]) : 16;
	uint64_t freed = 0;

	if (argc < 3 || n_threads < 1 || n_threads > MAX_THREADS || (argc > 4 && n_threads % 2)) {
		fprintf(stderr, "usage: stress_pairs LOGDIR BLOCKS [THREADS [back | own]]\n");
		return 2;
	}
	log_dir = argv[1];
	run = argc < 5 ? run_worker : strcmp(argv[4], "own") == 0 ? run_alone : run_pair;
	total_blocks = strtoull(argv[2], NULL, 10) / n_threads * n_threads;
	pthread_barrier_init(&all_done, NULL, n_threads);
	for (unsigned i = 0; i < N_QUEUES; i++)
		pthread_mutex_init(&queues[i].lock, NULL);
	for (unsigned i = 0; i < n_threads; i++) {
		workers[i].slot = i;
		workers[i].n_blocks = total_blocks / n_threads;
		workers[i].random = 0x9e3779b97f4a7c15ull * (i + 1);
		if (pthread_create(&threads[i], NULL, worker_main, &workers[i]))
			die("pthread_create");
	}
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(threads[i], NULL);
		freed += workers[i].n_freed;
	}
	printf("%llu blocks, %llu freed\n", (unsigned long long)total_blocks,
	       (unsigned long long)freed);
	return freed == total_blocks ? 0 : 1;
}
