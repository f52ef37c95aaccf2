/* cli/output_name.h - which file names the recorder can make from an output pattern.
 *
 * Placeholders of a pattern: %p process id, %t seconds since 1970, %e executable, %n counter, %% a
 * percent sign. Any other % stands for itself.
 */
#ifndef CLI_OUTPUT_NAME_H
#define CLI_OUTPUT_NAME_H

#include "base/compiler.h"

/* Could the recorder have made this name from the pattern (record/output_file.h)? Also true for
 * NAME.old and NAME.old.<number> (earlier recordings that were kept), and for names with a number
 * in front of the ending (further pieces, or the name was in use). */
bool output_name_matches(const char *pattern, const char *name);

/* Has the pattern a placeholder other than %%? */
bool output_name_has_placeholder(const char *pattern);

/* Has the pattern %p, so that no two processes get the same name? */
bool output_name_has_process(const char *pattern);

/* Copies text to out with every percent sign doubled, so that it stands for itself in a pattern.
 * False if out is too small. */
bool output_name_quote(const char *text, char *out, size_t capacity);

/* Makes each doubled percent sign a single one, in place. */
void output_name_unquote(char *text);

#endif
