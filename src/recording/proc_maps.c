/* recording/proc_maps.c - see proc_maps.h. */
#include "recording/proc_maps.h"

#include <string.h>

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

bool proc_maps_next(const char **text, const char *end, struct proc_map *ret)
{
	while (*text < end) {
		const char *line = *text;
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*text = stop < end ? stop + 1 : end;
		if (parse_line(line, stop, ret))
			return true;
	}
	return false;
}
