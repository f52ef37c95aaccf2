/* cli/report_stack.h - a call stack as lines of text: own code stands out, the rest is folded. */
#ifndef CLI_REPORT_STACK_H
#define CLI_REPORT_STACK_H

#include "cli/paint.h"
#include "cli/report_view.h"

/* Prints the frames of a stack, innermost first. Returns 0 or -ERR_x. */
int report_stack_print(struct report_view *v, uint32_t stack, const struct paint *paint,
		       struct err *err);

/* The same text without colours in *ret, which the caller frees with free(). Two stacks that look
 * alike give equal texts. Returns 0 or -ERR_x. */
int report_stack_text(struct report_view *v, uint32_t stack, char **ret, struct err *err);

/* Prints name and location of a frame: "load_table at src/table.c:12". */
void report_stack_print_frame(const struct report_view *v, const struct frame *f, FILE *out);

/* Prints name and location of a frame in at most n_columns: the location loses outer folders, then the
 * name is cut. 0 or -ERR_MEMORY. */
int report_stack_print_cut(const struct report_view *v, const struct frame *f, size_t n_columns,
			   const struct paint *paint, struct err *err);

/* Prints the location of a frame: "src/table.c:12". */
void report_stack_print_location(const struct report_view *v, const struct frame *f, FILE *out);

#endif
