/* The progress line, on a real terminal and where there is none. */
#include "harness/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "util/progress.h"

#define SHOWN_BYTES 65536

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

struct job {
	const char *term;
	const char *label;
	uint64_t total;
	enum progress_unit unit;
	unsigned width; /* columns of the terminal */
	unsigned n_sets; /* calls of progress_set() per millisecond */
	bool is_terminal;
	bool is_disabled;
};

/* Works until stop_fd gives a byte (or, where nothing is to be seen, for 0.8 s). */
static void work(const struct job *job, int stop_fd)
{
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
	uint64_t start_ns = now_ns(), done = 0;
	struct progress p;

	setenv("TERM", job->term, 1);
	if (job->is_disabled)
		progress_disable();
	progress_start(&p, job->label, job->total, job->unit);
	while (poll(&stop, 1, 1) == 0 &&
	       (job->is_terminal || now_ns() - start_ns < 800 * NS_PER_MS)) {
		for (unsigned i = 0; i < job->n_sets; i++)
			progress_set(&p, done += 3);
	}
	progress_end(&p);
	/* What was written last may be lost when a terminal is closed before it was read. */
	tcdrain(STDERR_FILENO);
	usleep(100 * 1000);
	_exit(0);
}

static int open_terminal(unsigned width, char *name)
{
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)width};
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	CHECK(fd >= 0);
	CHECK_EQ(grantpt(fd), 0);
	CHECK_EQ(unlockpt(fd), 0);
	CHECK_EQ(ptsname_r(fd, name, 64), 0);
	CHECK_EQ(ioctl(fd, TIOCSWINSZ, &size), 0);
	return fd;
}

/* Reads until the other side is closed; sends stop once want was seen. */
static size_t read_shown(int fd, int stop_fd, const char *want, char *shown)
{
	size_t len = 0;
	bool is_stopped = false;

	for (;;) {
		ssize_t n = read(fd, shown + len, SHOWN_BYTES - 1 - len);

		if (n <= 0) /* EIO: the terminal was closed */
			break;
		len += (size_t)n;
		shown[len] = 0;
		if (!is_stopped && want && strstr(shown, want)) {
			is_stopped = true;
			CHECK_EQ(write(stop_fd, "", 1), 1);
		}
	}
	shown[len] = 0;
	return len;
}

/* What the job shows on its terminal (or pipe) until want is there. */
static void run(const struct job *job, const char *want, char *shown)
{
	char name[64] = "";
	int stop[2], out[2] = {-1, -1}, master = -1, status;
	pid_t pid;

	CHECK_EQ(pipe(stop), 0);
	if (job->is_terminal)
		master = open_terminal(job->width, name);
	else
		CHECK_EQ(pipe(out), 0);
	pid = fork();
	CHECK_NE(pid, -1);
	if (pid == 0) {
		setsid(); /* so that the terminal becomes ours, and we its foreground */
		if (job->is_terminal)
			out[1] = open(name, O_RDWR);
		dup2(out[1], STDERR_FILENO);
		close(out[1]);
		work(job, stop[0]);
	}
	if (!job->is_terminal)
		close(out[1]);
	read_shown(job->is_terminal ? master : out[0], stop[1], want, shown);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	close(job->is_terminal ? master : out[0]);
	close(stop[0]);
	close(stop[1]);
}

static unsigned count_lines(const char *shown)
{
	unsigned n = 0;

	for (const char *p = shown; (p = strstr(p, "\r\033[K")); p++)
		n++;
	return n;
}

TEST(terminal_shows_bar_percent_rate_and_remaining_time)
{
	const struct job job = {.term = "xterm",
				.label = "reading app.dat",
				.total = 100000000,
				.unit = PROGRESS_BYTES,
				.width = 100,
				.n_sets = 100,
				.is_terminal = true};
	static char shown[SHOWN_BYTES];
	uint64_t start_ns = now_ns(), elapsed_ns;

	run(&job, "B/s", shown);
	elapsed_ns = now_ns() - start_ns;
	CHECK(strstr(shown, "\r\033[Kreading app.dat ["));
	CHECK(strstr(shown, "%  "));
	CHECK(strstr(shown, "iB/s  "));
	CHECK(strstr(shown, " left"));
	CHECK(elapsed_ns >= 500 * NS_PER_MS); /* not before that */
	CHECK(count_lines(shown) <= elapsed_ns / (100 * NS_PER_MS) + 2);
	/* erased at the end */
	CHECK_STR_EQ(shown + strlen(shown) - 4, "\r\033[K");
}

TEST(slow_jobs_and_unknown_totals_are_shown)
{
	const struct job job = {.term = "xterm",
				.label = "sorting",
				.unit = PROGRESS_EVENTS,
				.width = 80,
				.n_sets = 1,
				.is_terminal = true};
	static char shown[SHOWN_BYTES];

	run(&job, "events/s", shown);
	CHECK(strstr(shown, "sorting "));
	CHECK(!strchr(shown, '%'));
	CHECK(!strstr(shown, "[#"));
}

TEST(line_fits_the_terminal)
{
	const struct job job = {
		.term = "xterm",
		.label = "reading \033[2Ja-name\n-that-is-much-too-long-for-the-line",
		.total = 1000000,
		.unit = PROGRESS_EVENTS,
		.width = 60,
		.n_sets = 1,
		.is_terminal = true};
	static char shown[SHOWN_BYTES];
	char *save = NULL;

	run(&job, "left", shown);
	CHECK(!strstr(shown, "[2J") || strstr(shown, "?[2J"));
	CHECK(!strchr(shown, '\n'));
	for (char *p = strtok_r(shown, "\r", &save); p; p = strtok_r(NULL, "\r", &save))
		CHECK(strlen(p) - 3 < 60);
}

TEST(nothing_is_shown_where_nobody_looks)
{
	const struct job pipe_job = {.term = "xterm", .label = "x", .total = 1000000, .n_sets = 10};
	static char shown[SHOWN_BYTES];

	run(&pipe_job, NULL, shown);
	CHECK_STR_EQ(shown, "");
}

/* On a terminal, but for at least 0.8 s nothing may come. */
static void check_silent(const char *term, bool is_disabled)
{
	char name[64];
	int master = open_terminal(80, name), stop[2], status;
	struct job job = {.term = term, .label = "x", .total = 1000, .n_sets = 10};
	char byte;
	pid_t pid;

	job.is_disabled = is_disabled;
	CHECK_EQ(pipe(stop), 0);
	pid = fork();
	CHECK_NE(pid, -1);
	if (pid == 0) {
		setsid();
		dup2(open(name, O_RDWR), STDERR_FILENO);
		work(&job, stop[0]); /* ends by itself */
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	CHECK(read(master, &byte, 1) <= 0);
	close(master);
	close(stop[0]);
	close(stop[1]);
}

TEST(dumb_terminals_and_quiet_show_nothing)
{
	check_silent("dumb", false);
	check_silent("", false);
	check_silent("xterm", true);
}
