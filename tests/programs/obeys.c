/* obeys - does what its input says, one command per line, and answers each with "done".
 *
 *	+NAME SIZE     allocates a block; NAME is a number from 0 to 63
 *	-NAME          frees the block
 *	=NAME SIZE     changes its size with realloc
 *	~NAME COUNT    allocates and frees a block of size NAME, COUNT times
 *	*NAME SIZE     allocates a block and at once changes its size with realloc, in place, 100
 *	               times; keeps the last block
 * With a t in front another thread does it. The program itself allocates nothing else.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *held[64];
static char line[128];
static pthread_barrier_t barrier;
static void *volatile made;

static void obey(const char *command)
{
	char *rest;
	unsigned long name = strtoul(command + 1, &rest, 10) % 4096;
	unsigned long number = strtoul(rest, NULL, 10);

	switch (command[0]) {
	case '+':
		held[name % 64] = malloc(number);
		break;
	case '-':
		free(held[name % 64]);
		break;
	case '=':
		held[name % 64] = realloc(held[name % 64], number);
		break;
	case '~':
		for (unsigned long i = 0; i < number; i++) {
			made = malloc(name);
			free(made);
		}
		break;
	case '*':
		for (int i = 0; i < 100; i++) {
			free(held[name % 64]);
			made = malloc(number);
			held[name % 64] = realloc(made, number + 1);
		}
		break;
	default:
		_exit(3);
	}
}

static void *obey_in_thread(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (!line[0])
			return arg;
		obey(line + 1);
		pthread_barrier_wait(&barrier);
	}
}

/* False: the input has ended. */
static int read_line(void)
{
	size_t n = 0;
	char c;

	while (read(0, &c, 1) == 1 && c != '\n' && n < sizeof(line) - 1)
		line[n++] = c;
	line[n] = 0;
	return n > 0;
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(4);
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, obey_in_thread, NULL))
		return 2;
	say("ready\n");
	while (read_line()) {
		if (line[0] == 't') {
			pthread_barrier_wait(&barrier);
			pthread_barrier_wait(&barrier);
		} else {
			obey(line);
		}
		say("done\n");
	}
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	return 0;
}
