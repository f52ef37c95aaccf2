/* record/memory_limit.c - see memory_limit.h. */
#include "record/memory_limit.h"

#include <string.h>

#include "base/text.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define NO_LIMIT (1ull << 62) /* v1 has no word for "none", but a very large number */
#define PATH_BYTES 2048u

struct group {
	const char *path; /* begins with '/'; NULL: none */
	size_t len;
	const char *folder; /* of the hierarchy, below the root */
	const char *file; /* that holds the limit */
};

static const char *end_of_line(const char *line)
{
	size_t n = strlen(line);
	const char *end = memchr(line, '\n', n);

	return end ? end : line + n;
}

static bool has_memory(const char *controllers, const char *end)
{
	static const char name[] = "memory";
	size_t n = sizeof(name) - 1;

	for (const char *at = controllers; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - at) == n && memcmp(at, name, n) == 0)
			return true;
		at = stop + 1;
	}
	return false;
}

/* Lines are "ID:CONTROLLERS:PATH". Controllers are named in v1 only; a system may have both
 * versions, and the memory controller in v1. */
static struct group find_group(const char *groups)
{
	struct group found = {0};

	for (const char *line = groups; *line;) {
		const char *end = end_of_line(line);
		const char *controllers = memchr(line, ':', (size_t)(end - line));
		const char *path =
			controllers ? memchr(controllers + 1, ':', (size_t)(end - controllers - 1))
				    : NULL;

		if (path && path[1] == '/') {
			struct group g = {.path = path + 1, .len = (size_t)(end - path - 1)};

			if (has_memory(controllers + 1, path)) {
				g.folder = "/memory";
				g.file = "/memory.limit_in_bytes";
				return g;
			}
			g.folder = "";
			g.file = "/memory.max";
			if (path == controllers + 1)
				found = g;
		}
		line = *end ? end + 1 : end;
	}
	return found;
}

/* The number in a file; NO_LIMIT: there is none ("max"), or no such file. */
static uint64_t read_limit(const char *path)
{
	char content[32];
	uint64_t value;
	long n = sys_read_file(path, content, sizeof(content) - 1);

	if (n <= 0)
		return NO_LIMIT;
	content[n] = 0;
	*(char *)end_of_line(content) = 0;
	return text_parse_u64(content, &value) && value < NO_LIMIT ? value : NO_LIMIT;
}

uint64_t memory_limit_read(const char *groups, const char *root)
{
	struct group g = find_group(groups);
	char path[PATH_BYTES];
	struct text text = text_make(path, sizeof(path));
	uint64_t least = NO_LIMIT;
	size_t top;

	if (!g.path)
		return 0;
	text_put(&text, root);
	text_put(&text, g.folder);
	top = text.len;
	text_put_bytes(&text, g.path, g.path[g.len - 1] == '/' ? g.len - 1 : g.len);
	for (;;) {
		size_t len = text.len;
		uint64_t limit;

		text_put(&text, g.file);
		if (text.was_cut)
			return 0;
		limit = read_limit(path);
		least = limit < least ? limit : least;
		if (len == top)
			break;
		while (len > top && path[len - 1] != '/')
			len--;
		text.len = len > top ? len - 1 : top;
		path[text.len] = 0;
	}
	return least < NO_LIMIT ? least : 0;
}
