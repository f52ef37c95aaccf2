/* symbol/search.c - see search_i.h.
 *
 * Order: the binary in the recording, the file with the module's path, the files that the user
 * named. If none has DWARF: the user's debug files, the system's (.build-id, debuglink), the
 * debuginfod servers. Every candidate is opened and must prove by its build-id that it belongs to
 * the module. */
#include "symbol/search_i.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define MAX_FOLDER_FILES 2000 /* each is opened, for each module: a bigger folder has .build-id */

/* How a candidate must prove itself where there is no build-id. */
struct proof {
	bool by_name; /* named by the user, with the module's own name */
	bool has_crc;
	uint32_t crc; /* of its bytes, from .gnu_debuglink */
};

static const uint8_t *wanted_id(const struct search *s, size_t *len)
{
	*len = s->module->build_id_bytes;
	if (*len == 0 && s->binary) { /* then the embedded binary says what it is */
		*len = s->binary->build_id_bytes;
		return s->binary->build_id;
	}
	return s->module->build_id;
}

static bool is_proven(const struct search *s, const struct elf_file *f, const struct proof *p)
{
	size_t len;
	const uint8_t *id = wanted_id(s, &len);

	if (len > 0)
		return elf_file_is(f, id, len);
	return p->by_name || (p->has_crc && elf_file_crc(f) == p->crc);
}

/* Keeps the file as binary or debug if it belongs to the module and has what is missing. */
static int try_file(struct search *s, const char *path, const struct proof *p, struct err *err)
{
	struct elf_file *f = NULL;
	bool has_symbols;
	int r;

	r = elf_file_open(path, &f, err);
	if (r < 0 || !f)
		return r;
	if (!is_proven(s, f, p)) {
		elf_file_close(f);
		return 0;
	}
	has_symbols = elf_file_has_dwarf(f) || elf_file_has_section(f, ".symtab");
	if (!s->debug && has_symbols && (s->binary || elf_file_has_dwarf(f)))
		s->debug = f;
	else if (!s->binary && elf_file_has_section(f, ".dynsym"))
		s->binary = f;
	else if (!s->debug && has_symbols)
		s->debug = f;
	else
		elf_file_close(f);
	return 0;
}

static bool has_dwarf(const struct search *s)
{
	return (s->binary && elf_file_has_dwarf(s->binary)) ||
	       (s->debug && elf_file_has_dwarf(s->debug));
}

/* A separate file with symbols only does not stop the search for one with DWARF. */
static void drop_useless_debug(struct search *s, struct elf_file **kept)
{
	if (s->debug && !elf_file_has_dwarf(s->debug)) {
		elf_file_close(*kept);
		*kept = s->debug;
		s->debug = NULL;
	}
}

static int open_embedded(struct search *s, struct err *err)
{
	const struct symbol_module *m = s->module;
	int r;

	if (m->embedded_fd < 0)
		return 0;
	r = elf_file_open_fd(m->embedded_fd, m->path, &s->binary, err);
	if (r < 0 || !s->binary)
		return r;
	if (m->build_id_bytes && s->binary->build_id_bytes &&
	    !elf_file_is(s->binary, m->build_id, m->build_id_bytes)) {
		elf_file_close(s->binary);
		s->binary = NULL;
		return 0;
	}
	s->is_embedded = true;
	return 0;
}

/* The file that has the module's path on this machine. */
static int open_same_path(struct search *s, struct err *err)
{
	const struct symbol_module *m = s->module;
	struct elf_file *f = NULL;
	int r;

	if (s->binary || !s->options->use_local_files || m->path[0] != '/')
		return 0;
	r = elf_file_open(m->path, &f, err);
	if (r < 0 || !f)
		return r;
	if (elf_file_is(f, m->build_id, m->build_id_bytes)) {
		s->binary = f;
		return 0;
	}
	s->has_wrong_file = true;
	snprintf(s->wrong_path, sizeof(s->wrong_path), "%s", m->path);
	elf_file_close(f);
	return 0;
}

/* folder/.build-id/xx/yyyy.debug */
static bool build_id_path(const char *folder, const uint8_t *id, size_t len, char *path)
{
	char hex[SEARCH_MAX_BUILD_ID_HEX];

	if (len < 2 || len > ELF_MAX_BUILD_ID_BYTES)
		return false;
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return snprintf(path, SEARCH_MAX_PATH_BYTES, "%s/.build-id/%.2s/%s.debug", folder, hex,
			hex + 2) < SEARCH_MAX_PATH_BYTES;
}

