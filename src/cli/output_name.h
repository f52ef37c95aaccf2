/* cli/output_name.h - the recorder's output names, seen from outside.
 *
 * A pattern has placeholders: %p pid, %t seconds, %e executable, %n counter, %% a percent sign.
 */
#ifndef CLI_OUTPUT_NAME_H
#define CLI_OUTPUT_NAME_H

#include "base/compiler.h"

/* Could the recorder have made this name from the pattern? NAME.old (an earlier one, kept) and
 * NAME.<number> (the name was in use) count as well. */
bool output_name_matches(const char *pattern, const char *name);

/* Has the pattern a placeholder (other than %%)? */
bool output_name_has_placeholder(const char *pattern);

/* text with every percent sign doubled, so that it stands for itself in a pattern. False when
 * there is no room. */
bool output_name_quote(const char *text, char *out, size_t capacity);

#endif
