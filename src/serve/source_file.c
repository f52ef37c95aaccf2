/* serve/source_file.c - see source_file.h. */
#include "serve/source_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/units.h"
#include "util/clean_path.h"
#include "util/file.h"

/* Endings of the names of source files; headers of C++ have none, but lie below include. */
static const char *const suffixes[] = {
	".c",   ".cc",  ".cpp", ".cxx", ".c++", ".C",   ".h",   ".hh",  ".hpp",   ".hxx",
	".h++", ".H",   ".inl", ".inc", ".ipp", ".tcc", ".tpp", ".def", ".s",     ".S",
	".asm", ".rs",  ".go",  ".d",   ".di",  ".zig", ".nim", ".f",   ".f90",   ".f95",
	".for", ".adb", ".ads", ".pas", ".m",   ".mm",  ".cu",  ".cuh", ".swift", ".vala",
	".y",   ".yy",  ".l",   ".ll",  ".py",  ".pyx", ".js",  ".ts",  ".java",  ".kt",
	".ml",  ".mli", ".hs",  ".cr",  ".v",   ".sv",
};

static bool has_source_name(const char *path)
{
	const char *dot = strrchr(text_basename(path), '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(suffixes); i++) {
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	}
	return !dot && strstr(path, "/include/");
}

/* Reads a file that is open, or says in f->reason why not. */
static int read_text(struct source_file *f, const struct file *file, struct err *err)
{
	size_t n_read = 0;

	if (file->size_bytes > SOURCE_FILE_MAX_BYTES) {
		snprintf(f->reason, sizeof(f->reason), "it is larger than %zu MiB",
			 SOURCE_FILE_MAX_BYTES >> 20);
		return 0;
	}
	f->text = malloc((size_t)file->size_bytes + 1);
	if (!f->text)
		return err_set_memory(err, (size_t)file->size_bytes);
	if (file_read(file, 0, f->text, (size_t)file->size_bytes, &n_read, NULL) < 0)
		snprintf(f->reason, sizeof(f->reason), "it cannot be read");
	else if (memchr(f->text, 0, n_read))
		snprintf(f->reason, sizeof(f->reason), "it is not text");
	f->len = n_read;
	if (f->reason[0]) {
		free(f->text);
		f->text = NULL;
	}
	return 0;
}

/* 1: this is the file, or the one that is meant but cannot be had (reason). 0: there is none. */
static int try_path(struct source_file *f, struct err *err)
{
	struct file file = FILE_NONE;
	struct err why = {0};
	struct stat st;
	int r = 1;

	f->reason[0] = 0;
	if (stat(f->path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (file_open(f->path, &file, &why) < 0) {
		snprintf(f->reason, sizeof(f->reason), "it %.120s", why.text);
		return 1;
	}
	f->changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	if (read_text(f, &file, err) < 0)
		r = -ERR_MEMORY;
	file_close(&file);
	return r;
}

static bool join(struct source_file *f, const char *folder, size_t len, const char *rest)
{
	while (len > 1 && folder[len - 1] == '/')
		len--;
	return snprintf(f->path, sizeof(f->path), "%.*s/%s", (int)len, folder, rest) <
	       (int)sizeof(f->path);
}

/* "FROM=TO": where the '=' is; NULL: the rule is a folder. */
static const char *equals_sign(const char *rule)
{
	return strchr(rule, '=');
}

static int try_prefix(struct source_file *f, const char *rule, const char *source, struct err *err)
{
	const char *equals = equals_sign(rule), *rest;
	size_t len = equals ? (size_t)(equals - rule) : 0;

	while (len > 1 && rule[len - 1] == '/')
		len--;
	if (!equals || strncmp(source, rule, len) != 0 ||
	    (source[len] != '/' && rule[len - 1] != '/'))
		return 0;
	rest = source + len + strspn(source + len, "/");
	if (strncmp(rest, "../", 3) == 0)
		return 0;
	return join(f, equals + 1, strlen(equals + 1), rest) ? try_path(f, err) : 0;
}

/* With as many parts of the path as there are, then with fewer; the last one alone where is_alone. */
static int try_folder(struct source_file *f, const char *folder, const char *source, bool is_alone,
		      struct err *err)
{
	int r = 0;

	while (*source == '/')
		source++;
	while (strncmp(source, "../", 3) == 0) /* a clean path has these in front only */
		source += 3;
	for (const char *rest = source; rest && r == 0;) {
		const char *slash = strchr(rest, '/');

		if ((slash != NULL) != is_alone && join(f, folder, strlen(folder), rest))
			r = try_path(f, err);
		rest = slash ? slash + 1 : NULL;
	}
	return r;
}

static int try_folders(struct source_file *f, const struct source_rules *rules, const char *source,
		       bool is_alone, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rules->n && r == 0; i++) {
		if (!equals_sign(rules->rule[i]))
			r = try_folder(f, rules->rule[i], source, is_alone, err);
	}
	return r;
}

/* Without a rule: as it is, if it may be read. */
static int try_itself(struct source_file *f, const char *source, struct err *err)
{
	if (source[0] != '/' || !has_source_name(source) ||
	    snprintf(f->path, sizeof(f->path), "%s", source) >= (int)sizeof(f->path))
		return 0;
	return try_path(f, err);
}

int source_file_read(const struct source_rules *rules, const char *source, struct source_file *ret,
		     struct err *err)
{
	char buf[CLEAN_PATH_BYTES];
	const char *clean = clean_path(source, buf);
	int r = 0;

	*ret = (struct source_file){0};
	if (clean != buf || strcmp(text_basename(clean), "..") == 0 || !*text_basename(clean)) {
		snprintf(ret->reason, sizeof(ret->reason), "its path cannot be used");
		return 0;
	}
	for (size_t i = 0; i < rules->n && r == 0; i++)
		r = try_prefix(ret, rules->rule[i], clean, err);
	if (r == 0)
		r = try_folders(ret, rules, clean, false, err);
	if (r == 0)
		r = try_itself(ret, clean, err);
	if (r == 0)
		r = try_folders(ret, rules, clean, true, err);
	if (r == 0)
		snprintf(ret->reason, sizeof(ret->reason),
			 "it is not on this machine, or not where it was; start the server with "
			 "--source DIR or --source FROM=TO");
	if (!ret->text)
		ret->path[0] = 0;
	return r < 0 ? r : 0;
}

void source_file_fini(struct source_file *f)
{
	free(f->text);
	f->text = NULL;
}

int source_file_check_rule(const char *rule, struct err *err)
{
	const char *equals = equals_sign(rule);
	const char *folder = equals ? equals + 1 : rule;
	struct stat st;

	if (equals == rule)
		return err_set(err, ERR_USAGE, "'%.200s': a path is needed before '='", rule);
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "'%.200s' is not a folder", folder);
	return 0;
}
