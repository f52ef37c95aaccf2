/* fd_numbers - prints every descriptor number a program can see, also while it allocates a lot.
 *
 * A tool that keeps or borrows a descriptor of ours shows up as a different number.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void list(const char *when)
{
	DIR *d = opendir("/proc/self/fd");
	char seen[256] = {0};
	struct dirent *e;
	int own;

	if (!d) {
		printf("%s: %s\n", when, strerror(errno));
		return;
	}
	own = dirfd(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != own && atoi(e->d_name) < 256)
			seen[atoi(e->d_name)] = 1;
	closedir(d);
	printf("%s:", when);
	for (int i = 0; i < 256; i++)
		if (seen[i])
			printf(" %d", i);
	printf(" (listed by %d)\n", own);
}

/* 0 when the next free number was the same every time. */
static int changes_while_allocating(int first)
{
	for (int i = 0; i < 20000; i++) {
		char *p = malloc(100 + (size_t)i % 900);
		int fd = open("/dev/null", O_RDONLY);

		if (fd != first || !p) {
			printf("open gave %d in round %d\n", fd, i);
			return 1;
		}
		close(fd);
		free(p);
	}
	return 0;
}

int main(void)
{
	int first = open("/dev/null", O_RDONLY);
	int ends[2], pair[2];

	printf("first open: %d\n", first);
	list("at start");
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	printf("pipe %d %d, sockets %d %d, dup %d\n", ends[0], ends[1], pair[0], pair[1], dup(0));
	list("with more");
	close(first);
	if (changes_while_allocating(first))
		return 1;
	poll(NULL, 0, 1200); /* past the period of anything that wakes up once a second */
	if (changes_while_allocating(first))
		return 1;
	list("at end");
	/* No child of anybody else's making, not even one that is not announced by SIGCHLD. */
	printf("waitpid: %d", (int)waitpid(-1, NULL, WNOHANG | __WALL));
	printf(" %s\n", strerror(errno));
	return 0;
}
