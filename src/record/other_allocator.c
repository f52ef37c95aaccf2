/* record/other_allocator.c - see other_allocator.h. */
#include "record/other_allocator.h"

#include <elf.h>
#include <string.h>

#include "record/allocator_findings.h"
#include "record/program_path.h"
#include "record/real.h"
#include "record/sys.h"

#define PIECE_BYTES SESSION_MAX_DATA
#define NAME_BYTES                                                                                 \
	32 /* more than the longest known one with its two zeros: pieces overlap so far */

const char *other_allocator_find(const char *data, size_t len)
{
	static const char *const names[] = {"_rjem_malloc", "je_malloc", "mi_malloc", "tc_malloc"};
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, 0, (size_t)(end - at)));) {
		at++;
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			size_t n = strlen(names[i]) + 1;

			if ((size_t)(end - at) >= n && !memcmp(at, names[i], n))
				return names[i];
		}
	}
	return NULL;
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t len)
{
	return sys_pread(fd, ret, len, offset) == (long)len;
}

/* Where the names of the program's symbols are in its file. False: it has none. */
static bool find_names(int fd, uint64_t *ret_from, uint64_t *ret_end)
{
	Elf64_Ehdr head;
	Elf64_Shdr section, names;

	if (!read_at(fd, 0, &head, sizeof(head)) || head.e_shentsize != sizeof(section))
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		if (!read_at(fd, head.e_shoff + i * sizeof(section), &section, sizeof(section)))
			return false;
		if (section.sh_type != SHT_SYMTAB || section.sh_link >= head.e_shnum)
			continue;
		if (!read_at(fd, head.e_shoff + section.sh_link * sizeof(names), &names,
			     sizeof(names)))
			return false;
		*ret_from = names.sh_offset;
		*ret_end = names.sh_offset + names.sh_size;
		return *ret_from < *ret_end;
	}
	return false;
}

static void put_note(const struct other_allocator *a, struct describer *f, struct session *s)
{
	char line[512];
	struct text text = text_make(line, sizeof(line));

	if (a->front) {
		text_put(&text, a->front[0] ? a->front : "the program");
		text_put(&text, " has a malloc() of its own, which is called instead of the "
				"recorder's: only what it passes on is recorded; ");
		text_put(&text, a->front[0]
					? "name the recorder first in LD_PRELOAD"
					: "to see the rest, build it with the system's allocator");
	} else {
		text_put(&text, "the program has an allocator of its own (");
		text_put(&text, a->name);
		text_put(&text, "), whose blocks are not recorded; to see them, build it with the "
				"system's allocator");
	}
	session_put_note(s, f->buffers, LOG_WARN, line);
}

/* Looks through the next piece of names. The program's file is open only meanwhile. */
static void look_on(struct other_allocator *a, struct describer *f)
{
	long fd = sys_open(program_file(), O_RDONLY | O_NOCTTY, 0);
	uint64_t n_wanted;
	long n = 0;

	a->is_looking = false;
	if (fd < 0)
		return;
	if (a->end || find_names((int)fd, &a->at, &a->end)) {
		n_wanted = a->end - a->at < PIECE_BYTES ? a->end - a->at : PIECE_BYTES;
		n = sys_pread((int)fd, f->scratch, n_wanted, a->at);
	}
	sys_close((int)fd);
	if (n > 0)
		a->name = other_allocator_find((const char *)f->scratch, (size_t)n);
	if (a->name || n < NAME_BYTES)
		return;
	a->is_looking = a->at + (uint64_t)n < a->end;
	a->at += (uint64_t)n - NAME_BYTES;
}

/* Is the allocator with this malloc function recorded? */
static bool is_hooked(const char *malloc_name)
{
	char prefix[NAME_BYTES];
	struct text text = text_make(prefix, sizeof(prefix));
	size_t n = strlen(malloc_name);

	text_put_bytes(&text, malloc_name, n < 6 ? n : n - 6);
	return allocator_findings_has_prefix(prefix);
}

/* Notes of what allocators.h found since the last time. */
static void put_findings(struct other_allocator *a, struct describer *f, struct session *s)
{
	enum log_level level;
	const char *text;

	if (a->findings_session != s)
		a->n_findings = 0;
	a->findings_session = s;
	while ((text = allocator_findings_get(a->n_findings, &level))) {
		session_put_note(s, f->buffers, level, text);
		a->n_findings++;
	}
}

bool other_allocator_step(struct other_allocator *a, struct describer *f, struct session *s)
{
	if (!allocator_findings_are_complete())
		return false;
	put_findings(a, f, s);
	describe_allocators(f, s);
	if (!a->has_begun) {
		a->has_begun = true;
		a->front = allocator_findings_has_prefix("") ? NULL : real_hidden_by("malloc");
		a->is_looking = !a->front;
	}
	if (a->is_looking) {
		look_on(a, f);
		if (a->name && is_hooked(a->name))
			a->name = NULL;
		return true;
	}
	if (a->session != s && (a->front || a->name))
		put_note(a, f, s);
	a->session = s;
	return false;
}
