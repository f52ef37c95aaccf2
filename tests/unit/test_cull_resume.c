/* A writer that culls is killed at any moment of a step, and another one goes on: each event counts once.
 *
 * A child runs the step in a mapping of the world's file, one instruction at a time. Whenever an
 * instruction has changed the world, the parent maps the file privately, which gives it the world that a
 * kill at this moment leaves. There it goes on as another writer does, lets the threads end, and compares.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cull_world.h"

#define PAGE 4096u
#define N_PAGES (sizeof(struct cull_world) / PAGE)

typedef void action(void);

/* The pages that a run changes, and their contents when they were last looked at. */
static struct {
	uint8_t *now; /* the file */
	uint32_t n;
	uint32_t page[1024];
	uint8_t then[1024][PAGE];
} watched;

static unsigned n_checked;

/* ---- watching for changes ---- */

/* Runs it once, without a stop, to see what it changes. Then the world is as it was. */
static void watch(int fd, action *run)
{
	static uint8_t *before;

	watched.now =
		mmap(NULL, sizeof(struct cull_world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK_NE((uintptr_t)watched.now, (uintptr_t)MAP_FAILED);
	watched.n = 0;
	before = before ? before : malloc(sizeof(struct cull_world));
	memcpy(before, watched.now, sizeof(struct cull_world));
	cull_world_map(fd, false);
	run();
	for (uint32_t i = 0; i < N_PAGES; i++) {
		uint8_t *now = watched.now + i * PAGE, *then = before + i * PAGE;

		if (!memcmp(now, then, PAGE))
			continue;
		memcpy(now, then, PAGE);
		if ((uint8_t *)cull_world + i * PAGE >= (uint8_t *)cull_world->written)
			continue; /* a copy, of which only its end counts */
		CHECK(watched.n < ARRAY_LEN(watched.page));
		memcpy(watched.then[watched.n], then, PAGE);
		watched.page[watched.n++] = i;
	}
}

static void watch_no_more(void)
{
	munmap(watched.now, sizeof(struct cull_world));
}

/* Has the world changed since the last call? */
static bool has_changed(void)
{
	bool is_other = false;

	for (uint32_t i = 0; i < watched.n; i++) {
		const uint8_t *page = watched.now + watched.page[i] * PAGE;

		if (!memcmp(page, watched.then[i], PAGE))
			continue;
		memcpy(watched.then[i], page, PAGE);
		is_other = true;
	}
	return is_other;
}

/* ---- running with stops ---- */

static pid_t start(int fd, action *run)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		cull_world_map(fd, false);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		run();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL), 0);
	return pid;
}

/* One instruction. False: the process has ended. */
static bool step(pid_t pid)
{
	int status;

	CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		CHECK_EQ(WEXITSTATUS(status), 0);
		return false;
	}
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return true;
}

/* Another writer goes on in a private copy of the world as it is now. */
static void check_now(int fd, action *go_on)
{
	cull_world_map(fd, true);
	for (unsigned i = 1; i <= CULL_WORLD_THREADS; i++) { /* threads do not wait for it */
		cull_world_end_block(i);
		cull_world_rare(i, EVENT_MARKER, i);
	}
	cull_world_resume();
	go_on();
	cull_world_finish();
	n_checked++;
}

/* Checks each moment at which a writer that runs it may be killed. */
static void check_kills(int fd, action *run, action *go_on)
{
	pid_t pid;

	watch(fd, run);
	pid = start(fd, run);
	check_now(fd, go_on);
	while (step(pid)) {
		if (has_changed())
			check_now(fd, go_on);
	}
	watch_no_more();
}

/* Kills a writer that runs it when it has changed the world n times. False: it ended before. */
static bool kill_after(int fd, action *run, unsigned n)
{
	pid_t pid;

	watch(fd, run);
	pid = start(fd, run);
	while (n > 0 && step(pid))
		n -= has_changed();
	watch_no_more();
	if (n > 0)
		return false;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return true;
}

/* ---- what happens ---- */

static void act(unsigned n)
{
	while (n--)
		cull_world_act();
}

static void go_on(void)
{
	act(20);
	cull_world_step();
	act(20);
}

static int begin(uint32_t seed, uint64_t max_pending)
{
	int fd = cull_world_begin(max_pending, 20);

	n_checked = 0;
	cull_world->seed = seed;
	act(100);
	cull_world_step();
	cull_world_step(); /* without events: what is old is written */
	return fd;
}

/* Kills the writer at each store of a step, and ends the test. */
static void end(int fd, action *run)
{
	check_kills(fd, run, go_on);
	CHECK(n_checked > 300);
	cull_world_end(fd);
}

TEST(each_event_counts_once_whenever_the_writer_is_killed)
{
	int fd = begin(1, 500);

	cull_world_malloc(1, 0x800000, 1, 1);
	cull_world_sleep(25);
	cull_world_step(); /* it is old */
	cull_world_malloc(1, 0x900000, 1, 1);
	cull_world_free(1, 0x900000); /* left out, which must be seen ... */
	cull_world_free(1, 0x800000); /* ... here */
	act(12);
	end(fd, cull_world_step);
}

TEST(a_kill_while_too_much_is_pending_costs_nothing)
{
	int fd = begin(2, 8);

	act(12);
	end(fd, cull_world_step_soon);
}

/* The step writes the last events that fit into an output block, and begins another one. */
TEST(a_kill_while_an_output_block_is_handed_over_costs_nothing)
{
	int fd = begin(3, 500);
	uint32_t n_written = cull_world->n_written;

	while (atomic_load(&cull_world->cull->lane[0]->out->used_bytes) < BLOCK_DATA_BYTES - 800) {
		for (unsigned i = 0; i < 8; i++)
			cull_world_rare(cull_world->cull->lane[0]->thread, EVENT_MARKER,
					~(uint64_t)i);
		cull_world_step_soon();
	}
	CHECK_EQ(cull_world->n_written, n_written);
	for (unsigned i = 0; i < 60; i++)
		cull_world_rare(cull_world->cull->lane[0]->thread, EVENT_MARKER, ~(uint64_t)i);
	/* a thread takes the block as soon as it is free */
	atomic_store(&cull_world->session.area[0].next_slot, cull_world->cull->lane[0]->out_slot);
	check_kills(fd, cull_world_step_soon, go_on);
	cull_world_map(fd, false);
	CHECK_EQ(cull_world->n_written, n_written + 1);
	cull_world_end(fd);
}

TEST(a_writer_may_be_killed_while_it_goes_on_where_another_one_was_killed)
{
	int fd;

	for (unsigned n = 100; n < 1000; n += 500) {
		fd = begin(4, 500);
		act(12);
		CHECK(kill_after(fd, cull_world_step, n));
		check_kills(fd, cull_world_resume, go_on);
		CHECK(n_checked > 100);
		cull_world_end(fd);
	}
}
