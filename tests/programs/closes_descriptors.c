/* closes_descriptors HOW FOLDER - closes every descriptor above 2, again and again.
 *
 * On the freed numbers it opens files of its own with known contents, allocates enough to keep a
 * recorder busy, and looks whether anybody wrote into its files. HOW: loop, close_range, dup2 (puts
 * its file on every number up to 200), threads (closes and opens in one thread, allocates in three).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_FILES 20
#define N_ROUNDS 12
#define FILE_BYTES 5000

static const char *how, *folder;
static char contents[FILE_BYTES];
static _Atomic int stop;

static void close_everything(void)
{
	if (!strcmp(how, "close_range")) {
		close_range(3, ~0u, 0);
		return;
	}
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

static void allocate(unsigned n)
{
	void *held[32] = {0};

	for (unsigned i = 0; i < n; i++) {
		free(held[i % 32]);
		held[i % 32] = malloc(1 + i % 600);
	}
	for (unsigned i = 0; i < 32; i++)
		free(held[i]);
}

static void *allocate_until_stopped(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		allocate(1000);
	return NULL;
}

static int open_file(unsigned i)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/file%u", folder, i);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || pwrite(fd, contents, FILE_BYTES, 0) != FILE_BYTES)
		printf("cannot write %s\n", path);
	return fd;
}

static int check_file(int fd)
{
	char now[FILE_BYTES + 1];
	struct stat st;

	if (fstat(fd, &st) || st.st_size != FILE_BYTES)
		return 1;
	return pread(fd, now, sizeof(now), 0) != FILE_BYTES || memcmp(now, contents, FILE_BYTES);
}

static int one_round(unsigned round)
{
	int fds[N_FILES];
	int bad = 0;

	close_everything();
	for (unsigned i = 0; i < N_FILES; i++)
		fds[i] = open_file(i);
	if (round == 0)
		printf("opened %d to %d\n", fds[0], fds[N_FILES - 1]);
	for (int fd = 3; !strcmp(how, "dup2") && fd < 200; fd++)
		if (fd > fds[N_FILES - 1])
			dup2(fds[0], fd);
	if (strcmp(how, "threads"))
		allocate(40000);
	for (unsigned i = 0; i < N_FILES; i++)
		bad += check_file(fds[i]);
	return bad;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	unsigned rounds = N_ROUNDS;
	int bad = 0, threaded;

	if (argc != 3)
		return 2;
	how = argv[1];
	folder = argv[2];
	threaded = !strcmp(how, "threads");
	for (unsigned i = 0; i < FILE_BYTES; i++)
		contents[i] = (char)('a' + i % 23);
	close_everything();
	for (int i = 0; threaded && i < 3; i++)
		pthread_create(&threads[i], NULL, allocate_until_stopped, NULL);
	if (threaded)
		rounds = 300;
	for (unsigned round = 0; round < rounds; round++)
		bad += one_round(round);
	atomic_store(&stop, 1);
	for (int i = 0; threaded && i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%u rounds, %d files disturbed\n", rounds, bad);
	return bad != 0;
}
