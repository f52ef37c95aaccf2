/* overwrites_title - overwrites its arguments and its environment, then forks. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	char *end = argv[0];
	int status = 1;

	for (int i = 0; i < argc; i++)
		end = argv[i] + strlen(argv[i]);
	for (char **e = environ; *e; e++)
		end = *e + strlen(*e);
	memset(argv[0], 'x', (size_t)(end - argv[0]));
	if (fork() == 0) {
		free(malloc(4321));
		_exit(0);
	}
	wait(&status);
	return status;
}
