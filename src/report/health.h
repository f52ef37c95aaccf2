/* report/health.h - how far a recording can be trusted, and facts about its process.
 *
 * One line for each question, always in the same order, with a word for the state: did the
 * recording end in order, were events lost, were stacks cut, do frames have names, what did the
 * recorder cost. A question that the recording cannot answer has no line; nothing is guessed.
 *
 * Texts may hold bytes from the recording (paths, notes): the code that prints them must escape
 * them.
 */
#ifndef REPORT_HEALTH_H
#define REPORT_HEALTH_H

#include <stdatomic.h>

#include "store/frames.h"

enum health_state {
	HEALTH_OK,
	HEALTH_WARN, /* figures are right as far as they go; the line says how far */
	HEALTH_BAD, /* figures are too small, or much is unknown */
};

/* What a line is about, in the order of the lines. */
enum health_about {
	HEALTH_END,
	HEALTH_EVENTS, /* lost events, missing blocks */
	HEALTH_DAMAGE,
	HEALTH_FREES, /* frees and allocations that do not fit together */
	HEALTH_STACKS,
	HEALTH_NAMES,
	HEALTH_CULLED, /* short-lived allocations that the recorder left out */
	HEALTH_SUPPRESSED, /* leaks that do not count: store/suppressed.h */
	HEALTH_RECORDER,
	HEALTH_NOTE, /* a note that the recorder wrote */
};

#define HEALTH_TITLE_BYTES 96
#define HEALTH_DETAIL_BYTES 768
#define HEALTH_MAX_LINES 24
#define HEALTH_MAX_NOTES 8
#define HEALTH_MAX_FACTS 8

struct health_line {
	enum health_about about;
	enum health_state state;
	char title[HEALTH_TITLE_BYTES]; /* "Complete", "1 204 events lost" */
	char detail[HEALTH_DETAIL_BYTES]; /* part of a sentence: why, and what it means */
};

struct health_fact {
	const char *name; /* "Command", "Process" ... */
	char *value; /* owned */
};

struct health {
	struct health_line line[HEALTH_MAX_LINES];
	size_t n_lines;
	struct health_fact fact[HEALTH_MAX_FACTS];
	size_t n_facts;
};

/* Makes the lines and facts; looks up the names of all code. cancel may be NULL. 0, -ERR_CANCELLED,
 * -ERR_MEMORY, or the error of the resolver. Free with health_fini(). */
int health_make(const struct store *store, struct frames *frames, const atomic_bool *cancel,
		struct health *ret, struct err *err);
void health_fini(struct health *h); /* a zeroed struct is empty */

const char *health_state_name(enum health_state s); /* "ok", "warn", "bad" */

/* Why a stack ends before its outermost frame (store_node.end): "code without unwind
 * information". */
const char *health_end_words(unsigned end);

/* Did the recording break off when (nearly) all memory that the program may use was in use? The
 * kernel ends the recorder's writer together with the program then. */
bool health_is_out_of_memory(const struct store *store);

/* "WHAT: WHY" of the first note about memory that the recorder could not record: an allocator inside
 * the program, the heap of another runtime. NULL: there is none. Borrowed from the store. */
const char *health_not_recorded(const struct store *store);

/* Is a note one of those that get a line of HEALTH_NOTE, of which there are HEALTH_MAX_NOTES at most? */
bool health_is_warning(const char *note);

#endif
