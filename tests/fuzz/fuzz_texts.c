/* Any bytes as the name of a function, a source and an image: demangled, shortened, classified. Names
 * come from symbol tables and recordings, which may be damaged or hostile.
 */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "query/frame_class.h"
#include "query/frame_name.h"
#include "query/frame_package.h"
#include "symbol/symbol.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void shorten(const char *name)
{
	struct frame_name_path path = frame_name_path(name);
	size_t len = strlen(name);
	char buf[FRAME_NAME_BYTES];

	check(path.start >= name && path.start + path.len <= name + len);
	check(strlen(frame_name_short(name, buf)) < FRAME_NAME_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char *text = malloc(size_bytes + 1);
	char *demangled, package[FRAME_PACKAGE_BYTES];
	struct frame f = {0};

	if (!text)
		return 0;
	memcpy(text, data, size_bytes);
	text[size_bytes] = 0;
	shorten(text);
	demangled = symbol_demangle(text);
	if (demangled)
		shorten(demangled);
	f.function = demangled ? demangled : text;
	f.raw_function = text;
	f.source = size_bytes > 8 ? text + 8 : NULL;
	f.module = text + size_bytes / 2;
	check(frame_class_of(&f, text) < FRAME_N_CLASSES);
	check(frame_class_of(&f, NULL) < FRAME_N_CLASSES);
	frame_package(&f, package);
	check(package[0] && memchr(package, 0, sizeof(package)));
	free(demangled);
	free(text);
	return 0;
}
