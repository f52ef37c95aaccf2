/* record/resident_maps.c - see resident_maps.h. */
#include "record/resident_maps.h"

#include <string.h>

#include "record/options.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define INTERVAL_NS (10 * NS_PER_S)
#define COST_FACTOR 200 /* half a percent of the time at most */
#define CHEAP_NS (2 * NS_PER_MS) /* after such a reading a smaller change leads to the next */
#define CHANGE_DIVISOR_CHEAP 32
#define CHANGE_DIVISOR 8
#define CHANGE_MIN_BYTES (MIB / 4)
#define FIRST_PAGE_NS 160 /* while none was measured */

static uint64_t estimate_ns(const struct resident_maps *m, uint64_t rss_bytes)
{
	/* A reading of few pages tells nothing about the time for one. */
	if (m->last_bytes < 16 * MIB)
		return rss_bytes / PAGE_BYTES * FIRST_PAGE_NS;
	return rss_bytes / MIB * m->took_ns / (m->last_bytes / MIB);
}

static bool has_changed(const struct resident_maps *m, uint64_t before, uint64_t now)
{
	uint64_t least = before / (m->took_ns < CHEAP_NS ? CHANGE_DIVISOR_CHEAP : CHANGE_DIVISOR);
	uint64_t change = now > before ? now - before : before - now;

	return change >= (least < CHANGE_MIN_BYTES ? CHANGE_MIN_BYTES : least);
}

bool resident_maps_is_due(const struct resident_maps *m, uint64_t rss_bytes, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - m->last_ns;

	if (!options_active.GATHER_MAPS || rss_bytes == 0)
		return false;
	if (m->last_ns && since_ns < m->took_ns * COST_FACTOR)
		return false;
	if (estimate_ns(m, rss_bytes) > RESIDENT_MAPS_RUNNING_NS)
		return false;
	return (rss_bytes > m->most_bytes && has_changed(m, m->most_bytes, rss_bytes)) ||
	       (since_ns >= INTERVAL_NS && has_changed(m, m->last_bytes, rss_bytes));
}

/* A mapping's line begins with an address in lower-case digits, the others with a capital letter. */
static bool is_wanted(const char *line, size_t len)
{
	return (len > 0 && !(line[0] >= 'A' && line[0] <= 'Z')) ||
	       (len > 4 && memcmp(line, "Rss:", 4) == 0);
}

size_t resident_maps_copy(const char *in, size_t n, char *out, size_t capacity, size_t *len)
{
	size_t at = 0;
	const char *stop;

	while (at < n && (stop = memchr(in + at, '\n', n - at))) {
		size_t line = (size_t)(stop - (in + at)) + 1;

		if (is_wanted(in + at, line) && line <= capacity - *len) {
			memcpy(out + *len, in + at, line);
			*len += line;
		}
		at += line;
	}
	return at;
}

/* Returns the length of the text in f->scratch; 0: there is no smaps. */
static size_t read_smaps(struct describer *f)
{
	long fd = sys_open("/proc/self/smaps", O_RDONLY | O_NOCTTY, 0);
	size_t held = 0, len = 0, used;
	char *in = (char *)f->fields;
	long n;

	if (fd < 0)
		return 0;
	while ((n = sys_read((int)fd, in + held, SESSION_MAX_DATA - held)) > 0) {
		held += (size_t)n;
		used = resident_maps_copy(in, held, (char *)f->scratch, SESSION_MAX_DATA, &len);
		held -= used;
		memmove(in, in + used, held);
	}
	sys_close((int)fd);
	return len;
}

void resident_maps_put(struct resident_maps *m, struct describer *f, struct session *s,
		       uint64_t rss_bytes, uint64_t limit_ns)
{
	uint64_t began_ns = sys_clock_ns(CLOCK_MONOTONIC);
	size_t len;

	if (!options_active.GATHER_MAPS)
		return;
	if (estimate_ns(m, rss_bytes) > limit_ns) {
		describe_maps(f, s);
		return;
	}
	len = read_smaps(f);
	m->last_ns = sys_clock_ns(CLOCK_MONOTONIC);
	m->took_ns = m->last_ns - began_ns;
	m->last_bytes = rss_bytes;
	if (rss_bytes > m->most_bytes)
		m->most_bytes = rss_bytes;
	if (len)
		describe_maps_text(f, s, len);
	else if (limit_ns != RESIDENT_MAPS_RUNNING_NS)
		describe_maps(f, s);
}
