/* gather/remote_copy.c - see remote_copy.h. */
#include "gather/remote_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gather/gather.h"

#define STEP_NS (20 * NS_PER_MS)
#define WAIT_S 10

static volatile sig_atomic_t is_unwanted;

static void on_term(int number)
{
	(void)number;
	is_unwanted = 1;
	gather_stop();
}

static void remove_folder(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

static void pause_step(void)
{
	const struct timespec step = {.tv_nsec = STEP_NS};

	nanosleep(&step, NULL);
}

/* The child. What goes wrong is written to `complaints`. */
__attribute__((noreturn)) static void receive(const char *target, const char *folder,
					      int complaints, pid_t parent)
{
	const char *token = getenv("MEMORY_PROFILER_SERVER_TOKEN");
	struct gather_options o = {
		.target = target,
		.link = {.folder = folder, .token = token ? token : "", .wait_s = WAIT_S},
	};
	struct sigaction on_end = {.sa_handler = on_term};
	struct err err = {0};
	unsigned n_cut;

	sigaction(SIGTERM, &on_end, NULL);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the parent, which ends us */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		is_unwanted = 1;
	if (!is_unwanted && gather_run(&o, &n_cut, &err) < 0)
		is_unwanted = write(complaints, &err, sizeof(err)) > 0;
	close(complaints);
	while (!is_unwanted) /* the recording is over, and still being looked at */
		pause_step();
	remove_folder(folder);
	_exit(0);
}

/* The recording in the folder, or NULL: not yet. */
static char *find_recording(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char *path = NULL;

	while (d && !path && (e = readdir(d))) {
		if (e->d_name[0] != '.' && asprintf(&path, "%s/%s", folder, e->d_name) < 0)
			path = NULL;
	}
	if (d)
		closedir(d);
	return path;
}

/* Is all here that had been written when the connection was made? The first status says how much
 * that is. */
static bool is_abreast(const char *path, uint64_t *wanted_bytes)
{
	uint8_t page[FORMAT_HEADER_BYTES];
	struct file_status status;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && pread(fd, page, sizeof(page), 0) == (ssize_t)sizeof(page) &&
		  file_status_decode(page, sizeof(page), &status) && fstat(fd, &st) == 0;

	if (fd >= 0)
		close(fd);
	if (!ok)
		return false;
	if (*wanted_bytes == 0)
		*wanted_bytes = status.field[STATUS_END_OF_CHUNKS];
	return (uint64_t)st.st_size >= *wanted_bytes;
}

/* Waits until the copy is usable. complaints: not blocking. */
static int wait_for_copy(struct remote_copy *c, int complaints, struct err *err)
{
	uint64_t wanted_bytes = 0;
	struct err theirs;

	for (;;) {
		ssize_t n = read(complaints, &theirs, sizeof(theirs));

		if (n == (ssize_t)sizeof(theirs)) {
			*err = theirs;
			return -(int)theirs.code;
		}
		if (!c->path)
			c->path = find_recording(c->folder);
		if (c->path && is_abreast(c->path, &wanted_bytes))
			return 0;
		if (n == 0) /* the recording is over; what is here is all there is */
			return c->path ? 0 : err_set(err, ERR_IO, "nothing was received");
		pause_step();
	}
}

static char *make_folder(struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = NULL;

	if (asprintf(&folder, "%s/memory-profiler-XXXXXX", tmp && *tmp ? tmp : "/var/tmp") < 0) {
		err_set_memory(err, 256);
		return NULL;
	}
	if (mkdtemp(folder))
		return folder;
	err_set_errno(err, errno, "cannot create %s", folder);
	free(folder);
	return NULL;
}

int remote_copy_open(const char *target, struct remote_copy *ret, struct err *err)
{
	struct remote_copy c = {.folder = make_folder(err)};
	pid_t self = getpid();
	int pipes[2], n;

	if (!c.folder)
		return -(int)err->code;
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK) < 0 || (c.pid = fork()) < 0) {
		n = err_set_errno(err, errno, "cannot start a process");
		c.pid = 0;
		rmdir(c.folder);
		remote_copy_close(&c);
		return n;
	}
	if (c.pid == 0)
		receive(target, c.folder, pipes[1], self);
	close(pipes[1]);
	n = wait_for_copy(&c, pipes[0], err);
	close(pipes[0]);
	if (n < 0)
		remote_copy_close(&c);
	else
		*ret = c;
	return n;
}

void remote_copy_close(struct remote_copy *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGTERM);
		waitpid(c->pid, NULL, 0);
	}
	free(c->folder);
	free(c->path);
	*c = (struct remote_copy){0};
}
