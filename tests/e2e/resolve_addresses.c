/* e2e/resolve_addresses.c - what src/symbol says of addresses, for tests and comparisons.
 *
 * usage: resolve_addresses [--build-id HEX] [--embedded FILE] [--debug PATH]... [--no-local]
 *                          [--debuginfod] [--quiet] MODULE < addresses
 * Addresses are hexadecimal, one a line, as the ELF file counts. First line of output: where the
 * symbols come from. Then for each address a line with it, and one for each frame:
 *	function TAB raw function TAB source TAB line TAB column TAB inline|function
 * Unknown texts are "?". */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "util/human.h"

#define MAX_DEBUG_PATHS 16

static bool is_quiet;

static void print_text(const char *text)
{
	const char *at;

	if (!text)
		text = "?";
	for (at = text; *at >= ' ' && *at <= '~';)
		at++;
	if (!*at)
		fputs(text, stdout);
	else /* a damaged file has any bytes in it */
		human_print_text(stdout, text, strlen(text));
	putchar('\t');
}

static void print_frame(void *user, const struct symbol_frame *f)
{
	(void)user;
	if (is_quiet)
		return;
	print_text(f->function);
	print_text(f->raw_function);
	print_text(f->source);
	printf("%" PRIu32 "\t%" PRIu32 "\t%s\n", f->line, f->column,
	       f->is_inline ? "inline" : "function");
}

static size_t parse_hex(const char *hex, uint8_t *ret, size_t max)
{
	size_t n = 0;
	unsigned byte;

	while (n < max && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		ret[n++] = (uint8_t)byte;
	return n;
}

static int usage(void)
{
	fprintf(stderr, "usage: see the head of resolve_addresses.c\n");
	return 2;
}

struct command {
	struct symbol_module module;
	struct symbol_options options;
	const char *debug_path[MAX_DEBUG_PATHS];
	uint8_t build_id[64];
};

/* Takes one option with its value; false when it is not one. */
static bool take_option(struct command *c, const char *option, const char *value)
{
	if (strcmp(option, "--build-id") == 0) {
		c->module.build_id_bytes = parse_hex(value, c->build_id, sizeof(c->build_id));
	} else if (strcmp(option, "--embedded") == 0) {
		c->module.embedded_fd = open(value, O_RDONLY | O_CLOEXEC);
		if (c->module.embedded_fd < 0)
			perror(value);
	} else if (strcmp(option, "--debug") == 0 && c->options.n_debug_paths < MAX_DEBUG_PATHS) {
		c->debug_path[c->options.n_debug_paths++] = value;
	} else {
		return false;
	}
	return true;
}

static int resolve_lines(struct symbol_image *image)
{
	struct err err = {0};
	char line[64];
	int r = 0;

	printf("%s\n", symbol_image_origin(image));
	while (r >= 0 && fgets(line, sizeof(line), stdin)) {
		uint64_t addr = strtoull(line, NULL, 16);

		if (!is_quiet)
			printf("%#" PRIx64 "\n", addr);
		r = symbol_image_resolve(image, addr, print_frame, NULL, &err);
	}
	if (r < 0)
		fprintf(stderr, "resolve_addresses: %s\n", err.text);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct command c = {.module = {.embedded_fd = -1}, .options = {.use_local_files = true}};
	struct symbol_image *image = NULL;
	struct err err = {0};
	int i, failed;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--no-local") == 0)
			c.options.use_local_files = false;
		else if (strcmp(argv[i], "--debuginfod") == 0)
			c.options.use_debuginfod = true;
		else if (strcmp(argv[i], "--quiet") == 0)
			is_quiet = true;
		else if (i + 1 < argc && take_option(&c, argv[i], argv[i + 1]))
			i++;
		else
			return usage();
	}
	if (i + 1 != argc)
		return usage();
	c.module.path = argv[i];
	c.module.build_id = c.build_id;
	c.options.debug_path = c.debug_path;
	if (symbol_image_open(&c.module, &c.options, &image, &err) < 0) {
		fprintf(stderr, "resolve_addresses: %s\n", err.text);
		return 1;
	}
	failed = resolve_lines(image);
	symbol_image_close(image);
	return failed;
}
