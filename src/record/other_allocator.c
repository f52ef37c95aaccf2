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

const char *other_allocator_find_message(const char *data, size_t len)
{
	static const struct {
		const char *text, *allocator;
	} messages[] = {{"<jemalloc>: ", "jemalloc"},
			{"mimalloc: error: ", "mimalloc"},
			{"TCMALLOC_", "tcmalloc"}};
	const char *end = data + len;

	for (const char *at = data; (at = memchr(at, 0, (size_t)(end - at)));) {
		at++;
		for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
			size_t n = strlen(messages[i].text);

			if ((size_t)(end - at) >= n && !memcmp(at, messages[i].text, n))
				return messages[i].allocator;
		}
	}
	return NULL;
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t len)
{
	return sys_pread(fd, ret, len, offset) == (long)len;
}

static bool read_section(int fd, const Elf64_Ehdr *head, unsigned i, Elf64_Shdr *ret)
{
	return i < head->e_shnum &&
	       read_at(fd, head->e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

/* The data that never changes: texts are there. */
static bool find_data(int fd, const Elf64_Ehdr *head, struct other_allocator *a)
{
	static const char wanted[] = ".rodata";
	Elf64_Shdr names, section;
	char name[sizeof(wanted)];

	if (!read_section(fd, head, head->e_shstrndx, &names))
		return false;
	for (unsigned i = 0; i < head->e_shnum; i++) {
		if (!read_section(fd, head, i, &section) ||
		    !read_at(fd, names.sh_offset + section.sh_name, name, sizeof(name)))
			return false;
		if (memcmp(name, wanted, sizeof(wanted)) != 0)
			continue;
		a->at = section.sh_offset;
		a->end = section.sh_offset + section.sh_size;
		return a->at < a->end;
	}
	return false;
}

/* Where what is to be looked through is in the program's file: the names of its symbols, or, if it has
 * none, its data. False: there is nothing. */
static bool find_texts(int fd, struct other_allocator *a)
{
	Elf64_Ehdr head;
	Elf64_Shdr section, names;

	if (!read_at(fd, 0, &head, sizeof(head)) || head.e_shentsize != sizeof(section))
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++) {
		if (!read_section(fd, &head, i, &section))
			return false;
		if (section.sh_type != SHT_SYMTAB || section.sh_link >= head.e_shnum)
			continue;
		if (!read_section(fd, &head, section.sh_link, &names))
			return false;
		a->at = names.sh_offset;
		a->end = names.sh_offset + names.sh_size;
		return a->at < a->end;
	}
	a->is_stripped = true;
	return find_data(fd, &head, a);
}

static void put_front(struct text *text, const char *front)
{
	text_put(text, "malloc() of ");
	text_put(text, front[0] ? front : "the program");
	text_put(text, ": it is called instead of the recorder's, so that only what it passes on "
		       "is recorded; ");
	text_put(text, front[0] ? "name the recorder first in LD_PRELOAD"
				: "to see the rest, build it with the system's allocator");
}

static void put_note(const struct other_allocator *a, struct describer *f, struct session *s)
{
	char line[512];
	struct text text = text_make(line, sizeof(line));

	text_put(&text, NOTE_NOT_RECORDED);
	if (a->front) {
		put_front(&text, a->front);
	} else if (a->is_stripped) {
		text_put(&text, a->name);
		text_put(&text, " in the program: the program has no symbols, so that the "
				"functions of the allocator cannot be found; keep them (strip "
				"--strip-debug; for Rust strip = \"debuginfo\"), or install the "
				"program's debug file");
	} else {
		text_put(&text, "the program's own allocator (");
		text_put(&text, a->name);
		text_put(&text, options_active.HOOK_STATIC
					? "): to see its blocks, build the program with the "
					  "system's allocator"
					: "): MEMORY_PROFILER_HOOK_STATIC=0 switched that off");
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
	if (a->end || find_texts((int)fd, a)) {
		n_wanted = a->end - a->at < PIECE_BYTES ? a->end - a->at : PIECE_BYTES;
		n = sys_pread((int)fd, f->scratch, n_wanted, a->at);
	}
	sys_close((int)fd);
	if (n > 0)
		a->name = (a->is_stripped ? other_allocator_find_message : other_allocator_find)(
			(const char *)f->scratch, (size_t)n);
	if (a->name || n < NAME_BYTES)
		return;
	a->is_looking = a->at + (uint64_t)n < a->end;
	a->at += (uint64_t)n - NAME_BYTES;
}

/* Is the allocator that was found recorded? Its name is that of its malloc, or its own. */
static bool is_hooked(const struct other_allocator *a)
{
	const char *malloc_name = a->name;
	char prefix[NAME_BYTES];
	struct text text = text_make(prefix, sizeof(prefix));
	size_t n = strlen(malloc_name);

	if (a->is_stripped)
		return allocator_findings_has(a->name) || allocator_findings_has_prefix("");
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
		if (a->name && is_hooked(a))
			a->name = NULL;
		return true;
	}
	if (a->session != s && (a->front || a->name))
		put_note(a, f, s);
	a->session = s;
	return false;
}
