/* A word index over a made-up log, with the allocation habits that a profiler is asked about:
 * a vector that grows through realloc, short-lived temporaries, two worker threads that allocate
 * and whose blocks the main thread frees, and one leak (each worker forgets its report).
 * Prints the same lines on every run.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	N_WORKERS = 2,
	N_LINES = 2000
};

struct words {
	char **items;
	size_t n, cap;
};

struct worker {
	pthread_t thread;
	unsigned seed;
	struct words words;
};

static void *must(void *p)
{
	if (!p) {
		fputs("demo: out of memory\n", stderr);
		exit(1);
	}
	return p;
}

static void words_add(struct words *w, const char *word)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 16;
		w->items = must(realloc(w->items, w->cap * sizeof(*w->items)));
	}
	w->items[w->n++] = must(strdup(word));
}

static void words_free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->items[i]);
	free(w->items);
}

/* A temporary: the caller frees it before it makes the next one. */
static char *read_line(unsigned *seed)
{
	static const char *const verbs[] = {"open", "read", "write", "close"};
	char *line = must(malloc(64));

	*seed = *seed * 1103515245u + 12345u;
	snprintf(line, 64, "%s file%u", verbs[*seed >> 16 & 3], *seed >> 18 & 63);
	return line;
}

static void write_report(const struct worker *w)
{
	char *report = must(malloc(256));

	snprintf(report, 256, "worker %u: %zu words", w->seed, w->words.n);
	/* Never freed: this is the leak to find. */
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < N_LINES; i++) {
		char *line = read_line(&w->seed);
		char *rest = NULL;

		for (char *word = strtok_r(line, " ", &rest); word;
		     word = strtok_r(NULL, " ", &rest))
			words_add(&w->words, word);
		free(line);
	}
	write_report(w);
	return NULL;
}

static size_t count_distinct(const struct worker *workers)
{
	struct words seen = {0};
	size_t n;

	for (int i = 0; i < N_WORKERS; i++) {
		for (size_t j = 0; j < workers[i].words.n; j++) {
			const char *word = workers[i].words.items[j];
			size_t k = 0;

			while (k < seen.n && strcmp(seen.items[k], word) != 0)
				k++;
			if (k == seen.n)
				words_add(&seen, word);
		}
	}
	n = seen.n;
	words_free(&seen);
	return n;
}

int main(void)
{
	struct worker workers[N_WORKERS] = {0};
	size_t n_words = 0;

	for (int i = 0; i < N_WORKERS; i++) {
		workers[i].seed = (unsigned)i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
			fputs("demo: cannot start a thread\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i < N_WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		n_words += workers[i].words.n;
	}
	printf("demo: %zu words, %zu different ones\n", n_words, count_distinct(workers));
	for (int i = 0; i < N_WORKERS; i++)
		words_free(&workers[i].words);
	return 0;
}
