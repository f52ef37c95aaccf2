/* ingest/build_tables.h - writes the tables of a store. Private to build.c. */
#ifndef INGEST_BUILD_TABLES_H
#define INGEST_BUILD_TABLES_H

#include "ingest/build_state.h"
#include "ingest/overview.h"

/* Writes all tables but those of rows, after the last event. Fills in what is known of threads only
 * now. ERR_IO, ERR_MEMORY or ERR_LIMIT. */
int build_tables_put(struct build *b, const struct stacks *stacks, const struct overview *o,
		     struct err *err);

#endif