static int try_build_id(struct search *s, const char *folder, struct err *err)
{
	char path[SEARCH_MAX_PATH_BYTES];
	size_t len;
	const uint8_t *id = wanted_id(s, &len);
	struct proof none = {0};

	return build_id_path(folder, id, len, path) ? try_file(s, path, &none, err) : 0;
}

/* Tries the file folder/name, unless the path is too long. */
static int try_in(struct search *s, const char *folder, const char *name, const struct proof *p,
		  struct err *err)
{
	char path[SEARCH_MAX_PATH_BYTES];

	if (has_dwarf(s) ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return 0;
	return try_file(s, path, p, err);
}

/* All files of a folder, by their build-ids alone. */
static int try_all(struct search *s, const char *folder, struct err *err)
{
	struct proof none = {0};
	struct dirent *e;
	DIR *dir;
	size_t len;
	int r = 0;

	wanted_id(s, &len);
	if (len == 0 || has_dwarf(s) || !(dir = opendir(folder)))
		return 0;
	for (unsigned i = 0; i < MAX_FOLDER_FILES && r == 0 && (e = readdir(dir)); i++) {
		if (e->d_name[0] != '.' && e->d_type != DT_DIR)
			r = try_in(s, folder, e->d_name, &none, err);
	}
	closedir(dir);
	return r;
}

struct link {
	const char *name; /* from .gnu_debuglink, or NULL */
	struct proof proof;
};

static struct link get_link(struct search *s)
{
	struct link link = {0};

