/* query/frame_package.c - see frame_package.h. */
#include "query/frame_package.h"

#include <string.h>

#include "base/text.h"
#include "query/frame_class.h"

static void copy(const char *start, size_t len, char ret[FRAME_PACKAGE_BYTES])
{
	struct text t = text_make(ret, FRAME_PACKAGE_BYTES);

	text_put_bytes(&t, start, len);
	if (t.was_cut)
		memcpy(ret + FRAME_PACKAGE_BYTES - 4, "...", 4);
}

/* Identifiers may hold letters beyond ASCII. */
static bool is_identifier(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* The length of the crate's name that the path begins with; 0: it begins with none. */
static size_t crate_length(struct frame_name_path p)
{
	size_t n = 0, end;

	while (n < p.len && is_identifier(p.start[n]))
		n++;
	end = n;
	if (n < p.len && p.start[n] == '[') { /* core[8a3f]::fmt */
		while (end < p.len && p.start[end++] != ']')
			;
	}
	return end + 2 <= p.len && memcmp(p.start + end, "::", 2) == 0 ? n : 0;
}

/* The length of a module's file name before ".so" and what follows; all of it when there is no ".so". */
static size_t library_length(const char *name)
{
	for (const char *p = strstr(name, ".so"); p; p = strstr(p + 1, ".so")) {
		if (p > name && (p[3] == 0 || strchr(".- ", p[3])))
			return (size_t)(p - name);
	}
	return strlen(name);
}

/* What Python calls a function of a script, "py::handle:/srv/app.py": app.py. Else NULL. */
static const char *python_script(const struct frame *f)
{
	const char *colon;

	if (f->module || !f->function || strncmp(f->function, "py::", 4) != 0)
		return NULL;
	colon = strrchr(f->function + 4, ':');
	return colon ? text_basename(colon + 1) : NULL;
}

void frame_package(const struct frame *f, char ret[FRAME_PACKAGE_BYTES])
{
	const char *name;

	ret[0] = 0;
	if (f->function && frame_class_is_rust(f)) {
		struct frame_name_path path = frame_class_rust_path(f->function);

		copy(path.start, crate_length(path), ret);
	}
	if (ret[0])
		return;
	name = f->module ? text_basename(f->module) : python_script(f);
	if (!name || !*name)
		name = "[no image]";
	copy(name, library_length(name), ret);
}
