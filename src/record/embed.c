/* record/embed.c - see embed.h. */
#include "record/embed.h"

#include <dirent.h>
#include <string.h>

#include "base/bytes.h"
#include "format/field.h"
#include "record/rotation.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define PIECE_BYTES SESSION_MAX_DATA
#define JIT_FILE_ID 0xff00u /* ids of perf maps and jitdumps start here */
#define MAX_JIT_FILE_BYTES (32 * MIB)
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

bool embed_put_file(struct session *s, struct describer *f, uint32_t id, const char *path,
		    uint64_t size_bytes, const struct module_entry *module)
{
	struct field_writer w = field_writer_make(f->fields, SESSION_MAX_DATA);
	struct session_chunk c = {.type = CHUNK_FILE, .data = f->fields};

	field_put_u64(&w, FILE_ID, id);
	field_put_text(&w, FILE_PATH, path);
	field_put_u64(&w, FILE_SIZE, size_bytes);
	if (module)
		field_put_bytes(&w, FILE_BUILD_ID, module->build_id, module->build_id_bytes);
	field_put_u64(&w, FILE_KIND, module ? KIND_IMAGE : KIND_OTHER);
	c.data_bytes = w.len;
	if (session_append(s, f->buffers, &c) < 0)
		return false;
	s->n_files++;
	return true;
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

/* Opens a regular file and appends its FILE chunk. False: it cannot be opened or the chunk cannot
 * be written. */
static bool begin_file(struct embed *e, struct describer *f, const char *path, uint32_t id,
		       const struct module_entry *module)
{
	struct stat st;
	long fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return false;
	if (arch_syscall2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !embed_put_file(e->session, f, id, path, (uint64_t)st.st_size, module)) {
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

/* Appends the next piece of the open file. An empty piece at the end says that the file is
 * complete. A file that cannot be read or written to its end is left incomplete. */
static void put_piece(struct embed *e, struct describer *f)
{
	long n = sys_pread(e->fd, f->scratch, PIECE_BYTES, e->offset);

	embed_cut_apply(&e->cut, e->offset, f->scratch, n > 0 ? (size_t)n : 0);
	if (!embed_put_data(e->session, f, e->file_id, e->offset, n > 0 ? (size_t)n : 0) || n < 0)
		n = 0;
	e->offset += (uint64_t)n;
	if (n == 0) {
		sys_close(e->fd);
		e->file_id = 0;
	}
}

/* Opens the file of the next module that has one. False: none is left. */
static bool next_module(struct embed *e, struct describer *f)
{
	const struct module_list *list = &f->rec->modules;

	while (e->next_module < e->session->n_modules_written) {
		uint32_t n = e->next_module++;
		const struct module_entry *entry = &list->entry[n];
		const char *path = entry->path[0] ? entry->path : "/proc/self/exe";

		if (!is_repeated(list, n) && begin_file(e, f, path, n + 1, entry))
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

/* The recording goes on in a new file. A file that is half embedded begins again there. */
static void move_to(struct embed *e, struct session *s)
{
	if (e->file_id) {
		sys_close(e->fd);
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

void embed_jit_files(struct describer *f, struct session *s)
{
	struct embed map = {.session = s}; /* another file may be half embedded */
	char path[64];
	struct text text = text_make(path, sizeof(path));

	if (!options_active.WRITE_BINARIES_TO_OUTPUT)
		return;
	text_put(&text, "/tmp/perf-");
	text_put_u64(&text, f->rec->pid);
	text_put(&text, ".map");
	if (!is_ours(s, path) || !begin_file(&map, f, path, JIT_FILE_ID, NULL))
		return;
	while (map.file_id)
		put_piece(&map, f);
}
