/* leaves_namespace HOW - allocates, enters another user namespace, allocates on.
 *
 * Only a process with a single thread may do that. HOW: unshare; setns (into the one of a child);
 * twice; mapped (and becomes root in it); thread (has another thread, so it fails); often (300 times
 * another call of that kind). Prints what the kernel said, and the descriptors that are open afterwards.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_BLOCKS 30000

static void work(void)
{
	void *block[100] = {0};

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		free(block[i % 100]);
		block[i % 100] = malloc(1 + i % 3000);
	}
	for (unsigned i = 0; i < 100; i++)
		free(block[i]);
}

static void tell(const char *what, int result)
{
	printf("%s: %s\n", what, result ? strerror(errno) : "done");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	tell(path, fd >= 0 && write(fd, text, strlen(text)) > 0 ? 0 : -1);
	close(fd);
}

static void map_root(uid_t uid, gid_t gid)
{
	char text[64];

	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)gid);
	write_file("/proc/self/gid_map", text);
	snprintf(text, sizeof(text), "0 %u 1", (unsigned)uid);
	write_file("/proc/self/uid_map", text);
	tell("setuid", setuid(0));
	printf("uid %u\n", (unsigned)getuid());
}

static void join_child(void)
{
	int ready[2], fd;
	char path[64], byte;
	pid_t pid;

	if (pipe(ready) < 0)
		exit(2);
	pid = fork();
	if (pid == 0) {
		tell("unshare in the child", unshare(CLONE_NEWUSER));
		fflush(stdout);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(2);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	tell("setns", setns(fd, CLONE_NEWUSER));
	close(fd);
	close(ready[0]);
	close(ready[1]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Needs a process with one thread and changes nothing in one. */
static void be_alone_often(void)
{
	unsigned n_done = 0;

	for (unsigned i = 0; i < 300; i++) {
		n_done += unshare(CLONE_VM) == 0;
		for (unsigned k = 0; k < 1000; k++)
			free(malloc(1 + k));
	}
	printf("alone: %u times\n", n_done);
}

static void list_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		printf("%s ", entry->d_name);
	printf("\n");
	if (dir)
		closedir(dir);
}

static void *wait_for_ever(void *arg)
{
	pause();
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	uid_t uid = getuid();
	gid_t gid = getgid();
	pthread_t t;

	work();
	fflush(stdout);
	if (!strcmp(how, "thread") && pthread_create(&t, NULL, wait_for_ever, NULL))
		return 2;
	if (!strcmp(how, "setns"))
		join_child();
	else if (!strcmp(how, "often"))
		be_alone_often();
	else
		tell("unshare", unshare(CLONE_NEWUSER));
	work();
	if (!strcmp(how, "mapped") || !strcmp(how, "twice"))
		map_root(uid, gid);
	if (!strcmp(how, "twice"))
		tell("again", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	tell("nothing", unshare(0));
	tell("nonsense", unshare(1));
	work();
	list_descriptors();
	return 0;
}
