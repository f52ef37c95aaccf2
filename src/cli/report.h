/* cli/report.h - what a report says, before it is text or JSON.
 *
 * Five lists of call sites (stacks that allocated), each in the order of one figure. All figures
 * are exact and come from query/query.h; nothing is rounded or left out here but what lies beyond
 * the limit.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/filter_args.h"
#include "query/frame_class.h"
#include "query/query.h"

enum report_kind {
	REPORT_PEAK, /* bytes alive at the peak */
	REPORT_LEAKED, /* bytes never released */
	REPORT_ALLOCATIONS, /* number of allocations */
	REPORT_TEMPORARY, /* number of temporary allocations */
	REPORT_BYTES, /* bytes allocated in all */
	REPORT_N_KINDS,
};

struct report_options {
	bool is_json;
	bool is_full; /* every frame, names in full */
	bool has_sort;
	enum report_kind sort; /* has_sort: only this list */
	bool has_limit;
	uint64_t limit; /* sites per list; 0: all */
	const struct filter_args *filter;
	bool has_color;
	unsigned width; /* columns of the terminal; 0: no limit */
};

struct report_list {
	const struct query_group **site; /* those with a figure above 0, greatest first; owned */
	size_t n_sites;
	size_t n_shown; /* as the limit says */
	bool is_wanted;
};

#define REPORT_MAX_NAMELESS 4

struct report {
	const char *path; /* of the recording */
	const struct report_options *options;
	const struct store *store;
	struct frames *frames;
	const struct store_facts *facts;
	const char *executable; /* never NULL */
	struct query_groups groups; /* by stack, of what the filter lets pass */
	struct query_peak peak; /* of the same */
	struct report_list list[REPORT_N_KINDS];
	const char *nameless[REPORT_MAX_NAMELESS]; /* images of the program without symbols */
	size_t n_nameless;
};

/* The figure that orders a list, and the one that goes with it (bytes for counts, counts for
 * bytes). */
uint64_t report_weight(enum report_kind kind, const struct query_group *g);
uint64_t report_bytes(enum report_kind kind, const struct query_group *g);
uint64_t report_count(enum report_kind kind, const struct query_group *g);

/* "peak", "leaked" ... as --sort takes them. */
const char *report_kind_name(enum report_kind kind);
bool report_kind_parse(const char *text, enum report_kind *ret);

/* Asks for everything, and for the names of what will be shown. path, options, store and frames
 * are set by the caller and borrowed. */
int report_make(struct report *r, struct err *err);
void report_fini(struct report *r); /* a zeroed struct is empty */

/* The frame to call a site by, as frame_class_blame() finds it. NULL: the stack is empty. */
const struct frame *report_site_frame(struct report *r, uint32_t stack);

/* Is the recording's program known to have ended in order, with nothing lost? If not, *ret are
 * sentences on what that means. At most REPORT_MAX_CAVEATS. */
#define REPORT_MAX_CAVEATS (8 + REPORT_MAX_NAMELESS)
#define REPORT_CAVEAT_BYTES 512
size_t report_caveats(const struct report *r, char ret[][REPORT_CAVEAT_BYTES]);

#endif
