/* util/progress.c - see progress.h. */
#include "util/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "util/human.h"
#include "util/monotonic.h"
#include "util/utf8.h"

#define FIRST_NS (500 * NS_PER_MS)
#define REDRAW_NS (100 * NS_PER_MS)
#define LOOK_NS (20 * NS_PER_MS) /* how often the clock should be read */
#define MAX_SKIP                                                                                   \
	4096u /* calls without a look at the clock: a job that turns slow is noticed soon */
#define BAR_MAX 40
#define ERASE_LINE "\r\033[K"

static bool is_disabled;

static atomic_flag is_line_taken = ATOMIC_FLAG_INIT; /* by the job that is shown */

void progress_disable(void)
{
	is_disabled = true;
}

static bool is_wanted(void)
{
	const char *term = getenv("TERM");

	return !is_disabled && isatty(STDERR_FILENO) && term && term[0] &&
	       strcmp(term, "dumb") != 0;
}

/* Labels name files, and names of files may hold anything. */
static void set_label(struct progress *p, const char *label)
{
	const uint8_t *in = (const uint8_t *)label;
	size_t left = strlen(label), len = 0;

	while (left > 0) {
		unsigned n = utf8_length(in, left);
		bool is_shown = n > 0 && !utf8_is_control(in, n);
		unsigned n_in = n ? n : 1;

		if (len + n_in >= sizeof(p->label))
			break;
		if (is_shown)
			memcpy(p->label + len, in, n);
		else
			p->label[len] = '?';
		len += is_shown ? n : 1;
		in += n_in;
		left -= n_in;
	}
	p->label[len] = 0;
}

void progress_start(struct progress *p, const char *label, uint64_t total, enum progress_unit unit)
{
	*p = (struct progress){.total = total, .unit = unit};
	p->is_on = is_wanted() && !atomic_flag_test_and_set(&is_line_taken);
	set_label(p, label);
	p->start_ns = p->looked_ns = monotonic_ns();
}

static void put_rate(const struct progress *p, char *buf, size_t capacity)
{
	const char *what = p->unit == PROGRESS_EVENTS ? " events" : "";
	char a[HUMAN_BYTES];

	if (p->unit == PROGRESS_BYTES)
		snprintf(buf, capacity, "%s/s", human_size((uint64_t)p->per_second, a));
	else if (p->per_second >= 1e6)
		snprintf(buf, capacity, "%.1f M%s/s", p->per_second / 1e6, what);
	else if (p->per_second >= 1e3)
		snprintf(buf, capacity, "%.1f k%s/s", p->per_second / 1e3, what);
	else
		snprintf(buf, capacity, "%.0f%s/s", p->per_second, what);
}

static void put_left(const struct progress *p, char *buf, size_t capacity)
{
	double seconds = p->per_second > 0 ? (double)(p->total - p->done) / p->per_second : -1;
	uint64_t s;

	if (seconds < 0 || seconds > 1e7) {
		snprintf(buf, capacity, "  -:-- left");
		return;
	}
	s = (uint64_t)(seconds + 0.5);
	if (s >= 3600)
		snprintf(buf, capacity, "  %" PRIu64 ":%02u:%02u left", s / 3600,
			 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		snprintf(buf, capacity, "  %u:%02u left", (unsigned)(s / 60), (unsigned)(s % 60));
}

/* The text after the bar: percent, rate, remaining time; without a total: amount and rate. */
static void put_figures(const struct progress *p, char *buf, size_t capacity)
{
	char rate[64], left[64], a[HUMAN_BYTES];
	unsigned percent;

	put_rate(p, rate, sizeof(rate));
	if (p->total == 0) {
		snprintf(buf, capacity, "%s%s  %s",
			 p->unit == PROGRESS_BYTES ? human_size(p->done, a)
						   : human_count(p->done, a),
			 p->unit == PROGRESS_EVENTS ? " events" : "", rate);
		return;
	}
	percent = (unsigned)((double)p->done * 100 / (double)p->total);
	put_left(p, left, sizeof(left));
	snprintf(buf, capacity, "%3u%%  %s%s", percent, rate, left);
}

static void put_bar(const struct progress *p, size_t width, char *buf)
{
	size_t n_full = (size_t)((double)p->done * (double)width / (double)p->total);

	buf[0] = '[';
	for (size_t i = 0; i < width; i++)
		buf[1 + i] = i < n_full ? '#' : '-';
	memcpy(buf + 1 + width, "] ", 3);
}

/* Columns that the label takes, roughly: one for each character. */
static size_t count_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((uint8_t)*text & 0xc0) != 0x80;
	return n;
}

/* Cuts the text after that many characters. */
static void cut_columns(char *text, size_t n_columns)
{
	for (; *text; text++) {
		if (((uint8_t)*text & 0xc0) != 0x80 && n_columns-- == 0) {
			*text = 0;
			return;
		}
	}
}

static void draw(const struct progress *p)
{
	char figures[192], bar[BAR_MAX + 8] = "", label[PROGRESS_LABEL_BYTES], line[512];
	struct winsize size = {0};
	size_t width, used;
	int len;

	width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
	width = width > 20 ? width - 1 : 20; /* the last column makes some terminals wrap */
	put_figures(p, figures, sizeof(figures));
	memcpy(label, p->label, sizeof(label));
	used = strlen(figures) + 1;
	if (count_columns(label) + used > width)
		cut_columns(label, width > used ? width - used : 0);
	used += count_columns(label) + 3; /* brackets and a blank */
	if (p->total > 0 && used + 5 <= width)
		put_bar(p, width - used > BAR_MAX ? BAR_MAX : width - used, bar);
	cut_columns(figures, width);
	len = snprintf(line, sizeof(line), ERASE_LINE "%s %s%s", label, bar, figures);
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return; /* a terminal that is gone is no reason to stop the work */
}

static void update_rate(struct progress *p, uint64_t now)
{
	uint64_t since_ns = p->drawn_ns ? p->drawn_ns : p->start_ns;
	uint64_t step = p->done > p->drawn_done ? p->done - p->drawn_done : 0;
	double seconds = (double)(now - since_ns) / (double)NS_PER_S;
	double rate = seconds > 0 ? (double)step / seconds : 0;
	double weight = seconds < 3 ? seconds / 3 : 1; /* older rates fade within three seconds */

	p->per_second = p->drawn_ns ? p->per_second + (rate - p->per_second) * weight : rate;
}

void progress_look(struct progress *p)
{
	uint64_t now = monotonic_ns();
	uint64_t since_look_ns = now - p->looked_ns;

	if (since_look_ns < LOOK_NS && p->n_skip < MAX_SKIP)
		p->n_skip = p->n_skip * 2 + 1;
	else if (since_look_ns > 2 * LOOK_NS)
		p->n_skip /= 4;
	p->n_left = p->n_skip;
	p->looked_ns = now;
	if (p->total > 0 && p->done > p->total)
		p->done = p->total;
	if (p->drawn_ns ? now - p->drawn_ns < REDRAW_NS : now - p->start_ns < FIRST_NS)
		return;
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return; /* in the background: another process has the terminal */
	update_rate(p, now);
	p->drawn_ns = now;
	p->drawn_done = p->done;
	draw(p);
}

void progress_end(struct progress *p)
{
	if (p->is_on && p->drawn_ns && write(STDERR_FILENO, ERASE_LINE, sizeof(ERASE_LINE) - 1) < 0)
		p->drawn_ns = 0;
	if (p->is_on)
		atomic_flag_clear(&is_line_taken);
	p->is_on = false;
}
