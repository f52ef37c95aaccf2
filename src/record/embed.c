/* record/embed.c - see embed.h. */
#include "record/embed.h"

#include <dirent.h>
#include <string.h>

#include "base/bytes.h"
#include "format/field.h"
#include "record/program_path.h"
#include "record/rotation.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define PIECE_BYTES SESSION_MAX_DATA
#define JIT_FILE_ID 0xff00u /* ids of perf maps and jitdumps start here */
#define MAX_JIT_FILE_BYTES (32 * MIB)
#define PATH_BYTES 768
#define EXTRA_FILE_ID 0x10000u /* ids of MEMORY_PROFILER_INCLUDE_FILE files start here */

enum {
	KIND_IMAGE = 1,
	KIND_OTHER = 2
};

/* Is the file of entry n embedded already, for an earlier entry? (It was loaded again
 * elsewhere.) */
static bool is_repeated(const struct module_list *list, uint32_t n)
{
	const struct module_entry *e = &list->entry[n];

	for (uint32_t i = 0; i < n; i++) {
		const struct module_entry *old = &list->entry[i];

		if (!strcmp(old->path, e->path) && old->build_id_bytes == e->build_id_bytes &&
		    !memcmp(old->build_id, e->build_id, e->build_id_bytes))
			return true;
	}
	return false;
}

struct named_file {
	uint32_t id;
	const char *path;
	uint64_t size_bytes;
	const struct module_entry *module; /* or NULL */
	bool is_beside; /* the contents are not in this recording */
};

static bool put_file(struct session *s, struct describer *f, const struct named_file *file)
{
	const struct module_entry *module = file->module;
	struct field_writer w = field_writer_make(f->fields, SESSION_MAX_DATA);
	struct session_chunk c = {.type = CHUNK_FILE, .data = f->fields};

	field_put_u64(&w, FILE_ID, file->id);
	field_put_text(&w, FILE_PATH, file->path);
	field_put_u64(&w, FILE_SIZE, file->size_bytes);
	if (module)
		field_put_bytes(&w, FILE_BUILD_ID, module->build_id, module->build_id_bytes);
	field_put_u64(&w, FILE_KIND, module ? KIND_IMAGE : KIND_OTHER);
	if (file->is_beside)
		field_put_u64(&w, FILE_IS_BESIDE, 1);
	c.data_bytes = w.len;
	if (session_append(s, f->buffers, &c) < 0)
		return false;
	s->n_files++;
	return true;
}

bool embed_put_file(struct session *s, struct describer *f, uint32_t id, const char *path,
		    uint64_t size_bytes, const struct module_entry *module)
{
	const struct named_file file = {id, path, size_bytes, module, false};

	return put_file(s, f, &file);
}

bool embed_put_data(struct session *s, struct describer *f, uint32_t id, uint64_t offset, size_t n)
{
	uint8_t head[16] = {0};
	struct session_chunk c = {
		.type = CHUNK_FILE_DATA,
		.head = head,
		.head_bytes = sizeof(head),
		.data = f->scratch,
		.data_bytes = n,
		.effort = COMPRESS_WELL,
	};
	uint64_t before = s->end_offset;
	long result;

	store_le32(head, id);
	store_le64(head + 8, offset);
	result = session_append(s, f->buffers, &c);
	s->bytes_embedded += s->end_offset - before;
	return result >= 0;
}

/* Where the contents of the open file go. */
static struct session *goal(const struct embed *e)
{
	return e->shared.file ? e->shared.file : e->session;
}

/* Appends the FILE chunk of an open file where its contents are to go. False: nothing has to follow, or
 * the chunk cannot be written. */
static bool put_begin(struct embed *e, struct describer *f, const char *path, uint32_t id,
		      uint64_t size_bytes, const struct module_entry *module)
{
	const struct named_file beside = {id, path, size_bytes, module, true};
	enum embed_shared_state state = EMBED_SHARED_REFUSED;

	if (module)
		state = embed_shared_begin(&e->shared, e->session, module, size_bytes);
	if (state == EMBED_SHARED_EXISTS) {
		put_file(e->session, f, &beside);
		return false;
	}
	if (embed_put_file(goal(e), f, id, path, size_bytes, module))
		return true;
	embed_shared_drop(&e->shared);
	return false;
}

