/* Any bytes as the environment of a process: parsed, and the name of the recording made of it. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "record/options.h"

static unsigned n_complaints;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void complain(const char *name, const char *value, const char *default_text)
{
	check(strlen(name) > 0 && value && default_text);
	n_complaints++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct options o;
	struct options_names names = {1, 2, "program", 3, size_bytes & 1};
	char out[256];
	struct text text = text_make(out, size_bytes % sizeof(out) + 1);
	char *env = malloc(size_bytes + 1); /* as the recorder reads it: a zero behind all */

	if (!env)
		return 0;
	memcpy(env, data, size_bytes);
	env[size_bytes] = 0;
	options_parse(&o, env, size_bytes, complain);
	check(strlen(o.OUTPUT) < OPTIONS_TEXT_BYTES && strlen(o.LOGFILE) < OPTIONS_TEXT_BYTES);
	options_expand(o.OUTPUT, &names, &text);
	check(strlen(out) <= size_bytes % sizeof(out));
	options_has_placeholder(o.OUTPUT, 'n');
	free(env);
	return 0;
}
