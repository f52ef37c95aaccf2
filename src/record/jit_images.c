/* record/jit_images.c - see jit_images.h. */
#include "record/jit_images.h"

#include <elf.h>
#include <string.h>
#include <sys/uio.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/field.h"
#include "record/embed.h"
#include "record/module_symbols.h"
#include "record/program_path.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define LOOK_NS (100 * NS_PER_MS)
#define MAX_ENTRIES 65536 /* of a list: it may be a loop, or become one while we look */
#define MAX_IMAGE_BYTES (64 * MIB)
#define FILE_ID 0x20000u /* ids of these files start here */

/* What GDB's manual prescribes. */
struct jit_descriptor {
	uint32_t version;
	uint32_t action;
	uintptr_t relevant;
	uintptr_t first;
};

struct jit_entry {
	uintptr_t next;
	uintptr_t previous;
	uintptr_t image;
	uint64_t image_bytes;
};

static bool read_target(void *dst, uintptr_t addr, size_t n)
{
	struct iovec local = {dst, n}, remote = {(void *)addr, n};

	return arch_syscall6(SYS_process_vm_readv, sys_gettid(), (long)&local, 1, (long)&remote, 1,
			     0) == (long)n;
}

/* The address of a file's __jit_debug_descriptor in memory; 0 = it has none. */
static uintptr_t find_descriptor(const char *path, uintptr_t base)
{
	static const unsigned types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct module_symbols symbols;
	struct module_file file;
	uintptr_t found = 0;

	if (!module_file_open(path, &file))
		return 0;
	for (unsigned t = 0; t < ARRAY_LEN(types) && !found; t++) {
		if (!module_file_symbols(&file, types[t], &symbols))
			continue;
		for (size_t i = 0; i < symbols.n && !found; i++) {
			const ElfW(Sym) *s = &symbols.symbol[i];

			if (s->st_size == sizeof(struct jit_descriptor) &&
			    s->st_shndx != SHN_UNDEF &&
			    !strcmp(module_symbols_name(&symbols, s), "__jit_debug_descriptor"))
				found = base + s->st_value;
		}
	}
	module_file_close(&file);
	return found;
}

/* Looks through the modules that were not looked through yet. */
static void find_descriptors(struct jit_images *j, const struct module_list *list)
{
	uint32_t n = atomic_load(&list->n);

	for (; j->next_module < n && j->next_module < MODULE_LIST_MAX; j->next_module++) {
		const struct module_entry *e = &list->entry[j->next_module];
		uintptr_t found;

		if (!atomic_load(&e->is_ready))
			return;
		found = find_descriptor(e->path[0] ? e->path : program_file(), e->base);
		if (found && j->n_descriptors < JIT_IMAGES_DESCRIPTORS)
			j->descriptor[j->n_descriptors++] = found;
	}
}

/* Whether the last look found this entry too. */
static bool was_seen(struct jit_images *j, uint64_t what)
{
	uint64_t hash = hash_mix64(what);

	for (unsigned i = 0; i < 8; i++) {
		size_t at = (hash + i) % JIT_IMAGES_SEEN;
		bool is_seen = j->seen[at].what == what && j->seen[at].look + 1 >= j->n_looks;

		if (!is_seen && j->seen[at].look + 1 >= j->n_looks && j->seen[at].what)
			continue; /* another image that is still there */
		j->seen[at].what = what;
		j->seen[at].look = j->n_looks;
		return is_seen;
	}
	return false;
}

static void put_image(struct jit_images *j, struct describer *f, struct session *s,
		      const struct jit_entry *e)
{
	uint32_t id = FILE_ID + j->n_images;
	uint8_t magic[SELFMAG];
	char name[96];
	struct text path = text_make(name, sizeof(name));
	uint64_t offset = 0;

	if (e->image_bytes < sizeof(Elf64_Ehdr) || e->image_bytes > MAX_IMAGE_BYTES ||
	    !read_target(magic, e->image, sizeof(magic)) || memcmp(magic, ELFMAG, SELFMAG))
		return;
	text_put(&path, "jit-elf-");
	text_put_u64(&path, f->rec->pid);
	text_put(&path, "-");
	text_put_u64(&path, sys_clock_ns(CLOCK_MONOTONIC));
	text_put(&path, "-");
	text_put_u64(&path, j->n_images++);
	if (!embed_put_file(s, f, id, name, e->image_bytes, NULL))
		return;
	while (offset < e->image_bytes) {
		size_t left = e->image_bytes - offset;
		size_t n = left < SESSION_MAX_DATA ? left : SESSION_MAX_DATA;

		if (!read_target(f->scratch, e->image + offset, n) ||
		    !embed_put_data(s, f, id, offset, n))
			return; /* the file stays incomplete, which readers see */
		offset += n;
	}
	embed_put_data(s, f, id, offset, 0);
}

static void look(struct jit_images *j, struct describer *f, struct session *s, uintptr_t descriptor)
{
	struct jit_descriptor d;
	struct jit_entry e;

	if (!read_target(&d, descriptor, sizeof(d)) || d.version != 1)
		return;
	for (uint32_t i = 0; d.first && i < MAX_ENTRIES; i++, d.first = e.next) {
		if (!read_target(&e, d.first, sizeof(e)))
			return;
		if (!was_seen(j, hash_mix64(d.first) ^ hash_mix64(e.image + 1) ^ e.image_bytes))
			put_image(j, f, s, &e);
	}
}

void jit_images_step(struct jit_images *j, struct describer *f, struct session *s, bool is_last)
{
	const struct module_list *list = &f->rec->modules;
	uint64_t now_ns;

	if (!atomic_load(&list->has_code_outside) || !options_active.WRITE_BINARIES_TO_OUTPUT)
		return;
	now_ns = sys_clock_ns(CLOCK_MONOTONIC);
	if (now_ns < j->next_look_ns && !is_last && j->session == s)
		return;
	if (j->session != s)
		memset(j->seen, 0, sizeof(j->seen));
	j->session = s;
	j->next_look_ns = now_ns + LOOK_NS;
	j->n_looks++;
	find_descriptors(j, list);
	for (uint32_t i = 0; i < j->n_descriptors; i++)
		look(j, f, s, j->descriptor[i]);
}
