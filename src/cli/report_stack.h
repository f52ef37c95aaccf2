/* cli/report_stack.h - a call stack as lines of text: own code loud, the rest folded. */
#ifndef CLI_REPORT_STACK_H
#define CLI_REPORT_STACK_H

#include "cli/paint.h"
#include "cli/report_view.h"

/* Prints the frames of a stack, innermost first. */
int report_stack_print(struct report_view *v, uint32_t stack, const struct paint *paint,
		       struct err *err);

/* The same text without colours, for the caller to free(): stacks that look alike are equal. */
int report_stack_text(struct report_view *v, uint32_t stack, char **ret, struct err *err);

/* Prints how a frame is called and where it is: "load_table at src/table.c:12". */
void report_stack_print_frame(const struct report_view *v, const struct frame *f, FILE *out);

/* Prints where it is alone: "src/table.c:12". */
void report_stack_print_location(const struct report_view *v, const struct frame *f, FILE *out);

#endif
