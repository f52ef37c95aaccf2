/* The recorder itself in threads of one process, without hooks: threads record events of blocks
 * that they pass to each other while the real writer drains them; the recording is then
 * read back. Run under TSan, which shows that hand-over, sessions and switching are free of races.
 *
 * The writer is started through pthread_create here, because TSan must know its threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "ingest/overview.h"
#include "record/capture.h"
#include "record/real.h"
#include "record/sys.h"
#include "record/writer.h"

#define N_THREADS 4
#define N_BLOCKS 30000

static const char RECORDING[] = "test_recorder.dat";

/* The recorder reads the environment that the kernel gave; so that must hold our settings. */
__attribute__((constructor)) static void restart_with_environment(int argc, char **argv)
{
	(void)argc;
	if (getenv("MEMORY_PROFILER_OUTPUT"))
		return;
	setenv("MEMORY_PROFILER_OUTPUT", RECORDING, 1);
	setenv("MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT", "0", 1);
	execv("/proc/self/exe", argv);
	abort();
}

struct start {
	int (*fn)(void *);
	void *arg;
};

static void *run_writer(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	unshare(CLONE_FILES | CLONE_FS);
	start.fn(start.arg);
	return NULL;
}

long arch_clone(unsigned long flags, void *stack_top, void *tls, int (*fn)(void *), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	pthread_t thread;

	(void)stack_top;
	(void)tls;
	*start = (struct start){fn, arg};
	if (pthread_create(&thread, NULL, run_writer, start))
		return -11;
	/* the process in between, until whose end the caller waits */
	if ((flags & (CLONE_FILES | CLONE_THREAD)) == CLONE_FILES)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	return 1;
}

/* Blocks on their way from one thread to another. */
static struct {
	pthread_mutex_t lock;
	void *block[64];
	size_t n;
} mailbox = {.lock = PTHREAD_MUTEX_INITIALIZER};

static NOINLINE void record_alloc(void *block, size_t size_bytes)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	if (!lane)
		return;
	capture_alloc(lane, &at, EVENT_MALLOC, block, size_bytes, 0);
	capture_leave(lane);
}

static NOINLINE void record_free(void *block)
{
	struct unwind_start at = CAPTURE_CALLER();
	struct lane *lane = capture_enter(&at);

	if (!lane)
		return;
	capture_free(lane, &at, block, 0, capture_publish_release(lane, block));
	capture_leave(lane);
}

/* Gives a block to whoever comes and takes one that somebody else left. */
static void *exchange(void *block, unsigned slot)
{
	void *other = NULL;

	pthread_mutex_lock(&mailbox.lock);
	other = mailbox.block[slot];
	mailbox.block[slot] = block;
	pthread_mutex_unlock(&mailbox.lock);
	return other;
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		size_t size_bytes = 16 + (seed = seed * 1103515245 + 12345) % 500;
		void *block = malloc(size_bytes);

		record_alloc(block, size_bytes);
		block = exchange(block, seed >> 16 & 63);
		if (block) {
			record_free(block);
			free(block);
		}
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t thread[N_THREADS];

	for (uintptr_t i = 0; i < N_THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, work, (void *)i), 0);
	for (unsigned i = 0; i < N_THREADS; i++)
		pthread_join(thread[i], NULL);
}

TEST(recorder_threads_and_writer_share_nothing_unsafely_and_lose_nothing)
{
	struct recording *recording = NULL;
	struct overview o = {0};
	struct err err = {0};

	unlink(RECORDING);
	real_init(); /* as the first malloc() of a program does, long before it has threads */
	run_threads();
	CHECK_NOT_NULL(record_get());
	run_threads(); /* new threads, most with slots of ended ones */
	for (unsigned i = 0; i < 64; i++) {
		if (mailbox.block[i]) {
			record_free(mailbox.block[i]);
			free(mailbox.block[i]);
		}
	}
	atomic_store(&record_get()->ending, END_BY_EXIT);
	writer_sync(record_get(), 10 * NS_PER_S);
	CHECK_OK(recording_open(RECORDING, &recording, &err));
	CHECK_OK(overview_make(recording, &o, &err));
	CHECK_EQ(o.totals.allocations, 2 * N_THREADS * N_BLOCKS);
	CHECK_EQ(o.totals.frees, 2 * N_THREADS * N_BLOCKS);
	CHECK_EQ(o.totals.unknown_frees, 0);
	CHECK_EQ(o.totals.duplicate_allocations, 0);
	CHECK_EQ(o.lost_events, 0);
	CHECK_EQ(o.n_threads, 2 * N_THREADS + 1);
	overview_fini(&o);
	recording_close(recording);
	unlink(RECORDING);
}
