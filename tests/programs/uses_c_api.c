/* uses_c_api HOW - uses memory_profiler.h, and runs without the library as well.
 *
 * HOW: start_stop, markers, timestamp, toggle_files, pause, idle_thread, sync. Sizes of the blocks tell them apart.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_profiler.h"

static void *blocks[16];

static void start_stop(void)
{
	blocks[0] = malloc(30001);
	if (memory_profiler_start)
		memory_profiler_start();
	blocks[1] = malloc(30002);
	if (memory_profiler_stop)
		memory_profiler_stop();
	blocks[2] = malloc(30003);
	free(blocks[0]);
	free(blocks[1]);
	if (memory_profiler_start)
		memory_profiler_start();
	blocks[3] = malloc(30004);
}

static void markers(void)
{
	for (unsigned i = 1; i <= 3; i++) {
		if (memory_profiler_set_marker)
			memory_profiler_set_marker(i * 1000003);
		blocks[i] = malloc(40000 + i);
	}
	if (memory_profiler_set_marker)
		memory_profiler_set_marker(4294967295u);
}

static void timestamp(void)
{
	blocks[0] = malloc(45001);
	if (memory_profiler_override_next_timestamp)
		memory_profiler_override_next_timestamp(1234567890123ull);
	blocks[1] = malloc(45002);
	blocks[2] = malloc(45003);
}

static void toggle_files(void)
{
	blocks[0] = malloc(46001);
	if (memory_profiler_stop)
		memory_profiler_stop();
	blocks[1] = malloc(46002);
	if (memory_profiler_start)
		memory_profiler_start();
	blocks[2] = malloc(46003);
	free(blocks[0]);
	if (memory_profiler_stop)
		memory_profiler_stop();
	if (memory_profiler_start)
		memory_profiler_start();
	blocks[3] = malloc(46004);
}

/* Recording is off for a fifth of a second, between two markers. */
static void pause_recording(void)
{
	for (unsigned i = 0; i < 15; i++) {
		if (i == 5 && memory_profiler_set_marker)
			memory_profiler_set_marker(1);
		if (i == 5 && memory_profiler_stop)
			memory_profiler_stop();
		blocks[i] = malloc(100000 + i);
		usleep(20000);
		if (i == 10 && memory_profiler_start)
			memory_profiler_start();
		if (i == 10 && memory_profiler_set_marker)
			memory_profiler_set_marker(2);
	}
}

static pthread_barrier_t barrier;

static void *wait_between(void *arg)
{
	for (unsigned i = 1; i <= 3; i++) {
		blocks[8 + i] = malloc(48100 + i);
		pthread_barrier_wait(
			&barrier); /* idle, with events in its hands, while files change */
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void idle_thread(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, wait_between, NULL))
		exit(2);
	for (unsigned i = 1; i <= 3; i++) {
		pthread_barrier_wait(&barrier);
		if (memory_profiler_stop)
			memory_profiler_stop();
		if (memory_profiler_start)
			memory_profiler_start();
		blocks[i] = malloc(48000 + i);
		if (memory_profiler_sync)
			memory_profiler_sync();
		pthread_barrier_wait(&barrier);
	}
	pthread_join(t, NULL);
}

static void sync_now(void)
{
	blocks[0] = malloc(47001);
	if (memory_profiler_sync)
		memory_profiler_sync();
	printf("synced\n");
	fflush(stdout);
	getchar(); /* the test looks into the recording meanwhile */
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "start_stop"))
		start_stop();
	else if (!strcmp(how, "markers"))
		markers();
	else if (!strcmp(how, "timestamp"))
		timestamp();
	else if (!strcmp(how, "toggle_files"))
		toggle_files();
	else if (!strcmp(how, "pause"))
		pause_recording();
	else if (!strcmp(how, "idle_thread"))
		idle_thread();
	else if (!strcmp(how, "sync"))
		sync_now();
	printf("done\n");
	return 0;
}