/* Opens a regular file and appends its FILE chunk. False: it cannot be opened, the chunk cannot be
 * written, or that was all. */
static bool begin_file(struct embed *e, struct describer *f, const char *path, uint32_t id,
		       const struct module_entry *module)
{
	struct stat st;
	long fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return false;
	if (arch_syscall2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !put_begin(e, f, path, id, (uint64_t)st.st_size, module)) {
		sys_close((int)fd);
		return false;
	}
	e->fd = (int)fd;
	e->file_id = id;
	e->size_bytes = (uint64_t)st.st_size;
	e->offset = 0;
	e->cut.n = 0;
	if (module)
		embed_cut_find(&e->cut, e->fd, f->scratch, PIECE_BYTES);
	return true;
}

static const char *path_of(const struct module_entry *entry)
{
	return entry->path[0] ? entry->path : program_file();
}

/* The binary of a module is written beside the recording, which refers to it from now on. */
static void end_shared(struct embed *e, struct describer *f, bool is_whole)
{
	const struct module_entry *entry = &f->rec->modules.entry[e->file_id - 1];
	const struct named_file file = {e->file_id, path_of(entry), e->size_bytes, entry, true};

	if (!is_whole)
		embed_shared_drop(&e->shared);
	else if (embed_shared_commit(&e->shared))
		put_file(e->session, f, &file);
}

/* Appends the next piece of the open file. An empty piece at the end says that the file is
 * complete. A file that cannot be read or written to its end is left incomplete. */
static void put_piece(struct embed *e, struct describer *f)
{
	long n = sys_pread(e->fd, f->scratch, PIECE_BYTES, e->offset);

	bool is_put;

	embed_cut_apply(&e->cut, e->offset, f->scratch, n > 0 ? (size_t)n : 0);
	is_put = embed_put_data(goal(e), f, e->file_id, e->offset, n > 0 ? (size_t)n : 0);

	if (!is_put || n < 0)
		n = 0;
	e->offset += (uint64_t)n;
	if (n > 0)
		return;
	sys_close(e->fd);
	if (e->shared.file)
		end_shared(e, f, is_put && e->offset == e->size_bytes);
	e->file_id = 0;
}

/* Opens the file of the next module that has one. False: none is left. */
static bool next_module(struct embed *e, struct describer *f)
{
	const struct module_list *list = &f->rec->modules;

	while (e->next_module < e->session->n_modules_written) {
		uint32_t n = e->next_module++;
		const struct module_entry *entry = &list->entry[n];

		if (!is_repeated(list, n) && begin_file(e, f, path_of(entry), n + 1, entry))
			return true;
	}
	return false;
}

