/* util/text_set.h - distinct texts, numbered from 0 in the order in which they are added.
 *
 * Number 0 is the empty text. Texts stay at their addresses until text_set_destroy(). Threads: one
 * at a time; any number of readers may share a set that nobody changes.
 */
#ifndef UTIL_TEXT_SET_H
#define UTIL_TEXT_SET_H

#include "util/err.h"

struct text_set; /* opaque: defined in text_set.c */

/* copies: the set keeps copies of the texts. Otherwise it borrows them, and they must outlive the
 * set. */
int text_set_create(bool copies, struct text_set **ret, struct err *err);
void text_set_destroy(struct text_set *s); /* NULL does nothing */

/* Finds or adds a text; *ret becomes its number. -ERR_MEMORY; -ERR_LIMIT: UINT32_MAX - 1 texts. */
int text_set_add(struct text_set *s, const char *text, uint32_t *ret, struct err *err);

const char *text_set_get(const struct text_set *s, uint32_t number); /* borrowed; asserted */
size_t text_set_count(const struct text_set *s);

#endif
