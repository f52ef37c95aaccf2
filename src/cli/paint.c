/* cli/paint.c - see paint.h. */
#include "cli/paint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const code[PAINT_N_STYLES] = {
	"", "\033[1m", "\033[2m", "\033[1;36m", "\033[1;31m", "\033[33m",
};

bool paint_wanted(enum paint_when when)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (when != PAINT_AUTO)
		return when == PAINT_ALWAYS;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}

unsigned paint_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

void paint_start(const struct paint *p, enum paint_style style)
{
	if (p->has_color)
		fputs(code[style], p->out);
}

void paint_end(const struct paint *p, enum paint_style style)
{
	if (p->has_color && *code[style])
		fputs("\033[0m", p->out);
}

void paint_text(const struct paint *p, enum paint_style style, const char *fmt, ...)
{
	va_list ap;

	paint_start(p, style);
	va_start(ap, fmt);
	vfprintf(p->out, fmt, ap);
	va_end(ap);
	paint_end(p, style);
}
