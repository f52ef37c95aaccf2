/* export/text_table.h - texts numbered in the order of their first use.
 *
 * Keeps copies. One thread at a time.
 */
#ifndef EXPORT_TEXT_TABLE_H
#define EXPORT_TEXT_TABLE_H

#include "util/err.h"

struct text_table {
	char **text; /* [n], owned */
	size_t n, cap;
	uint32_t *slot; /* 1 + index in text; 0: empty. n_slots is 0 or a power of two */
	size_t n_slots;
};

/* A zeroed table is empty. */
void text_table_fini(struct text_table *t);

/* The number of a text, from 0; *is_new (may be NULL) tells whether it was put in now. */
int text_table_add(struct text_table *t, const char *text, uint32_t *ret, bool *is_new,
		   struct err *err);

#endif
