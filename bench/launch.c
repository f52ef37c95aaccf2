/* bench_launch RESULT PROGRAM [ARGUMENT]...: runs a program and tells what it cost.
 *
 * Writes "wall_ns cpu_us rss_kib status" to the file RESULT. A process of its own, because the peak
 * RSS that wait4() gives includes that of the process image before exec: measured from Python,
 * everything would begin at Python's size. CPU time is that of the program, of all children that it
 * waited for, and of those that it left behind, such as the recorder's writer: they come back here,
 * and are waited for. The wall clock stops when the program has ended.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int64_t in_us(struct timeval t)
{
	return t.tv_sec * 1000000ll + t.tv_usec;
}

static int64_t cpu_us_of(const struct rusage *usage)
{
	return in_us(usage->ru_utime) + in_us(usage->ru_stime);
}

int main(int argc, char **argv)
{
	struct rusage usage, left;
	int64_t start_ns, wall_ns, cpu_us;
	int status;
	pid_t pid;
	FILE *result;

	if (argc < 3) {
		fputs("usage: bench_launch RESULT PROGRAM [ARGUMENT]...\n", stderr);
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_ns = now_ns();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "bench_launch: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("bench_launch");
		return 1;
	}
	wall_ns = now_ns() - start_ns;
	cpu_us = cpu_us_of(&usage);
	while (wait4(-1, NULL, 0, &left) > 0)
		cpu_us += cpu_us_of(&left);
	result = fopen(argv[1], "we");
	if (!result ||
	    fprintf(result, "%lld %lld %ld %d\n", (long long)wall_ns, (long long)cpu_us,
		    usage.ru_maxrss, status) < 0 ||
	    fclose(result)) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
