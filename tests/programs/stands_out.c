/* Does one thing with memory that a report must find, and little else.
 *
 * usage: stands_out leak|owner|growth|full|peak|churn|outside|copying|wrapper|startup|quiet|killed
 * tests/e2e/test_findings.py knows the sums.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define N_STEPS 100
#define STEP_US 5000
#define MEBI (1 << 20)

static void *volatile sink; /* what is stored here is really made */

/* The last call is no tail call: the function stays in the stack. */
#define STAY() __asm__ volatile("" ::: "memory")

/* ---- memory that every program has ---- */

static NOINLINE void *load_tables(size_t n_bytes)
{
	char *p = malloc(n_bytes);

	memset(p, 1, n_bytes);
	STAY();
	return p;
}

/* ---- leak: the same function keeps a block in each step ---- */

static NOINLINE void remember_seen(void)
{
	sink = malloc(64 << 10);
	STAY();
}

/* ---- owner: three functions allocate what the cache keeps ---- */

static NOINLINE void make_key(void)
{
	sink = malloc(20 << 10);
	STAY();
}

static NOINLINE void make_value(void)
{
	sink = malloc(25 << 10);
	STAY();
}

static NOINLINE void make_node(void)
{
	sink = malloc(19 << 10);
	STAY();
}

static NOINLINE void cache_get_or_add(void)
{
	make_key();
	make_value();
	make_node();
	STAY();
}

/* Freed at once: no part of the leak, but a third of the allocations. */
static NOINLINE void answer_request(void)
{
	void *a = malloc(100), *b = malloc(200);

	sink = a;
	sink = b;
	free(a);
	free(b);
	STAY();
}

static NOINLINE void serve(void)
{
	cache_get_or_add();
	answer_request();
	STAY();
}

/* ---- growth: all that grew is freed before the program ends ---- */

static void *kept[N_STEPS];

static NOINLINE void insert_block(int step)
{
	kept[step] = malloc(256 << 10);
	STAY();
}

static NOINLINE void free_kept(void)
{
	for (int i = 0; i < N_STEPS; i++)
		free(kept[i]);
	STAY();
}

/* ---- full: a cache that replaces its oldest block; what is in it at the end is new ---- */

static NOINLINE void replace_block(int step)
{
	static void *cache[10];

	free(cache[step % 10]);
	cache[step % 10] = malloc(256 << 10);
	STAY();
}

/* ---- peak: a fifth of the run has four times the memory of the rest ---- */

static NOINLINE void import_chunk(int step)
{
	static char *chunk;

	if (step == 40) {
		chunk = malloc(24 * MEBI);
		memset(chunk, 1, 24 * MEBI);
	}
	if (step == 60)
		free(chunk);
	STAY();
}

/* ---- churn ---- */

static NOINLINE void decode_frame(void)
{
	sink = malloc(128);
	free(sink);
	STAY();
}

/* ---- copying: a block that grows by little steps, between others that are in the way ---- */

#define N_LINES 100 /* larger blocks have mappings of their own, which are not copied */

static NOINLINE void append_line(char **text, size_t n_lines)
{
	*text = realloc(*text, n_lines * 1000);
	STAY();
}

static NOINLINE void write_text(void)
{
	void *in_the_way[N_LINES][2];
	char *text = NULL;

	for (size_t i = 0; i < N_LINES; i++) {
		append_line(&text, i + 1);
		in_the_way[i][0] = malloc(i * 1000 + 1); /* where it was */
		in_the_way[i][1] = malloc(100); /* behind it */
	}
	for (size_t i = 0; i < N_LINES; i++) {
		free(in_the_way[i][0]);
		free(in_the_way[i][1]);
	}
	free(text);
	STAY();
}

/* ---- wrapper: allocates for others ---- */

static NOINLINE void *my_malloc(size_t n_bytes)
{
	void *p = malloc(n_bytes);

	STAY();
	return p;
}

static NOINLINE void calls_wrapper(void)
{
	sink = my_malloc(64 << 10);
	STAY();
}

/* ---- startup: never freed, but all of it allocated at the start ---- */

static NOINLINE void load_settings(void)
{
	for (int i = 0; i < 64; i++)
		sink = malloc(64 << 10);
	STAY();
}

static void do_step(const char *what, int step)
{
	if (strcmp(what, "leak") == 0 || strcmp(what, "killed") == 0)
		remember_seen();
	else if (strcmp(what, "owner") == 0)
		serve();
	else if (strcmp(what, "growth") == 0)
		insert_block(step);
	else if (strcmp(what, "full") == 0)
		replace_block(step);
	else if (strcmp(what, "peak") == 0)
		import_chunk(step);
	else if (strcmp(what, "wrapper") == 0)
		calls_wrapper();
	for (int i = 0; i < 100 && strcmp(what, "churn") == 0; i++)
		decode_frame();
	if (strcmp(what, "copying") == 0 && step % 10 == 0)
		write_text();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "quiet";
	void *tables = load_tables(8 * MEBI);
	char *mapped = NULL;

	if (strcmp(what, "startup") == 0)
		load_settings();
	if (strcmp(what, "outside") == 0) {
		mapped = mmap(NULL, 64 * MEBI, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
		memset(mapped, 1, 64 * MEBI);
	}
	for (int step = 0; step < N_STEPS; step++) {
		do_step(what, step);
		usleep(STEP_US);
	}
	if (strcmp(what, "killed") == 0)
		raise(SIGKILL);
	free_kept();
	free(tables);
	if (mapped)
		munmap(mapped, 64 * MEBI);
	return 0;
}
