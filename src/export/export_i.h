/* export/export_i.h - what the writers of formats share. Private to export/. */
#ifndef EXPORT_EXPORT_I_H
#define EXPORT_EXPORT_I_H

#include "export/export.h"

/* The writers, one file each: export_<name>.c. */
int export_ascii(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_collapsed(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_csv(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_csv_groups(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_dhat(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_heaptrack(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_html(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_jemalloc(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_json(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_json_groups(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_massif(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_pprof(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_replay(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_speedscope(struct query *q, const struct export_options *o, FILE *out, struct err *err);
int export_svg(struct query *q, const struct export_options *o, FILE *out, struct err *err);

/* ---- stacks as lists of codes ---- */

/* The stacks of a query. The names of all their codes are known after export_stacks_init(). */
struct export_stacks {
	struct query_groups groups; /* by stack */
	const struct store *store;
	struct frames *frames;
	/* of the stack that export_stacks_codes() was last called for */
	uint32_t *code; /* innermost first */
	size_t n_codes, cap_codes;
};

int export_stacks_init(struct export_stacks *s, struct query *q, const struct export_options *o,
		       struct err *err);
void export_stacks_fini(struct export_stacks *s);

/* Fills code and n_codes with the codes of a stack. -ERR_MEMORY. */
int export_stacks_codes(struct export_stacks *s, uint32_t stack, struct err *err);

const char *export_temp_folder(const struct export_options *o);

/* ---- texts ---- */

/* frame_label(), and "[stack cut off]" for a frame that is NULL. */
const char *export_frame_label(const struct frame *f, char buf[FRAME_LABEL_BYTES]);

/* The title of the recording; and its command line, with spaces between arguments and instead of
 * control characters, without a newline at the end. */
const char *export_title(const struct export_options *o);
void export_put_cmdline(const struct export_options *o, FILE *out);

#define EXPORT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Writes text. Control characters and the characters in `also` become `with`; bytes that are not
 * UTF-8 become U+FFFD. */
void export_put_clean(FILE *out, const char *text, const char *also, char with);

/* *ret becomes NULL when all bytes are UTF-8, else a copy, to free(), with U+FFFD for those that
 * are not. -ERR_MEMORY. */
int export_valid_text(const char *text, char **ret, struct err *err);

/* Writes text for XML and HTML: escaped, without characters that XML forbids. */
void export_put_xml(FILE *out, const char *text);

/* -ERR_IO when out has failed, else 0. */
int export_check(FILE *out, struct err *err);

#endif
