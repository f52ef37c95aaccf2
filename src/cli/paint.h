/* cli/paint.h - colours on a terminal, and nothing of the kind elsewhere. */
#ifndef CLI_PAINT_H
#define CLI_PAINT_H

#include <stdio.h>

#include "base/compiler.h"

enum paint_style {
	PAINT_PLAIN,
	PAINT_BOLD,
	PAINT_DIM,
	PAINT_HEADING,
	PAINT_LOUD, /* must not be overlooked */
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

/* Should what goes to stdout be coloured? */
bool paint_wanted(enum paint_when when);

/* Columns of the terminal that is stdout; 0 when it is none. */
unsigned paint_width(void);

void paint_start(const struct paint *p, enum paint_style style);
void paint_end(const struct paint *p, enum paint_style style);

/* One piece of text in a style. */
void paint_text(const struct paint *p, enum paint_style style, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

#endif
