/* symbol/image.c - see symbol.h. */
#include "symbol/symbol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/search_i.h"
#include "symbol/symtab_i.h"

struct symbol_image {
	struct search files;
	struct elf_file *mini; /* out of .gnu_debugdata, or NULL */
	struct elf_file *with_dwarf; /* one of files, or NULL */
	char *path; /* the module's */
	struct symtab symtab;
	bool has_symtab; /* symtab has been read */
	bool has_names;
	struct dwarf dwarf;
	char origin[1024];
};

static bool has_symbols(struct elf_file *f)
{
	return f && (elf_file_has_dwarf(f) || symtab_has_functions(f));
}

/* Says in words where the symbols come from, or why there are none. */
static void set_origin(struct symbol_image *image)
{
	const struct search *s = &image->files;
	const char *lines = !image->with_dwarf ? "no lines" : "with lines";
	size_t cap = sizeof(image->origin);
	int n;

	if (!image->has_names && s->has_wrong_file) {
		snprintf(image->origin, cap,
			 "no symbols: %s has another build-id than the module that was recorded",
			 s->wrong_path);
	} else if (!image->has_names && (s->binary || s->debug)) {
		snprintf(image->origin, cap,
			 "no symbols: the binary is stripped, and no debug file "
			 "was found");
	} else if (!image->has_names) {
		snprintf(image->origin, cap,
			 "no symbols: %s is not in the recording and was not "
			 "found",
			 image->path);
	} else {
		n = snprintf(image->origin, cap, "%s%s%s, %s", s->is_embedded ? "recording" : "",
			     !s->is_embedded && s->binary ? s->binary->path : "",
			     !s->binary ? s->debug->path : "", lines);
		if (s->binary && s->debug && n > 0 && (size_t)n < cap)
			n += snprintf(image->origin + n, cap - (size_t)n, " from %s",
				      s->debug->path);
		if (image->mini && n > 0 && (size_t)n < cap)
			snprintf(image->origin + n, cap - (size_t)n,
				 ", more names from "
				 ".gnu_debugdata");
	}
}

int symbol_image_open(const struct symbol_module *module, const struct symbol_options *options,
		      struct symbol_image **ret, struct err *err)
{
	struct symbol_image *image = calloc(1, sizeof(*image));
	struct search *s;
	int r;

	if (!image)
		return err_set_memory(err, sizeof(*image));
	s = &image->files;
	s->module = module;
	s->options = options;
	image->path = strdup(module->path);
	r = image->path ? search_run(s, err) : err_set_memory(err, strlen(module->path));
	if (s->debug && elf_file_has_dwarf(s->debug))
		image->with_dwarf = s->debug;
	else if (s->binary && elf_file_has_dwarf(s->binary))
		image->with_dwarf = s->binary;
	if (r == 0 && s->binary && !image->with_dwarf)
		r = elf_file_minidebug(s->binary, &image->mini, err);
	if (r < 0) {
		image->with_dwarf = NULL; /* not initialised yet */
		symbol_image_close(image);
		return r;
	}
	s->module = NULL; /* the caller's memory */
	if (image->with_dwarf)
		dwarf_init(&image->dwarf, image->with_dwarf, s->alt, image->path, options);
	image->has_names = has_symbols(s->binary) || has_symbols(s->debug) || image->mini;
	set_origin(image);
	*ret = image;
	return 0;
}

void symbol_image_close(struct symbol_image *image)
{
	if (!image)
		return;
	if (image->with_dwarf)
		dwarf_fini(&image->dwarf);
	symtab_fini(&image->symtab);
	elf_file_close(image->mini);
	search_fini(&image->files);
	free(image->path);
	free(image);
}

size_t symbol_image_size(const struct symbol_image *image)
{
	const struct dwarf *d = &image->dwarf; /* zeroed without DWARF */
	const struct elf_file *file[] = {image->files.binary, image->files.debug, image->files.alt,
					 image->mini};
	size_t n_bytes = sizeof(*image) + image->symtab.cap * sizeof(*image->symtab.entry) +
			 d->index_bytes + d->main.name_bytes + d->main.abbrev_bytes +
			 d->alt.abbrev_bytes;

	for (size_t i = 0; i < ARRAY_LEN(file); i++)
		n_bytes += file[i] ? file[i]->heap_bytes : 0;
	return n_bytes;
}

const char *symbol_image_origin(const struct symbol_image *image)
{
	return image->origin;
}

static int read_symtab(struct symbol_image *image, struct err *err)
{
	struct elf_file *file[3] = {image->files.binary, image->files.debug, image->mini};
	int r = 0;

	if (image->has_symtab)
		return 0;
	for (int i = 0; i < 3 && r == 0; i++)
		r = file[i] ? symtab_add(&image->symtab, file[i], err) : 0;
	symtab_seal(&image->symtab);
	image->has_symtab = true;
	return r;
}

static const struct dwarf_name *find_elf_name(void *user, uint64_t addr)
{
	struct symbol_image *image = user;

	if (read_symtab(image, NULL) < 0)
		return NULL; /* memory is out: the next allocation will fail as well */
	return symtab_find(&image->symtab, addr);
}

/* Adds, once, that units are missing. */
static void add_missing_units(struct symbol_image *image)
{
	static const char text[] = "; some .dwo files were not found";

	if (image->dwarf.split.n_missing > 0 && !strstr(image->origin, text) &&
	    strlen(image->origin) + sizeof(text) <= sizeof(image->origin))
		strcat(image->origin, text);
}

int symbol_image_resolve(struct symbol_image *image, uint64_t elf_vaddr, symbol_frame_fn fn,
			 void *user, struct err *err)
{
	struct frame_sink sink = {fn, user, find_elf_name, image};
	struct symbol_frame frame = {0};
	const struct dwarf_name *name;
	int n = 0;

	if (image->with_dwarf) {
		n = dwarf_resolve(&image->dwarf, elf_vaddr, &sink, err);
		add_missing_units(image);
	}
	if (n != 0)
		return n;
	n = read_symtab(image, err);
	if (n < 0)
		return n;
	name = symtab_find(&image->symtab, elf_vaddr);
	if (!name)
		return 0;
	frame.raw_function = name->raw;
	frame.function = name->demangled ? name->demangled : name->raw;
	fn(user, &frame);
	return 1;
}
