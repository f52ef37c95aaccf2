/* starts_program HOW PROGRAM ARGUMENT - starts another program, prints how it ended.
 *
 * HOW: fork_exec, vfork_exec, spawn, spawnp_with_environ, system, popen, execvpe. Prints LD_PRELOAD as
 * the program itself sees it, too.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *child_argv[] = {NULL, NULL, NULL};
	const char *how, *preload = getenv("LD_PRELOAD");
	char line[8192];
	int status = -1;
	pid_t pid = 0;
	FILE *f;

	if (argc != 4)
		return 2;
	how = argv[1];
	child_argv[0] = argv[2];
	child_argv[1] = argv[3];
	printf("LD_PRELOAD here: %s\n", preload ? preload : "(unset)");
	fflush(stdout);
	snprintf(line, sizeof(line), "%s %s", argv[2], argv[3]);
	if (!strcmp(how, "fork_exec") && (pid = fork()) == 0) {
		execv(argv[2], child_argv);
		_exit(127);
	} else if (!strcmp(how, "execvpe") && (pid = fork()) == 0) {
		execvpe(argv[2], child_argv, environ);
		_exit(127);
	} else if (!strcmp(how, "vfork_exec") && (pid = vfork()) == 0) {
		execve(argv[2], child_argv, environ);
		_exit(127);
	} else if (!strcmp(how, "spawn")) {
		posix_spawn(&pid, argv[2], NULL, NULL, child_argv, environ);
	} else if (!strcmp(how, "spawnp_with_environ")) {
		static char path[] = "PATH=/usr/bin:/bin";
		char *small[] = {path, NULL};

		posix_spawnp(&pid, argv[2], NULL, NULL, child_argv, small);
	} else if (!strcmp(how, "system")) {
		status = system(line);
	} else if (!strcmp(how, "popen")) {
		f = popen(line, "r");
		while (f && fgets(line, sizeof(line), f))
			fputs(line, stdout);
		status = f ? pclose(f) : -1;
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	printf("%s: status %x\n", how, (unsigned)status);
	return 0;
}
