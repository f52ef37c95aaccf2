/* unwind/modules.c - from an address to the loaded ELF image that holds it.
 *
 * glibc since 2.35 answers this without locks (_dl_find_object). Before that there is only
 * dl_iterate_phdr(), which takes the loader's lock: its answers are kept in a list and the loader
 * is asked again only for addresses that the list does not have, or after code was removed.
 */
#include "unwind/unwind_i.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"

#define LIST_MAX 512
#define MAX_PHDRS 64
#define MAX_NOTE_BYTES 65536

#ifdef DLFO_EH_SEGMENT_TYPE /* the header of glibc 2.35 or later */
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
#define HAS_FIND_OBJECT 1
#else
#define HAS_FIND_OBJECT 0
#endif

/* --- without _dl_find_object -------------------------------------------------------------------- */

/* is_list_taken guards all three. Nobody waits for it: who finds it taken (a signal handler may,
 * by the thread that it interrupted) asks the loader itself. */
static struct image_map list[LIST_MAX];
static unsigned list_n;
static uint32_t list_generation;
static _Atomic bool is_list_taken;

struct phdr_search {
	uintptr_t addr;
	struct image_map *found; /* where to put the image of addr */
	bool is_found;
	bool is_recording; /* put all into the list */
};

static void map_from_phdrs(const struct dl_phdr_info *info, struct image_map *ret)
{
	*ret = (struct image_map){.base = info->dlpi_addr, .path = info->dlpi_name};
	ret->start = UINTPTR_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_EH_FRAME)
			ret->hdr = lo;
		if (ph->p_type != PT_LOAD)
			continue;
		if (align_down(lo, PAGE_BYTES) < ret->start)
			ret->start = align_down(lo, PAGE_BYTES);
		if (lo + ph->p_memsz > ret->end)
			ret->end = lo + ph->p_memsz;
	}
}

static int visit_image(struct dl_phdr_info *info, size_t size_bytes, void *arg)
{
	struct phdr_search *s = arg;
	struct image_map im;

	(void)size_bytes;
	map_from_phdrs(info, &im);
	if (s->is_recording && list_n < LIST_MAX)
		list[list_n++] = im;
	if (s->addr >= im.start && s->addr < im.end) {
		*s->found = im;
		s->is_found = true;
	}
	return s->is_found && !s->is_recording;
}

static bool find_in_list(uintptr_t addr, uint32_t generation, struct image_map *ret)
{
	if (list_generation != generation)
		return false;
	for (unsigned i = 0; i < list_n; i++) {
		if (addr >= list[i].start && addr < list[i].end) {
			*ret = list[i];
			return true;
		}
	}
	return false;
}

static bool find_by_phdrs(uintptr_t addr, struct image_map *ret)
{
	uint32_t generation = unwind_generation();
	struct phdr_search s = {.addr = addr, .found = ret};

	/* While code changes the list would be out of date before it is read. */
	s.is_recording = !(generation & 1) && !atomic_exchange(&is_list_taken, true);
	if (s.is_recording && find_in_list(addr, generation, ret)) {
		s.is_found = true;
	} else {
		if (s.is_recording)
			list_n = 0;
		dl_iterate_phdr(visit_image, &s);
		if (s.is_recording)
			list_generation = generation;
	}
	if (s.is_recording)
		atomic_store(&is_list_taken, false);
	return s.is_found;
}

/* --- with it ------------------------------------------------------------------------------------- */

static bool is_find_object_off; /* for tests: as if this were an older glibc */

#if HAS_FIND_OBJECT
static bool find_by_object(uintptr_t addr, bool is_careful, struct image_map *ret)
{
	struct dl_find_object o;
	struct link_map lm;

	if (_dl_find_object((void *)addr, &o) != 0)
		return false;
	if (!is_careful)
		lm = *o.dlfo_link_map;
	else if (!memory_copy(&lm, (uintptr_t)o.dlfo_link_map, sizeof(lm)))
		return false;
	*ret = (struct image_map){
		.start = (uintptr_t)o.dlfo_map_start,
		.end = (uintptr_t)o.dlfo_map_end,
		.base = lm.l_addr,
		.hdr = (uintptr_t)o.dlfo_eh_frame,
		.path = lm.l_name,
	};
	return true;
}
#endif

static bool find_map(uintptr_t addr, bool is_careful, struct image_map *ret)
{
#if HAS_FIND_OBJECT
	if (_dl_find_object && !is_find_object_off)
		return find_by_object(addr, is_careful, ret);
#endif
	(void)is_careful;
	return find_by_phdrs(addr, ret);
}

void modules_init(void)
{
	/* In a forked child whoever had the list is gone, perhaps with half of it written. */
	if (atomic_load(&is_list_taken)) {
		list_generation = 0;
		atomic_store(&is_list_taken, false);
	}
}

void modules_use_phdrs(bool on)
{
	is_find_object_off = on;
}

/* --- segments ------------------------------------------------------------------------------------ */

/* Calls fn for each program header until it returns true. The ELF header lies at the lowest
 * address in all but hand-made images; there we know no segments. Everything is copied: neither
 * is known to be readable. */
