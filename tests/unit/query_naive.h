/* query_naive.h - which rows of a world a filter lets pass, found out in the simplest way.
 *
 * Written from the documentation of the parameters and sharing no code with src/query/: conditions
 * are (name, number) pairs that are looked up again for every row, regular expressions are those of
 * libc, and each stack is looked at frame by frame.
 */
#ifndef QUERY_NAIVE_H
#define QUERY_NAIVE_H

#include "query/filter.h"
#include "query_synth.h"

#define NAIVE_MAX 8u

struct naive_condition {
	const char *name;
	char text[64]; /* the value as it is given to filter_set() */
	/* what it means: times relative to the start, may lie before it */
	long long number;
	bool is_share; /* number is percent */
};

struct naive {
	struct naive_condition condition[NAIVE_MAX];
	unsigned n;
};

/* NULL: there is no such condition. */
const struct naive_condition *naive_find(const struct naive *f, const char *name);

/* Fills in the frames of a stack, innermost first, at most 1000; code may be NULL. */
unsigned naive_frames(const struct world *w, uint32_t stack, const struct world_frame **ret,
		      uint32_t *code);

/* The function of a frame of the code, or what code without one is called: "libx.so+0x1234". */
#define NAIVE_NAME_BYTES 600
const char *naive_name(const struct world *w, const struct world_frame *f, uint32_t code,
		       char buf[NAIVE_NAME_BYTES]);

/* As naive_frames(); code without a function has its name as function. */
unsigned naive_named_frames(const struct world *w, uint32_t stack, const struct world_frame **ret);

/* Conditions on the frames of a stack, and all the others. */
bool naive_stack_matches(const struct world *w, const struct naive *f, uint32_t stack);
bool naive_matches(const struct world *w, const struct naive *f, size_t row);

/* A random value for the parameter c->name, in text and in numbers. type and choices: as
 * filter_parameters() says. */
void naive_value(struct world *w, struct naive_condition *c, const char *type, const char *choices);

/* Adds a random condition on a parameter; nothing when there is one already, or no room. */
void naive_add(struct world *w, struct naive *f, const struct filter_parameter *p);

/* None to four random conditions. */
void naive_random(struct world *w, struct naive *f);

/* The same conditions as a filter, which is initialised here. */
int naive_set_filter(const struct naive *n, struct filter *f, struct err *err);

/* Sets chosen[row] for all rows; gives how many match. */
size_t naive_rows(const struct world *w, const struct naive *f, bool *chosen);

#endif
