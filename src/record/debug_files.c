/* record/debug_files.c - see debug_files.h. */
#include "record/debug_files.h"

#include <elf.h>
#include <string.h>

#include "base/text.h"

#define PATH_BYTES 768u
#define MAX_ID_BYTES 64u
#define DEBUG_DIRECTORY "/usr/lib/debug"

/* Folders of debuginfod clients. "": not known. */
static char cache[2][PATH_BYTES];

/* The value of a variable, or "" if it is not set, or no absolute path. */
static const char *path_in(const char *env, size_t n_bytes, const char *name)
{
	size_t n = strlen(name);

	for (size_t at = 0; at < n_bytes; at += strnlen(env + at, n_bytes - at) + 1) {
		if (n_bytes - at > n + 1 && !memcmp(env + at, name, n) && env[at + n] == '=' &&
		    env[at + n + 1] == '/' && memchr(env + at, 0, n_bytes - at))
			return env + at + n + 1;
	}
	return "";
}

/* "" if the base is "", or the whole is too long. */
static void set_cache(unsigned i, const char *base, const char *rest)
{
	struct text text = text_make(cache[i], sizeof(cache[i]));

	text_put(&text, base);
	text_put(&text, rest);
	if (!base[0] || text.was_cut)
		cache[i][0] = 0;
}

void debug_files_init(const char *env, size_t n_bytes)
{
	const char *chosen = path_in(env, n_bytes, "DEBUGINFOD_CACHE_PATH");
	const char *caches = path_in(env, n_bytes, "XDG_CACHE_HOME");
	const char *home = path_in(env, n_bytes, "HOME");

	cache[0][0] = cache[1][0] = 0;
	if (chosen[0]) {
		set_cache(0, chosen, "");
		return;
	}
	set_cache(0, caches[0] ? caches : home,
		  caches[0] ? "/debuginfod_client" : "/.cache/debuginfod_client");
	set_cache(1, home, "/.debuginfod_client_cache");
}

/* The build id: behind a note header of 12 bytes and the name "GNU". NULL: none. */
static const uint8_t *find_build_id(const struct module_file *f, size_t *ret_n)
{
	size_t n;
	const uint8_t *note = module_file_section(f, ".note.gnu.build-id", &n);

	if (!note || n < 20)
		return NULL;
	*ret_n = n - 16;
	return note + 16;
}

/* Opens path if that is a file with symbols and with the same build id. */
static bool open_matching(const struct module_file *stripped, const char *path,
			  struct module_file *ret)
{
	struct module_symbols symbols;
	const uint8_t *id, *other;
	size_t n = 0, n_other = 0;

	if (!module_file_open(path, ret))
		return false;
	id = find_build_id(stripped, &n);
	other = find_build_id(ret, &n_other);
	if (id && other && n == n_other && !memcmp(id, other, n) &&
	    module_file_symbols(ret, SHT_SYMTAB, &symbols))
		return true;
	module_file_close(ret);
	return false;
}

/* The file at before, the build id, after. slash_at: a slash comes before this byte of the id. */
static bool open_by_build_id(const struct module_file *stripped, const char *before,
			     size_t slash_at, const char *after, struct module_file *ret)
{
	char path[PATH_BYTES + 2 * MAX_ID_BYTES + 16];
	struct text text = text_make(path, sizeof(path));
	size_t n = 0;
	const uint8_t *id = find_build_id(stripped, &n);

	if (!id || n > MAX_ID_BYTES)
		return false;
	text_put(&text, before);
	for (size_t i = 0; i < n; i++) {
		if (i == slash_at)
			text_put_char(&text, '/');
		text_put_hex(&text, id[i], 2);
	}
	text_put(&text, after);
	return open_matching(stripped, path, ret);
}

static bool open_by_link(const struct module_file *stripped, const char *path,
			 struct module_file *ret)
{
	static const char *const form[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_DIRECTORY, "/"}};
	size_t n_directory = (size_t)(text_basename(path) - path), n_link;
	const char *name = (const char *)module_file_section(stripped, ".gnu_debuglink", &n_link);
	char candidate[PATH_BYTES];

	if (!name || !n_directory || !memchr(name, 0, n_link))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(form); i++) {
		struct text text = text_make(candidate, sizeof(candidate));

		text_put(&text, form[i][0]);
		text_put_bytes(&text, path, n_directory - 1);
		text_put(&text, form[i][1]);
		text_put(&text, name);
		if (!text.was_cut && open_matching(stripped, candidate, ret))
			return true;
	}
	return false;
}

bool debug_files_open(const struct module_file *stripped, const char *path, struct module_file *ret)
{
	if (open_by_build_id(stripped, DEBUG_DIRECTORY "/.build-id/", 1, ".debug", ret) ||
	    open_by_link(stripped, path, ret))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(cache); i++) {
		if (cache[i][0] && open_by_build_id(stripped, cache[i], 0, "/debuginfo", ret))
			return true;
	}
	return false;
}
