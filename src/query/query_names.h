/* query/query_names.h - the frames of all codes of a store, with numbers in place of texts.
 *
 * Equal texts have equal numbers, so frames are compared without looking at texts, and a regular
 * expression runs once for each text. Number 0 means "not known".
 * Threads: one while it is made; after that any number.
 */
#ifndef QUERY_QUERY_NAMES_H
#define QUERY_QUERY_NAMES_H

#include "store/frames.h"
#include "util/map.h"

/* Frames are one for the user when function, source and module are equal: that is an identity. */
struct query_name_frame {
	uint32_t identity;
	uint32_t line; /* number of the pair of source and line; 0: not known */
	const struct frame *frame; /* borrowed from frames */
};

struct query_name_identity {
	uint32_t function; /* numbers of texts */
	uint32_t source;
	uint32_t module;
	uint8_t class; /* enum frame_class; once query_names_classify() was called */
	const struct frame *frame; /* the first one that had it */
};

struct query_name_line {
	uint32_t source; /* number of a text */
	uint32_t line;
};

struct query_names {
	bool is_classified;
	/* frames of code c: frame[first[c]] up to frame[first[c + 1]], innermost first */
	uint32_t *first;
	struct query_name_frame *frame;
	struct query_name_identity *identity; /* 0 is not used */
	struct query_name_line *line; /* 0 is not used */
	const char **text; /* by number; 0 is NULL; borrowed from frames */
	size_t n_codes, n_frames, n_identities, n_lines, n_texts;
	size_t cap_frames, cap_identities, cap_lines, cap_texts;
	struct map text_of_pointer; /* while it is made: frames often share texts */
	struct map text_of_hash;
	uint32_t *text_next; /* texts with the same hash */
	size_t cap_text_next;
	struct map identity_of; /* hash of the triple -> first with it */
	uint32_t *identity_next;
	size_t cap_identity_next;
	struct map line_of;
};

int query_names_create(const struct store *store, struct frames *frames, struct query_names **ret,
		       struct err *err);
void query_names_destroy(struct query_names *n); /* NULL does nothing */

/* Finds out whose frames they are: frame_class.h. Once is enough. Fails only by an expression of the
 * rules that costs too much. */
struct frame_rules;
int query_names_classify(struct query_names *n, struct frame_rules *rules, struct err *err);

/* The number of a text, 0 if no frame has it. */
uint32_t query_names_find(const struct query_names *n, const char *text);

#endif