	if (s->binary && elf_file_debuglink(s->binary, &link.name, &link.proof.crc))
		link.proof.has_crc = true;
	return link;
}

static int try_user_folder(struct search *s, const char *folder, struct err *err)
{
	struct link link = get_link(s);
	struct proof by_name = link.proof;
	char name[512];
	int r;

	by_name.by_name = true;
	r = try_build_id(s, folder, err);
	if (r == 0 && link.name)
		r = try_in(s, folder, link.name, &link.proof, err);
	if (r == 0)
		r = try_in(s, folder, text_basename(s->module->path), &by_name, err);
	snprintf(name, sizeof(name), "%s.debug", text_basename(s->module->path));
	if (r == 0)
		r = try_in(s, folder, name, &by_name, err);
	if (r == 0) /* the folder as a copy of another machine's root */
		r = try_in(s, folder, s->module->path, &by_name, err);
	if (r == 0)
		r = try_all(s, folder, err);
	return r;
}

/* Whether a file that the user named has the name of the module, or that name with .debug. */
static bool has_module_name(const struct search *s, const char *path)
{
	const char *name = text_basename(path), *module = text_basename(s->module->path);
	size_t len = strlen(module);

	return len > 0 && strncmp(name, module, len) == 0 &&
	       (name[len] == 0 || strcmp(name + len, ".debug") == 0);
}

static int try_user_paths(struct search *s, struct err *err)
{
	for (size_t i = 0; i < s->options->n_debug_paths && !has_dwarf(s); i++) {
		const char *path = s->options->debug_path[i];
		struct proof proof = get_link(s).proof;
		struct stat st;
		int r;

		if (stat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			r = try_user_folder(s, path, err);
		} else {
			proof.by_name = has_module_name(s, path);
			r = try_file(s, path, &proof, err);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* beside the module, in .debug beside it, and below the system's debug folder */
static int try_debuglink(struct search *s, struct err *err)
{
	const char *path = s->module->path;
	struct link link = get_link(s);
	char folder[SEARCH_MAX_PATH_BYTES];
	int n = (int)(text_basename(path) - path), r;

	if (!link.name || path[0] != '/')
		return 0;
	snprintf(folder, sizeof(folder), "%.*s", n, path);
	r = try_in(s, folder, link.name, &link.proof, err);
	snprintf(folder, sizeof(folder), "%.*s.debug", n, path);
	if (r == 0)
		r = try_in(s, folder, link.name, &link.proof, err);
	snprintf(folder, sizeof(folder), DEBUG_ROOT "%.*s", n, path);
	if (r == 0)
		r = try_in(s, folder, link.name, &link.proof, err);
	return r;
}

static int try_servers(struct search *s, enum debuginfod_kind kind, struct err *err)
{
	struct proof none = {0};
	size_t len;
	const uint8_t *id = wanted_id(s, &len);
	char *path;
	int r;

	if (!s->options->use_debuginfod || len == 0)
		return 0;
	path = debuginfod_find(kind, id, len);
	r = path ? try_file(s, path, &none, err) : 0;
	free(path);
	return r;
}

/* Keeps the file as alt if it has the right build-id. */
static int try_alt(struct search *s, const char *path, struct view id, struct err *err)
{
	struct elf_file *f = NULL;
	int r;

	if (s->alt)
		return 0;
	r = elf_file_open(path, &f, err);
	if (r < 0 || !f)
		return r;
	if (elf_file_is(f, id.data, id.len))
		s->alt = f;
	else
		elf_file_close(f);
	return 0;
}

static int try_alt_in(struct search *s, const char *folder, const char *name, struct view id,
		      struct err *err)
{
	char path[SEARCH_MAX_PATH_BYTES];
	int r = 0;

	if (build_id_path(folder, id.data, id.len, path))
		r = try_alt(s, path, id, err);
	snprintf(path, sizeof(path), "%s/%s", folder, text_basename(name));
	return r == 0 ? try_alt(s, path, id, err) : r;
}

/* Finds the file that dwz made of what several debug files have in common. */
static int find_alt(struct search *s, struct err *err)
{
	struct elf_file *f = s->debug && elf_file_has_dwarf(s->debug) ? s->debug : s->binary;
	char path[SEARCH_MAX_PATH_BYTES];
	const char *name;
	struct view id;
	int r = 0;

	if (!f || !elf_file_altlink(f, &name, &id))
		return 0;
	for (size_t i = 0; r == 0 && i < s->options->n_debug_paths; i++) {
		r = try_alt(s, s->options->debug_path[i], id, err);
		if (r == 0)
			r = try_alt_in(s, s->options->debug_path[i], name, id, err);
	}
	if (r == 0 && s->options->use_local_files) {
		int n = name[0] == '/' ? 0 : (int)(text_basename(f->path) - f->path);

		snprintf(path, sizeof(path), "%.*s%s", n, f->path, name);
		r = try_alt(s, path, id, err);
		if (r == 0)
			r = try_alt_in(s, DEBUG_ROOT, name, id, err);
	}
	if (r == 0 && !s->alt && s->options->use_debuginfod) {
		char *found = debuginfod_find(DEBUGINFOD_DEBUG, id.data, id.len);

		r = found ? try_alt(s, found, id, err) : 0;
		free(found);
	}
	return r;
}

/* Finds a debug file: first what the user named, then the system's, then the servers'. */
static int find_debug(struct search *s, struct err *err)
{
	struct elf_file *kept = NULL; /* has symbols, but no DWARF */
	int r = try_user_paths(s, err);

	drop_useless_debug(s, &kept);
	if (r == 0 && !has_dwarf(s) && s->options->use_local_files)
		r = try_build_id(s, DEBUG_ROOT, err);
	drop_useless_debug(s, &kept);
	if (r == 0 && !has_dwarf(s) && s->options->use_local_files)
		r = try_debuglink(s, err);
	drop_useless_debug(s, &kept);
	if (r == 0 && !has_dwarf(s))
		r = try_servers(s, DEBUGINFOD_DEBUG, err);
	if (s->debug)
		elf_file_close(kept);
	else
		s->debug = kept;
	return r;
}

int search_run(struct search *s, struct err *err)
{
	int r = open_embedded(s, err);

	if (r == 0)
		r = open_same_path(s, err);
	if (r == 0 && !has_dwarf(s))
		r = find_debug(s, err);
	if (r == 0 && !s->binary && !s->debug)
		r = try_servers(s, DEBUGINFOD_EXECUTABLE, err);
	if (r == 0)
		r = find_alt(s, err);
	return r;
}

void search_fini(struct search *s)
{
	elf_file_close(s->binary);
	elf_file_close(s->debug);
	elf_file_close(s->alt);
	s->binary = s->debug = s->alt = NULL;
}
