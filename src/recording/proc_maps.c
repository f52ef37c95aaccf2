/* recording/proc_maps.c - see proc_maps.h. */
#include "recording/proc_maps.h"

#include <string.h>

#include "base/units.h"

/* A number up to the character that must follow it; NULL when it is not there. */
static const char *number(const char *at, const char *end, unsigned base, char stop, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = at;

	for (; p < end && *p != stop; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else
			return NULL;
		if (digit >= base || p - at >= 20)
			return NULL;
		value = value * base + digit;
	}
	if (p == at || p == end)
		return NULL;
	*ret = value;
	return p + 1;
}

static const char *permissions(const char *p, const char *end, struct proc_map *m)
{
	if (end - p < 5 || p[4] != ' ')
		return NULL;
	m->is_readable = p[0] == 'r';
	m->is_writable = p[1] == 'w';
	m->is_executable = p[2] == 'x';
	m->is_shared = p[3] == 's';
	return p + 5;
}

/* start-end rwxp offset major:minor inode        name */
static bool parse_line(const char *p, const char *end, struct proc_map *m)
{
	uint64_t major = 0, minor = 0;
	const char *name;

	*m = (struct proc_map){0};
	p = number(p, end, 16, '-', &m->start);
	if (p)
		p = number(p, end, 16, ' ', &m->end);
	if (p)
		p = permissions(p, end, m);
	if (p)
		p = number(p, end, 16, ' ', &m->offset);
	if (p)
		p = number(p, end, 16, ':', &major);
	if (p)
		p = number(p, end, 16, ' ', &minor);
	if (!p)
		return false;
	name = number(p, end, 10, ' ', &m->inode);
	if (!name) /* a line without name may end directly after the number */
		name = end;
	while (name < end && *name == ' ')
		name++;
	m->device_major = (uint32_t)major;
	m->device_minor = (uint32_t)minor;
	m->name = name;
	m->name_len = (size_t)(end - name);
	return m->start < m->end;
}

/* The line at text, without its end; *text moves past it. */
static const char *take_line(const char **text, const char *end, const char **ret_stop)
{
	const char *line = *text;
	const char *stop = memchr(line, '\n', (size_t)(end - line));

	*ret_stop = stop ? stop : end;
	*text = stop ? stop + 1 : end;
	return line;
}

/* "Rss:        12 kB" */
static void parse_rss(const char *p, const char *end, struct proc_map *m)
{
	static const char name[] = "Rss:";
	size_t len = sizeof(name) - 1;
	uint64_t kib;

	if ((size_t)(end - p) < len || memcmp(p, name, len) != 0)
		return;
	for (p += len; p < end && *p == ' '; p++)
		;
	if (number(p, end, 10, ' ', &kib) && kib <= UINT64_MAX / 2 / KIB)
		m->rss_bytes = kib * KIB;
}

bool proc_maps_next(const char **text, const char *end, struct proc_map *ret)
{
	const char *line, *stop;

	while (*text < end) {
		line = take_line(text, end, &stop);
		if (!parse_line(line, stop, ret))
			continue;
		ret->rss_bytes = PROC_MAP_UNKNOWN;
		while (*text < end && **text >= 'A' &&
		       **text <= 'Z') { /* addresses have small letters */
			line = take_line(text, end, &stop);
			parse_rss(line, stop, ret);
		}
		return true;
	}
	return false;
}
