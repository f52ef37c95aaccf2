/* export/export.h - what a query finds, in the file formats of other tools: one table for the
 * command line (`memory-profiler-cli export`), the REST API and the GUI.
 *
 *	const struct export_format *f = export_find("pprof");
 *	struct export_options o = {.context = &context, .filter = &filter, .title = "app.dat"};
 *	r = export_write(f, query, &o, out, &err);
 *
 * Every format honours the filter of the query. Memory: formats that write rows stream them and
 * need a fixed amount; beyond it they use temporary files without names (export/time_order.h).
 * Formats that write groups need memory for the stacks, never for the rows.
 *
 * Nothing is written before the filter is known to be valid. So a caller may answer an error with
 * "400" as long as no byte of out was written; after a later error the output must be thrown away.
 * The writers do not seek: out may be a pipe or a socket.
 *
 * Threads: any number of exports at once, each with a query of its own.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdio.h>

#include "query/query.h"

/* What a flame graph, a tree or collapsed stacks add up. */
enum export_cost {
	EXPORT_BYTES, /* requested, all rows */
	EXPORT_LEAKED, /* bytes never freed */
	EXPORT_PEAK, /* bytes alive at the peak of the matching rows */
	EXPORT_ALLOCATIONS, /* number of rows */
	EXPORT_TEMPORARY, /* number of rows freed before the thread's next allocation */
	EXPORT_N_COSTS,
};
const char *export_cost_label(enum export_cost c); /* for people: "leaked bytes" ... */
bool export_cost_is_bytes(enum export_cost c);
uint64_t export_cost_of(const struct query_group *g, enum export_cost c);

struct export_options {
	const struct query_context *context; /* the query was made with this context ... */
	const struct filter *filter; /* ... and this filter */
	const char *title; /* name of the recording, for headings; NULL: the executable's */
	enum export_cost cost;
	bool is_inverted; /* trees and flame graphs: innermost frame at the root */
	const char
		*temp_folder; /* for data that does not fit into memory; NULL: temp_file_folder() */
	double min_share; /* trees: leave out smaller frames (0.0005: 0.05 %); 0: default */
	bool is_whole; /* trees: every frame, however many; else QUERY_TREE_READABLE at most */
	/* For html, which contains answers of the API: writes the answer to a question such as
	 * "summary", with the filter of the query, as JSON. serve/offline.h has such a function.
	 * NULL: html is refused. 0 or -ERR_x. */
	int (*answer)(void *user, const char *question, FILE *out, struct err *err);
	void *answer_user;
};

/* Sets the option `name` (one of export_parameters()) from its text, as filter_set() does for
 * conditions. 1: done. 0: there is no such option. -ERR_USAGE: the value is not valid. */
int export_set(struct export_options *o, const char *name, const char *value, struct err *err);
const struct filter_parameter *export_parameters(size_t *n);

#define EXPORT_BINARY 1u /* not a text: never onto a terminal */
#define EXPORT_ROWS 2u /* one item per row: the file grows with the recording */
#define EXPORT_COMPRESSED 4u /* is gzip already: compress it no second time, no Content-Encoding */
#define EXPORT_COST 8u /* heeds export_options.cost */
#define EXPORT_TREE 16u /* heeds is_inverted and min_share */

struct export_format {
	const char *name; /* "heaptrack": for --format and /export/<name> */
	const char *content_type; /* of HTTP */
	const char *suffix; /* of the file: ".svg", ".pb.gz" */
	const char *help; /* one line: what opens it */
	unsigned flags;
	/* The writer, for export_write(); same parameters and results. */
	int (*write)(struct query *q, const struct export_options *o, FILE *out, struct err *err);
};

/* All formats, in the order of the help. */
const struct export_format *export_formats(size_t *n);

/* A format by its name, or by a name of the old REST API ("flamegraph.pl", "flamegraph", "svg").
 * NULL: there is no such format. */
const struct export_format *export_find(const char *name);

/* Writes everything and flushes out. -ERR_IO: out failed (a client that hung up: EPIPE);
 * -ERR_CANCELLED: the context's flag was set; otherwise the error of the query. */
int export_write(const struct export_format *f, struct query *q, const struct export_options *o,
		 FILE *out, struct err *err);

#endif
