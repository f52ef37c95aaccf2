/* open/suppressions.h - which leaks not to count: patterns as LeakSanitizer and heaptrack have them.
 *
 * A file of suppressions has one rule on a line, "leak:PATTERN"; empty lines and lines that begin with #
 * mean nothing. A call site is suppressed if the function, the source file or the binary of some frame
 * matches. A pattern matches anywhere in the text; * stands for any characters, ^ at the start and $ at
 * the end for the ends of the text. Of several rules, the first counts.
 *
 * The rules that are built in name the leaks by intention of the C library and of GLib: memory that
 * is allocated once and kept until the process ends.
 */
#ifndef OPEN_SUPPRESSIONS_H
#define OPEN_SUPPRESSIONS_H

#include "store/frames.h"

struct suppressions {
	char **pattern; /* owned */
	size_t n, capacity;
};

/* Appends the rules of a file. An error names the file and the line. */
int suppressions_read(struct suppressions *s, const char *path, struct err *err);
int suppressions_add_built_in(struct suppressions *s, struct err *err);
void suppressions_fini(struct suppressions *s); /* accepts a zeroed struct */

/* Does a pattern match a text? An empty text or pattern matches nothing. */
bool suppressions_match(const char *pattern, const char *text);

/* Suppresses what the rules name (store/suppressed.h). Looks up the names of the code that leaked. The
 * rules must outlive the store. */
int suppressions_apply(const struct suppressions *s, struct store *store, struct frames *frames,
		       struct err *err);

#endif