/* Does name match the pattern, in which '*' and '?' are special? Without recursion. */
static bool name_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Embeds every file that MEMORY_PROFILER_INCLUDE_FILE names, at once: they are few and small. */
static void put_extra_files(struct embed *e, struct describer *f)
{
	const char *pattern = options_active.INCLUDE_FILE, *base = text_basename(pattern);
	char path[OPTIONS_TEXT_BYTES + 256], entries[2048];
	struct text text = text_make(path, sizeof(path));
	size_t dir_len = (size_t)(base - pattern);
	uint32_t id = EXTRA_FILE_ID;
	long fd, n;

	text_put_bytes(&text, pattern, dir_len);
	fd = sys_open(dir_len ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return;
	while ((n = arch_syscall3(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(entries + at);

			at += d->d_reclen;
			if (d->d_name[0] == '.' || !name_matches(base, d->d_name))
				continue;
			text.len = dir_len;
			text_put(&text, d->d_name);
			if (begin_file(e, f, path, id++, NULL)) {
				while (e->file_id)
					put_piece(e, f);
			}
		}
	}
	sys_close((int)fd);
}

void embed_restart(struct embed *e)
{
	if (e->shared.file)
		e->next_module--;
	embed_shared_forget(&e->shared);
	e->file_id = 0;
}

/* The recording goes on in a new file. A file that is half embedded begins again there. */
static void move_to(struct embed *e, struct session *s)
{
	if (e->file_id) {
		sys_close(e->fd);
		embed_shared_drop(&e->shared);
		e->file_id = 0;
		e->next_module--;
	}
	if (rotation_embeds_again(s->piece))
		*e = (struct embed){0};
	e->session = s;
}

bool embed_step(struct embed *e, struct describer *f, struct session *s)
{
	if (e->session != s)
		move_to(e, s);
	if (!e->extra_done) {
		e->extra_done = true;
		if (options_active.INCLUDE_FILE[0]) {
			put_extra_files(e, f);
			return true;
		}
	}
	if (!options_active.WRITE_BINARIES_TO_OUTPUT)
		return false;
	if (!e->file_id && !next_module(e, f))
		return false;
	put_piece(e, f);
	return true;
}

/* Whether a file was written since the recording began: another process may have left one under our
 * number. */
static bool is_ours(const struct session *s, const char *path)
{
	struct stat st;

	return arch_syscall4(SYS_newfstatat, AT_FDCWD, path, &st, 0) == 0 &&
	       (uint64_t)st.st_mtime + 1 >= s->start_realtime_ns / NS_PER_S &&
	       st.st_size <= (off_t)MAX_JIT_FILE_BYTES;
}

static void put_jit_file(struct embed *e, struct describer *f, const char *path, uint32_t id)
{
	if (!is_ours(e->session, path) || !begin_file(e, f, path, id, NULL))
		return;
	while (e->file_id)
		put_piece(e, f);
}

/* Does the line of /proc/self/maps end with this name of a file? Copies the path then. */
static bool copy_path(const char *line, size_t n, const char *name, struct text *ret)
{
	size_t n_name = strnlen(name, n);
	const char *path = memchr(line, '/', n);

	if (!path || n <= n_name || line[n - n_name - 1] != '/' ||
	    memcmp(line + n - n_name, name, n_name) != 0)
		return false;
	text_put_bytes(ret, path, (size_t)(line + n - path));
	return !ret->was_cut;
}

/* A compiler maps the jitdump that it writes, so that perf sees it: finds its path. False: no file of
 * this name is mapped. */
static bool find_mapped(struct describer *f, const char *name, struct text *ret)
{
	long fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	const char *text = (const char *)f->scratch, *end;
	uint64_t offset = 0;
	size_t n_used;
	bool found = false;
	long n;

	if (fd < 0)
		return false;
	do {
		n = sys_pread((int)fd, f->scratch, SESSION_MAX_DATA, offset);
		n_used = 0;
		while (n > 0 && !found &&
		       (end = memchr(text + n_used, '\n', (size_t)n - n_used)) != NULL) {
			found = copy_path(text + n_used, (size_t)(end - text) - n_used, name, ret);
			n_used = (size_t)(end - text) + 1;
		}
		offset += n_used;
	} while (n_used && !found);
	sys_close((int)fd);
	return found;
}

void embed_jit_files(struct describer *f, struct session *s)
{
	struct embed e = {.session = s}; /* of its own: another file may be half embedded */
	char path[64], name[64], mapped[PATH_BYTES];
	struct text path_text = text_make(path, sizeof(path));
	struct text name_text = text_make(name, sizeof(name));
	struct text mapped_text = text_make(mapped, sizeof(mapped));

	if (!options_active.WRITE_BINARIES_TO_OUTPUT)
		return;
	text_put(&path_text, "/tmp/perf-");
	text_put_u64(&path_text, f->rec->pid);
	text_put(&path_text, ".map");
	put_jit_file(&e, f, path, JIT_FILE_ID);
	text_put(&name_text, "jit-");
	text_put_u64(&name_text, f->rec->pid);
	text_put(&name_text, ".dump");
	if (atomic_load(&f->rec->modules.has_code_outside))
		put_jit_file(&e, f, find_mapped(f, name, &mapped_text) ? mapped : name,
			     JIT_FILE_ID + 1);
}
