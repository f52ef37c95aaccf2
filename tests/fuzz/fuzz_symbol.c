/* Any bytes as the ELF file of a module: opened, and asked for addresses in and around its code. */
#include "harness/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/symbol.h"

#define MAX_FRAMES (1u << 20)

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void take_frame(void *user, const struct symbol_frame *f)
{
	unsigned *n = user;

	/* Reads every text to its end. */
	if (f->function)
		check(strlen(f->function) < 1u << 24);
	if (f->raw_function)
		check(strlen(f->raw_function) < 1u << 24);
	if (f->source)
		check(strlen(f->source) < 1u << 24);
	check(++*n < MAX_FRAMES);
}

static void ask(struct symbol_image *image, uint64_t addr)
{
	struct err err = {0};
	unsigned n = 0;
	int r = symbol_image_resolve(image, addr, take_frame, &n, &err);

	check(r < 0 || (unsigned)r == n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	char self[64];
	const char *const debug_path[] = {self}; /* the same bytes as a debug file, .dwo and .dwp */
	struct symbol_options options = {debug_path, 1, false, false};
	struct symbol_module module = {.path = "/nonexistent/module"};
	struct symbol_image *image = NULL;
	struct err err = {0};

	module.embedded_fd = memfd_create("module", MFD_CLOEXEC);
	if (module.embedded_fd < 0)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", module.embedded_fd);
	if (write(module.embedded_fd, data, size_bytes) == (ssize_t)size_bytes &&
	    symbol_image_open(&module, &options, &image, &err) == 0) {
		/* the programs of the corpus have their code here */
		for (uint64_t addr = 0x1000; addr < 0x1800; addr += 7)
			ask(image, addr);
		for (uint64_t addr = 0; addr < 0x8000; addr += 0x101)
			ask(image, addr);
		ask(image, UINT64_MAX);
		check(strlen(symbol_image_origin(image)) > 0);
	}
	symbol_image_close(image);
	close(module.embedded_fd);
	return 0;
}
