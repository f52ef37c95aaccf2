/* e2e/open_many.c - opens many variants of a recording and reports on each, in one process.
 *
 * usage: open_many cut FILE          every size from whole to nothing
 *        open_many flip FILE N SEED  N copies, each with a few bits flipped
 * For each variant the whole way of `report` is gone: build the store, ask, print as text and as
 * JSON (to nowhere). A variant may be refused with a text, or opened; then what it says must be sound
 * in itself. Prints counts as JSON. A crash or an unsound result ends it with a status that is not 0;
 * stderr names the variant.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report_json.h"
#include "cli/report_text.h"
#include "harness/random.h"
#include "open/open.h"

#define NAMES_EVERY 256

struct counts {
	uint64_t n_opened;
	uint64_t n_refused;
	uint64_t n_different; /* numbers of events that were seen */
	uint64_t last_events;
	uint64_t whole_events;
	bool is_monotonic; /* less of the file must not give more events */
};

static struct filter_args filter;
static FILE *out; /* the real stdout */
static char variant[64];

__attribute__((noreturn)) static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", variant, what);
	exit(1);
}

static void check_sound(const struct report *r)
{
	const struct store_facts *f = r->facts;
	uint64_t peak = 0, allocs = 0, bytes = 0, leaked = 0;

	for (size_t i = 0; i < r->groups.n; i++) {
		const struct query_group *g = &r->groups.group[i];

		peak += g->peak_bytes;
		allocs += g->n_allocs;
		bytes += g->n_bytes;
		leaked += g->leaked_bytes;
		if (g->n_leaked + g->n_temporary > g->n_allocs)
			fail("a call site has more leaked and temporary blocks than blocks");
	}
	if (peak != f->peak_bytes || peak != r->peak.n_bytes)
		fail("the contributions do not add up to the peak");
	if (allocs != f->n_rows || bytes != f->n_bytes || leaked != f->live_bytes)
		fail("the call sites do not add up to the totals");
}

static void open_one(const char *path, struct counts *c)
{
	const struct open_options how = {.no_cache = true, .n_threads = 1};
	struct report_options options = {.filter = &filter};
	struct report_view v = {.path = path, .options = &options};
	struct open_recording opened;
	struct err err = {0};

	if (open_recording_open(path, &how, &opened, &err) < 0) {
		if (!err.text[0] || !strstr(err.text, path))
			fail("refused without a text that names the file");
		c->n_refused++;
		return;
	}
	/* reading the debug information of libc takes most of the time: not for each */
	if ((c->n_opened + c->n_refused) % NAMES_EVERY != 0)
		frames_set_resolver(opened.frames, NULL, NULL);
	v.store = opened.store;
	v.frames = opened.frames;
	if (report_view_make(&v, &err) < 0 || report_text_print(&v, &err) < 0)
		fail(err.text);
	options.is_json = true;
	if (report_json_print(&v, &err) < 0)
		fail(err.text);
	check_sound(&v.report);
	if (c->is_monotonic && v.report.facts->n_events > c->last_events)
		fail("less of the file gave more events");
	c->n_different += v.report.facts->n_events != c->last_events;
	c->last_events = v.report.facts->n_events;
	c->n_opened++;
	if (v.report.facts->n_events < c->whole_events && v.report.facts->is_complete)
		fail("events are missing, and it calls itself complete");
	report_view_fini(&v);
	open_recording_close(&opened);
}

static void write_copy(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) < 0)
		fail("cannot write the copy");
}

static uint8_t *read_file(const char *path, size_t *len)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail("cannot open the file");
	data = malloc((size_t)st.st_size + 1);
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
		fail("cannot read the file");
	close(fd);
	*len = (size_t)st.st_size;
	return data;
}

static void cut(const char *copy, const uint8_t *data, size_t len, struct counts *c)
{
	c->is_monotonic = true;
	write_copy(copy, data, len);
	for (size_t size = len; size-- > 0;) {
		snprintf(variant, sizeof(variant), "cut to %zu bytes", size);
		if (truncate(copy, (off_t)size) < 0)
			fail("cannot cut the copy");
		open_one(copy, c);
	}
}

/* One to eight bits, near each other or not, and now and then not in the header, which refuses
 * most of its changes. */
static void flip(const char *copy, uint8_t *data, size_t len, uint64_t n, uint64_t seed,
		 struct counts *c)
{
	uint64_t state = seed * 2 + 1;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t n_bits = 1 + random_next(&state) % 8;
		size_t from = random_next(&state) % 2 ? 4096 % len : 0;
		size_t at[8];
		uint8_t bit[8];

		snprintf(variant, sizeof(variant), "flip %" PRIu64, i);
		for (uint64_t k = 0; k < n_bits; k++) {
			at[k] = from + random_next(&state) % (len - from);
			bit[k] = (uint8_t)(1u << random_next(&state) % 8);
			data[at[k]] ^= bit[k];
		}
		write_copy(copy, data, len);
		open_one(copy, c);
		for (uint64_t k = 0; k < n_bits; k++)
			data[at[k]] ^= bit[k];
	}
}

int main(int argc, char **argv)
{
	struct counts c = {.last_events = UINT64_MAX};
	char copy[4096];
	uint8_t *data;
	size_t len;

	if (argc < 3)
		return 2;
	out = stdout;
	stdout = fopen("/dev/null", "w");
	if (!stdout)
		return 2;
	filter_args_init(&filter);
	data = read_file(argv[2], &len);
	snprintf(copy, sizeof(copy), "%s.variant", argv[2]);
	snprintf(variant, sizeof(variant), "the whole file");
	write_copy(copy, data, len);
	open_one(copy, &c);
	c.whole_events = c.last_events;
	c.n_opened = c.n_different = 0;
	if (strcmp(argv[1], "cut") == 0)
		cut(copy, data, len, &c);
	else if (argc == 5)
		flip(copy, data, len, strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), &c);
	else
		return 2;
	unlink(copy);
	fprintf(out,
		"{\"n_opened\": %" PRIu64 ", \"n_refused\": %" PRIu64 ", \"n_different\": %" PRIu64
		"}\n",
		c.n_opened, c.n_refused, c.n_different);
	free(data);
	filter_args_fini(&filter);
	return 0;
}
