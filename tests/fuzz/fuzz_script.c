/* Any script, in the bounds of a server but smaller: it ends, prints no more than it may, and never crashes.
 *
 * The first byte says what the others are: the text of a script; numbers of words, of which a script is
 * made; or a pattern and a text for string.find, gsub and gmatch.
 */
#include "harness/fuzz.h"
#include "harness/store_synth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "script/script.h"

#define MAX_NS 100000000u
#define MAX_OUTPUT_BYTES 4096u
#define MAX_ELAPSED_NS 30000000000u /* far more than the limit: machines may be slow */

static size_t n_printed;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void print_text(void *user, const char *text, size_t len)
{
	(void)user;
	check(text || !len);
	n_printed += len;
}

static int create_file(void *user, const char *path, FILE **ret, struct err *err)
{
	(void)user, (void)path;
	*ret = fopen("/dev/null", "w");
	return *ret ? 0 : err_set(err, ERR_IO, "no /dev/null");
}

static int close_file(void *user, FILE *file, bool is_whole, struct err *err)
{
	(void)user, (void)is_whole, (void)err;
	fclose(file);
	return 0;
}

static const struct script_data *get_data(void)
{
	static struct script_data data;
	static struct store *store;
	struct frames *frames = NULL;
	struct err err = {0};
	char path[] = "/tmp/fuzz_script_XXXXXX";
	int fd;

	if (store)
		return &data;
	fd = mkstemp(path);
	check(fd >= 0);
	close(fd);
	synth_store_write(path, 10000, NULL);
	check(store_open(path, &store, &err) == 0 && frames_open(store, NULL, &frames, &err) == 0);
	unlink(path);
	data = (struct script_data){.context = {.store = store, .frames = frames, .n_threads = 1},
				    .name = "fuzz"};
	return &data;
}

static void run(const char *code, size_t len)
{
	const struct script_host host = {
		.print = print_text, .create = create_file, .close = close_file};
	const struct script_options o = {.host = &host,
					 .data = get_data(),
					 .n_data = 1,
					 .max_memory_bytes = (size_t)16 << 20,
					 .max_ns = MAX_NS,
					 .max_output_bytes = MAX_OUTPUT_BYTES};
	struct script_result r;
	struct script *s = NULL;
	struct err err = {0};

	n_printed = 0;
	check(script_create(&o, &s, &err) == 0);
	script_run(s, "fuzz", code, len, &r);
	check(n_printed <= MAX_OUTPUT_BYTES);
	check(r.elapsed_ns < MAX_ELAPSED_NS);
	check((r.status == SCRIPT_FAILED) <= (r.message[0] != 0));
	script_destroy(s);
}

/* What scripts are made of. Blanks stand between words. */
static const char *const words[] = {
	"x",
	"y",
	"z",
	"t",
	"=",
	",",
	".",
	":",
	"(",
	")",
	"{",
	"}",
	"[",
	"]",
	"\n",
	"+",
	"-",
	"*",
	"/",
	"..",
	"==",
	"<",
	"#",
	"&",
	"|",
	"//",
	"%",
	"nil",
	"true",
	"0",
	"1",
	"2",
	"100",
	"1e9",
	"-1",
	"math.maxinteger",
	"''",
	"'a'",
	"'%s*'",
	"('x'):rep(1000)",
	"local",
	"function()",
	"end",
	"if",
	"then",
	"while true do",
	"for i = 1, 100 do",
	"for k, v in pairs(x) do",
	"return",
	"repeat",
	"until",
	"not",
	"and",
	"or",
	"goto",
	"pcall",
	"xpcall",
	"error",
	"setmetatable",
	"getmetatable",
	"coroutine.wrap",
	"coroutine.create",
	"coroutine.resume",
	"coroutine.yield",
	"coroutine.close",
	"table.insert",
	"table.remove",
	"table.move",
	"table.sort",
	"table.concat",
	"table.unpack",
	"table.pack",
	"string.rep",
	"string.find",
	"string.gsub",
	"string.gmatch",
	"string.format",
	"string.byte",
	"utf8.char",
	"tostring",
	"tonumber",
	"select",
	"next",
	"rawset",
	"rawlen",
	"load",
	"collectgarbage",
	"__index",
	"__close",
	"__tostring",
	"__len",
	"__gc",
	"__eq",
	"_G",
	"_ENV",
	"print",
	"println",
	"print_table",
	"exit",
	"save",
	"argv",
	"size",
	"duration",
	"data",
	"allocations",
	"allocations()",
	"allocations{size_min = 100}",
	"size_min",
	"function_regex",
	"backtraces",
	"from",
	"where",
	"only_leaked()",
	"only_larger(100)",
	"only_alive_at",
	"group_by",
	"'backtrace'",
	"'function'",
	"'thread'",
	"'size'",
	"'package'",
	"sort_by",
	"'bytes'",
	"take",
	"only",
	"ungroup()",
	"list()",
	"backtrace()",
	"strip()",
	"frames()",
	"blame()",
	"rows()",
	"rows{limit = 3}",
	"first()",
	"series()",
	"series{by = 'thread', points = 3}",
	"points",
	"growth()",
	"by",
	"total()",
	"peak()",
	"count()",
	"conditions()",
	"graph()",
	"add",
	"stacked()",
	"trim()",
	"svg()",
	"s(1)",
	"ms(1)",
	"'50%'",
	"markers()",
	"_tree",
	"_data",
	"_ud",
	"_items",
	"op",
	"'or'",
	"export",
	"'csv'",
	"'collapsed'",
};

static void run_words(const uint8_t *data, size_t n)
{
	char *code = NULL;
	size_t len;
	FILE *out = open_memstream(&code, &len);

	check(out != NULL);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s ", words[data[i] % ARRAY_LEN(words)]);
	fclose(out);
	run(code, len);
	free(code);
}

static void put_bytes(FILE *out, const uint8_t *data, size_t n)
{
	putc('"', out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "\\x%02x", data[i]);
	putc('"', out);
}

static void run_pattern(const uint8_t *data, size_t n)
{
	size_t split = n ? data[0] % n : 0, len;
	char *code = NULL;
	FILE *out = open_memstream(&code, &len);

	check(out != NULL);
	fputs("local p, s = ", out);
	put_bytes(out, data, split);
	fputs(", ", out);
	put_bytes(out, data + split, n - split);
	fputs("\npcall(string.find, s, p) pcall(string.match, s, p, -3) pcall(string.gsub, s, p, "
	      "s)\n"
	      "pcall(string.gsub, s, p, print) pcall(function() for a, b in s:gmatch(p) do end "
	      "end)\n",
	      out);
	fclose(out);
	run(code, len);
	free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	if (size_bytes == 0 || size_bytes > 4096)
		return 0;
	if (data[0] % 3 == 0)
		run((const char *)data + 1, size_bytes - 1);
	else if (data[0] % 3 == 1)
		run_words(data + 1, size_bytes - 1);
	else
		run_pattern(data + 1, size_bytes - 1);
	return 0;
}
