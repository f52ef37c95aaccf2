/* report_synth.h - stores made of what a test writes down, for the tests of report/.
 *
 *	struct synth s;
 *	synth_init(&s, 100 * NS_PER_S);
 *	uint32_t cache = synth_stack(&s, (const char *[]){"cache_add", "serve", "main", NULL});
 *	synth_keep(&s, cache, 1 * NS_PER_S, 4096);
 *	synth_open(&s);			s.store, s.frames
 *	...
 *	synth_fini(&s);
 *
 * Names: a plain one is a function of the program, "lib:f" one of a library, "?" code of the program
 * without a name. Allocations of a plain "malloc" frame need not be written. All figures of the tables (peak,
 * sums per stack, buckets) follow from the rows, counted in the simplest way.
 */
#ifndef REPORT_SYNTH_H
#define REPORT_SYNTH_H

#include "store/frames.h"

#define SYNTH_PROGRAM "/opt/app/bin/server"
#define SYNTH_LIBRARY "/usr/lib/libother.so.1"
#define SYNTH_NEVER UINT64_MAX
#define SYNTH_MAX_FRAMES 8
#define SYNTH_MAX_STACKS 64
#define SYNTH_MAX_CODES 64
#define SYNTH_MAX_NOTES 8
#define SYNTH_N_BUCKETS 100

struct synth_row {
	uint64_t made_ns, freed_ns; /* SYNTH_NEVER: not freed */
	uint64_t size;
	uint64_t addr;
	uint64_t flags;
	uint64_t chain; /* as STORE_CHAIN: from 1; 0: none */
	uint64_t position;
	uint64_t number; /* in the order of synth_add() */
	uint32_t stack;
};

struct synth {
	/* What the test may set before synth_open(). */
	struct store_facts facts; /* figures besides those that follow from the rows */
	const char *ended, *limits, *cgroup; /* NULL: not known */
	const char *library; /* NULL: SYNTH_LIBRARY */
	const char *note[SYNTH_MAX_NOTES];
	size_t n_notes;
	const struct store_sample *sample;
	size_t n_samples;
	const struct store_allocator_sample *allocator_sample;
	size_t n_allocator_samples;
	uint8_t stack_end[SYNTH_MAX_STACKS]; /* why it was cut; 0: it was not */
	uint64_t n_frees[SYNTH_MAX_STACKS];
	bool is_growing;
	bool without_rows;
	/* Made by the functions below. */
	struct synth_row *row;
	size_t n_rows, cap_rows;
	const char *frame[SYNTH_MAX_STACKS][SYNTH_MAX_FRAMES]; /* innermost first; NULL ends */
	uint32_t n_stacks; /* stack 0 is the empty one */
	const char *code[SYNTH_MAX_CODES];
	uint32_t n_codes;
	uint64_t n_chains;
	struct store *store;
	struct frames *frames;
};

void synth_init(struct synth *s, uint64_t duration_ns);
void synth_fini(struct synth *s);

/* A call site; names are borrowed. Returns its number. */
uint32_t synth_stack(struct synth *s, const char *const *innermost_first);

/* An allocation; the row may be changed until the next one is added. */
struct synth_row *synth_add(struct synth *s, uint32_t stack, uint64_t made_ns, uint64_t freed_ns,
			    uint64_t size);
void synth_keep(struct synth *s, uint32_t stack, uint64_t made_ns, uint64_t size);

/* Writes the store and opens it; names are found at once. Fails the test when something does. */
void synth_open(struct synth *s);

#endif