static bool each_phdr(const struct image_map *im, bool (*fn)(const ElfW(Phdr) *, void *), void *arg)
{
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph;

	if (!memory_copy(&eh, im->start, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phoff > im->end - im->start)
		return false;
	for (unsigned i = 0; i < eh.e_phnum && i < MAX_PHDRS; i++) {
		if (!memory_copy(&ph, im->start + eh.e_phoff + i * sizeof(ph), sizeof(ph)))
			return false;
		if (fn(&ph, arg))
			return true;
	}
	return false;
}

static bool add_segment(const ElfW(Phdr) * ph, void *arg)
{
	struct image *im = arg;
	uintptr_t lo = im->map.base + ph->p_vaddr;
	uintptr_t hi = lo + ph->p_memsz;

	if (ph->p_type != PT_LOAD || lo < im->map.start || hi > im->map.end || lo >= hi)
		return false;
	im->segment[im->n_segments++] = (struct image_segment){
		.at = {lo, hi},
		.is_readable = ph->p_flags & PF_R,
		.is_executable = ph->p_flags & PF_X,
	};
	return im->n_segments == IMAGE_N_SEGMENTS;
}

const struct image_segment *image_segment_at(const struct image *im, uintptr_t addr)
{
	for (unsigned i = 0; i < im->n_segments; i++)
		if (addr >= im->segment[i].at.lo && addr < im->segment[i].at.hi)
			return &im->segment[i];
	return NULL;
}

/* --- build id -------------------------------------------------------------------------------------- */

struct note_search {
	const struct image_map *im;
	uintptr_t build_id; /* the result; 0 = not found */
	size_t build_id_bytes;
};

/* Notes: name length, description length, type, then both padded to 4. */
static bool find_build_id(const ElfW(Phdr) * ph, void *arg)
{
	struct note_search *s = arg;
	uintptr_t at = s->im->base + ph->p_vaddr;
	uintptr_t end = at + ph->p_memsz;
	struct {
		ElfW(Nhdr) hdr;
		char name[4];
	} note;

	if (ph->p_type != PT_NOTE || at < s->im->start || end > s->im->end ||
	    end - at > MAX_NOTE_BYTES)
		return false;
	while (end - at >= sizeof(note) && memory_copy(&note, at, sizeof(note))) {
		uint64_t size = sizeof(note.hdr) + align_up(note.hdr.n_namesz, 4);

		if (note.hdr.n_type == NT_GNU_BUILD_ID && note.hdr.n_namesz == 4 &&
		    !memcmp(note.name, "GNU", 4) && note.hdr.n_descsz <= end - at - size) {
			s->build_id = at + size;
			s->build_id_bytes = note.hdr.n_descsz;
			return true;
		}
		size += align_up(note.hdr.n_descsz, 4);
		if (size > end - at)
			break;
		at += size;
	}
	return false;
}

/* --- images ------------------------------------------------------------------------------------------ */

/* The first page of an image is there and holds its headers. */
static void read_mark(struct image *im)
{
	struct note_search s = {.im = &im->map};

	each_phdr(&im->map, find_build_id, &s);
	im->mark_at = 0;
	im->mark = (uintptr_t)im->map.path;
	if (s.build_id_bytes >= sizeof(im->mark) &&
	    s.build_id - im->map.start <= PAGE_BYTES - sizeof(im->mark) &&
	    memory_copy(&im->mark, s.build_id, sizeof(im->mark)))
		im->mark_at = s.build_id;
}

static bool is_still(const struct image *im, const struct image_map *now)
{
	uint64_t mark = (uintptr_t)now->path;

	if (im->map.start != now->start || im->map.end != now->end || im->map.base != now->base ||
	    im->map.hdr != now->hdr)
		return false;
	if (im->mark_at)
		memcpy(&mark, (const void *)im->mark_at, sizeof(mark));
	return mark == im->mark;
}

static struct image *find_cached(struct unwind_thread *ut, const struct image_map *now)
{
	if (ut->generation & 1)
		return NULL;
	if (ut->image && ut->image->generation == ut->generation && is_still(ut->image, now))
		return ut->image; /* neighbouring frames are often of one image */
	for (unsigned i = 0; i < IMAGE_CACHE; i++) {
		struct image *im = &ut->images[i];

		if (im->generation == ut->generation && is_still(im, now))
			return im;
	}
	return NULL;
}

struct image *modules_get(struct unwind_thread *ut, uintptr_t addr, bool is_careful)
{
	struct image_map now;
	struct image *im;

	if (!find_map(addr, is_careful, &now))
		return NULL;
	im = find_cached(ut, &now);
	if (im)
		return im;
	im = &ut->images[ut->next_image++ % IMAGE_CACHE];
	*im = (struct image){.map = now};
	each_phdr(&im->map, add_segment, im);
	read_mark(im);
	if (ut->generation & 1)
		return im;
	im->generation = ut->generation;
	if (image_set_add(im, ut->generation)) {
		/* A library was replaced behind our back (by libc itself, or by one that does not
		 * see our dlclose): what is cached may be about the one that is gone. */
		unwind_code_changing();
		unwind_code_changed();
	}
	return im;
}

bool modules_has(uintptr_t addr)
{
	struct image_map im;

	return find_map(addr, true, &im);
}

/* --- for the recorder ---------------------------------------------------------------------------- */

bool unwind_find_module(uintptr_t addr, struct unwind_module *ret)
{
	struct image_map im;
	struct note_search s = {.im = &im};

	if (!find_map(addr, unwind_generation() & 1, &im))
		return false;
	each_phdr(&im, find_build_id, &s);
	*ret = (struct unwind_module){
		.base = im.base,
		.start = im.start,
		.end = im.end,
		.path = im.path ? im.path : "",
		.build_id = (const uint8_t *)s.build_id,
		.build_id_bytes = s.build_id_bytes,
	};
	return true;
}
