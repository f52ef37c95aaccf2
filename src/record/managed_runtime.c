/* record/managed_runtime.c - see managed_runtime.h. */
#include "record/managed_runtime.h"

#include <elf.h>
#include <string.h>

#include "base/text.h"
#include "record/program_path.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define NAMES_BYTES 4096u /* of sections; there are less than a hundred */

static const char go_note[] = NOTE_NOT_RECORDED
	"Go's heap: this is a Go program, whose runtime manages it (what C code allocates is "
	"recorded); Go's own profiler shows it: import net/http/pprof, then "
	"'go tool pprof http://HOST:PORT/debug/pprof/heap'";
static const char java_note[] = NOTE_NOT_RECORDED
	"Java's heap: this is a Java program, whose virtual machine manages it (what the machine "
	"and native code allocate is recorded); 'jcmd PID GC.class_histogram' shows it";

bool managed_runtime_is_go(const char *names, size_t len)
{
	static const char *const of_go[] = {".gopclntab", ".go.buildinfo",
					    ".data.rel.ro.gopclntab"};

	for (size_t at = 0; at < len; at += strnlen(names + at, len - at) + 1) {
		for (size_t i = 0; i < ARRAY_LEN(of_go); i++) {
			size_t n = strlen(of_go[i]) + 1;

			if (len - at >= n && !memcmp(names + at, of_go[i], n))
				return true;
		}
	}
	return false;
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t len)
{
	return sys_pread(fd, ret, len, offset) == (long)len;
}

/* Reads the names of the sections of an ELF file. Returns the number of bytes. */
static size_t read_names(int fd, char *names, size_t capacity)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;
	long n;

	if (!read_at(fd, 0, &head, sizeof(head)) || head.e_shentsize != sizeof(section) ||
	    !read_at(fd, head.e_shoff + head.e_shstrndx * sizeof(section), &section,
		     sizeof(section)))
		return 0;
	n = sys_pread(fd, names, section.sh_size < capacity ? section.sh_size : capacity,
		      section.sh_offset);
	return n > 0 ? (size_t)n : 0;
}

static bool is_program_go(void)
{
	long fd = sys_open(program_file(), O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
	char names[NAMES_BYTES];
	size_t n;

	if (fd < 0)
		return false;
	n = read_names((int)fd, names, sizeof(names));
	sys_close((int)fd);
	return managed_runtime_is_go(names, n);
}

static bool is_java_loaded(struct managed_runtime *m, const struct module_list *list)
{
	uint32_t n = atomic_load(&list->n);

	for (; m->n_modules < n && m->n_modules < MODULE_LIST_MAX; m->n_modules++) {
		const struct module_entry *e = &list->entry[m->n_modules];

		if (!atomic_load(&e->is_ready))
			return false;
		if (!strcmp(text_basename(e->path), "libjvm.so"))
			return true;
	}
	return false;
}

void managed_runtime_step(struct managed_runtime *m, struct describer *f, struct session *s)
{
	if (!m->has_looked_at_program) {
		m->has_looked_at_program = true;
		m->note = is_program_go() ? go_note : NULL;
	}
	if (!m->note && is_java_loaded(m, &f->rec->modules))
		m->note = java_note;
	if (!m->note || m->noted == s)
		return;
	m->noted = s;
	session_put_note(s, f->buffers, LOG_WARN, m->note);
}

/* The second and third number of /proc/self/statm, in pages: resident, and shared among that. */
static bool read_anonymous(uint64_t *ret_bytes)
{
	char content[128] = {0};
	uint64_t number[3] = {0};
	unsigned n = 0;

	if (sys_read_file("/proc/self/statm", content, sizeof(content) - 1) <= 0)
		return false;
	for (const char *c = content; *c && n < ARRAY_LEN(number); c++) {
		if (*c == ' ')
			n++;
		else if (*c >= '0' && *c <= '9')
			number[n] = number[n] * 10 + (uint64_t)(*c - '0');
	}
	*ret_bytes = (number[1] - number[2]) * PAGE_BYTES;
	return number[1] > number[2];
}

void managed_runtime_end(struct managed_runtime *m, struct describer *f, struct session *s)
{
	char line[256];
	struct text text = text_make(line, sizeof(line));
	uint64_t bytes;

	if (!m->note || m->sized == s || !read_anonymous(&bytes))
		return;
	m->sized = s;
	text_put(&text, "anonymous memory that was resident at the end, ");
	text_put(&text, m->note == go_note ? "Go's" : "Java's");
	text_put(&text, " heap among it: ");
	text_put_u64(&text, bytes / KIB);
	text_put(&text, " KiB");
	session_put_note(s, f->buffers, LOG_WARN, line);
}
