/* becomes_daemon REPORT - forks twice, leaves the session, closes 0 to 2, then works.
 *
 * The daemon writes what it has to say to REPORT. A pipe inherited from the caller ends with it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long allocate(unsigned n)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned char *p = malloc(1 + i % 800);

		memset(p, (int)i, 1 + i % 800);
		sum += p[i % 800];
		free(p);
	}
	return sum;
}

static int daemon_main(const char *report_path)
{
	char line[128];
	int fd, len;

	setsid();
	if (fork())
		_exit(0);
	umask(022);
	if (chdir("/"))
		_exit(1);
	for (fd = 0; fd < 3; fd++)
		close(fd);
	fd = open("/dev/null", O_RDWR);
	if (fd != 0 || dup(0) != 1 || dup(0) != 2)
		_exit(1);
	len = snprintf(line, sizeof(line), "daemon: sum %lu\n", allocate(100000));
	fd = open(report_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, line, (size_t)len) != len)
		_exit(1);
	return 0; /* through exit(), as a daemon that ends in order */
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 2)
		return 2;
	printf("before: sum %lu\n", allocate(1000));
	fflush(stdout);
	if (fork() == 0)
		return daemon_main(argv[1]);
	wait(&status);
	printf("first child: %d\n", status);
	return 0;
}
