/* cli/paint.h - text in colours, on a terminal only. */
#ifndef CLI_PAINT_H
#define CLI_PAINT_H

#include <stdio.h>

#include "base/compiler.h"

enum paint_style {
	PAINT_PLAIN,
	PAINT_BOLD,
	PAINT_DIM,
	PAINT_HEADING,
	PAINT_LOUD, /* a warning */
	PAINT_NUMBER,
	PAINT_N_STYLES,
};

enum paint_when {
	PAINT_AUTO, /* on a terminal, unless NO_COLOR is set or TERM is dumb */
	PAINT_ALWAYS,
	PAINT_NEVER,
};

struct paint {
	FILE *out;
	bool has_color;
};

/* Is the text on stdout to be coloured? */
bool paint_wanted(enum paint_when when);

/* The width of the terminal on stdout in columns; 0 if stdout is not a terminal. */
unsigned paint_width(void);

/* All text from paint_start() to paint_end() has the style. Styles do not nest. */
void paint_start(const struct paint *p, enum paint_style style);
void paint_end(const struct paint *p, enum paint_style style);

/* Prints one piece of text in a style. */
void paint_text(const struct paint *p, enum paint_style style, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

#endif
