/* query/query_names.h - the frames of all codes of a store, with numbers instead of texts.
 *
 * Equal texts have equal numbers. So frames are compared without reading texts, and a regex runs
 * once per text. Number 0 means "not known".
 *
 * Threads: one during query_names_create(); any number after that.
 */
#ifndef QUERY_QUERY_NAMES_H
#define QUERY_QUERY_NAMES_H

#include "store/frames.h"
#include "util/map.h"

/* A frame. The user sees frames with equal function, source and module as one; such frames share
 * an identity. */
struct query_name_frame {
	uint32_t identity;
	uint32_t line; /* number of the pair (source, line); 0: not known */
	const struct frame *frame; /* borrowed from frames */
};

struct query_name_identity {
	uint32_t function; /* numbers of texts */
	uint32_t source;
	uint32_t module;
	uint32_t name; /* the function; of code without a function name a text such as
			* "libx.so.1+0x1234", or "0x7f0012345678" outside of all images */
	uint8_t class; /* enum frame_class; set by query_names_classify() */
	bool is_thin; /* frame_class_is_thin(), of own code; so, too */
	const struct frame *frame; /* the first frame with this identity */
};

struct query_name_line {
	uint32_t source; /* number of a text */
	uint32_t line;
};

struct query_names {
	bool is_classified;
	/* The frames of code c are frame[first[c]] up to frame[first[c + 1] - 1], innermost
	 * first. */
	uint32_t *first;
	struct query_name_frame *frame;
	struct query_name_identity *identity; /* 0 is not used */
	struct query_name_line *line; /* 0 is not used */
	const char **text; /* by number; 0 is NULL; borrowed from frames, or one of made */
	char **made; /* owned: the names of code without a function name */
	size_t n_made, cap_made;
	size_t n_codes, n_frames, n_identities, n_lines, n_texts;
	size_t cap_frames, cap_identities, cap_lines, cap_texts;
	struct map text_of_pointer; /* frames often share texts; during creation only */
	struct map text_of_hash;
	uint32_t *text_next; /* next text with the same hash */
	size_t cap_text_next;
	struct map identity_of; /* hash of (function, source, module) -> first identity with this
				 * hash; during creation only, as line_of */
	uint32_t *identity_next;
	size_t cap_identity_next;
	struct map line_of;
};

int query_names_create(const struct store *store, struct frames *frames, struct query_names **ret,
		       struct err *err);
void query_names_destroy(struct query_names *n); /* NULL does nothing */

/* Sets the class of every identity (frame_class.h). Later calls do nothing. Fails only if a regex
 * of the rules costs too much. Names that queries share are classified already. */
struct frame_rules;
int query_names_classify(struct query_names *n, struct frame_rules *rules, struct err *err);

/* The number of a text. 0: no frame has this text. */
uint32_t query_names_find(const struct query_names *n, const char *text);

#endif
