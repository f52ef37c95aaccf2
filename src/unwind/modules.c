/* unwind/modules.c - from an address to the loaded ELF image that holds it.
 *
 * glibc since 2.35 answers this without locks (_dl_find_object). Older versions have only
 * dl_iterate_phdr(), which takes the loader's lock. Its answers are kept in a list, and the loader
 * is asked again only for addresses that the list does not have, or after code was removed.
 */
#include "unwind/unwind_thread_i.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"

#define LIST_MAX 512
#define MAX_PHDRS 64
#define MAX_NOTE_BYTES 65536
#define HEAD_BYTES 832 /* ELF header, thirteen program headers; mostly also the build id */

#ifdef DLFO_EH_SEGMENT_TYPE /* the header of glibc 2.35 or later */
#define HAS_FIND_OBJECT 1
/* A library that refers to the function by its name does not load with an older glibc, even if the
 * reference is weak. So the recorder sets it; only our own programs link it. */
#if CONFIG_LINKS_FIND_OBJECT
static __typeof__(_dl_find_object) *find_object = _dl_find_object;
#else
static __typeof__(_dl_find_object) *find_object;
#endif
#else
#define HAS_FIND_OBJECT 0
#endif

void unwind_use_find_object(void *function)
{
#if HAS_FIND_OBJECT
	find_object = (__typeof__(find_object))(uintptr_t)function;
#endif
	(void)function;
}

/* --- without _dl_find_object ------------------------------------------------------------------ */

/* is_list_taken guards list, list_n and list_generation. Nobody waits for it: whoever finds it
 * taken (a signal handler may, by the thread that it interrupted) asks the loader instead. */
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

/* --- with it ---------------------------------------------------------------------------------- */

static bool is_find_object_off; /* for tests: as if this were an older glibc */

#if HAS_FIND_OBJECT
static bool find_by_object(uintptr_t addr, bool is_careful, struct image_map *ret)
{
	struct dl_find_object o;
	struct link_map lm;

	if (find_object((void *)addr, &o) != 0)
		return false;
	if (!is_careful || o.dlfo_link_map == _r_debug.r_map) /* the first one stays */
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
	if (find_object && !is_find_object_off)
		return find_by_object(addr, is_careful, ret);
#endif
	(void)is_careful;
	return find_by_phdrs(addr, ret);
}

static struct image_map loader; /* the dynamic linker's image; all zero when not known */

void modules_init(void)
{
	main_program_init();
	if (!find_map(_r_debug.r_ldbase, false, &loader))
		loader = (struct image_map){0};
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

/* --- program headers -------------------------------------------------------------------------- */

/* A copy of the beginning of an image, where its headers are: the image may vanish while we
 * look. */
struct head {
	const struct image_map *map;
	uint8_t *bytes;
	size_t n;
};

static struct head head_get(const struct image_map *map, uint8_t *buf, size_t buf_bytes)
{
	size_t size = map->end - map->start;

	if (size > buf_bytes)
		size = buf_bytes;
	return (struct head){map, buf, memory_copy(buf, map->start, size) ? size : 0};
}

/* Copies n bytes of the image, from the copy of its beginning where that has them. */
static bool head_read(const struct head *h, uintptr_t addr, void *dst, size_t n)
{
	uintptr_t at = addr - h->map->start;

	if (at > h->n || n > h->n - at)
		return memory_copy(dst, addr, n);
	memcpy(dst, h->bytes + at, n);
	return true;
}

typedef bool (*phdr_visitor)(const struct head *h, const ElfW(Phdr) * ph, void *arg);

static void each_main_phdr(const struct head *h, phdr_visitor fn, void *arg)
{
	unsigned n;
	const ElfW(Phdr) *ph = main_program_phdrs(&n);

	for (unsigned i = 0; i < n; i++)
		if (fn(h, &ph[i], arg))
			return;
}

/* Calls fn for each program header until fn returns true. The ELF header of a library lies at its
 * lowest address; of a hand-made library where it does not, nothing is known. */
static void each_phdr(const struct head *h, phdr_visitor fn, void *arg)
{
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph;

	if (main_program_is(h->map)) {
		each_main_phdr(h, fn, arg);
		return;
	}
	if (!h->n || !head_read(h, h->map->start, &eh, sizeof(eh)) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph) ||
	    eh.e_phoff > h->map->end - h->map->start)
		return;
	for (unsigned i = 0; i < eh.e_phnum && i < MAX_PHDRS; i++)
		if (!head_read(h, h->map->start + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)) ||
		    fn(h, &ph, arg))
			return;
}

static bool add_segment(const struct head *h, const ElfW(Phdr) * ph, void *arg)
{
	struct image *im = arg;
	uintptr_t lo = im->map.base + ph->p_vaddr;
	uintptr_t hi = lo + ph->p_memsz;

	(void)h;
	if (ph->p_type != PT_LOAD || lo >= hi ||
	    (!im->is_permanent && (lo < im->map.start || hi > im->map.end)))
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

/* --- build id --------------------------------------------------------------------------------- */

struct build_id {
	uintptr_t addr; /* 0 = there is none */
	size_t n_bytes;
};

/* ELF notes: length of the name, length of the description, type, then name and description, each
 * padded to 4. */
static bool find_build_id(const struct head *h, const ElfW(Phdr) * ph, void *arg)
{
	struct build_id *ret = arg;
	uintptr_t at = h->map->base + ph->p_vaddr;
	uintptr_t end = at + ph->p_memsz;
	struct {
		ElfW(Nhdr) hdr;
		char name[4];
	} note;

	if (ph->p_type != PT_NOTE || at < h->map->start || end > h->map->end || end < at ||
	    end - at > MAX_NOTE_BYTES)
		return false;
	while (end - at >= sizeof(note) && head_read(h, at, &note, sizeof(note))) {
		uint64_t size = sizeof(note.hdr) + align_up(note.hdr.n_namesz, 4);

		if (note.hdr.n_type == NT_GNU_BUILD_ID && note.hdr.n_namesz == 4 &&
		    !memcmp(note.name, "GNU", 4) && note.hdr.n_descsz <= end - at - size) {
			*ret = (struct build_id){at + size, note.hdr.n_descsz};
			return true;
		}
		size += align_up(note.hdr.n_descsz, 4);
		if (size > end - at)
			break;
		at += size;
	}
	return false;
}

/* --- images ----------------------------------------------------------------------------------- */

static void read_image(struct image *im, uint8_t *buf, size_t buf_bytes)
{
	struct head h = {.map = &im->map};
	struct build_id id = {0, 0};

	im->is_permanent = main_program_is(&im->map);
	if (!im->is_permanent)
		h = head_get(&im->map, buf, buf_bytes);
	each_phdr(&h, add_segment, im);
	im->mark_at = 0;
	im->mark = (uintptr_t)im->map.path;
	if (im->is_permanent)
		return; /* no other image will ever be mistaken for it */
	each_phdr(&h, find_build_id, &id);
	if (id.n_bytes >= sizeof(im->mark) &&
	    id.addr - im->map.start <= PAGE_BYTES - sizeof(im->mark) &&
	    head_read(&h, id.addr, &im->mark, sizeof(im->mark)))
		im->mark_at = id.addr;
}

/* Whether the image that the loader names now is the image that was read. The first page of the
 * image is mapped and holds its headers, so the mark can be read. */
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

/* Whether an image of the cache may be used. An image without mark is known only by its addresses,
 * which say nothing while code changes. */
static bool is_usable(const struct unwind_thread *ut, const struct image *im)
{
	if (im->is_permanent)
		return true;
	if (ut->generation & 1)
		return im->generation && im->mark_at;
	return im->generation == ut->generation;
}

static struct image *find_cached(struct unwind_thread *ut, const struct image_map *now,
				 bool is_careful)
{
	if (is_careful && !main_program_is(now))
		return NULL; /* comparing the mark takes a load that may fault */
	if (ut->image && is_usable(ut, ut->image) && is_still(ut->image, now))
		return ut->image; /* neighbouring frames are often of one image */
	for (unsigned i = 0; i < IMAGE_CACHE; i++)
		if (is_usable(ut, &ut->images[i]) && is_still(&ut->images[i], now))
			return &ut->images[i];
	return NULL;
}

struct image *modules_get(struct unwind_thread *ut, uintptr_t addr, bool is_careful)
{
	struct image_map now;
	struct image *im;

	if (!find_map(addr, is_careful, &now))
		return NULL;
	im = find_cached(ut, &now, is_careful);
	if (im)
		return im;
	im = &ut->images[ut->next_image++ % IMAGE_CACHE];
	*im = (struct image){.map = now, .generation = ut->generation};
	read_image(im, ut->copy.fde, sizeof(ut->copy.fde));
	if (!(ut->generation & 1) && !im->is_permanent && image_set_add(im, ut->generation)) {
		/* A library was replaced past our hooks (by libc itself, or by a library that does
		 * not see our dlclose): cached rules may be those of the library that is gone. */
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

bool modules_is_at(uintptr_t start, uintptr_t end)
{
#if HAS_FIND_OBJECT
	struct dl_find_object o;

	if (find_object && !is_find_object_off)
		return find_object((void *)start, &o) == 0 &&
		       (uintptr_t)o.dlfo_map_start == start && (uintptr_t)o.dlfo_map_end == end;
#endif
	(void)start;
	(void)end;
	return true;
}

bool modules_is_loader(uintptr_t pc)
{
	return pc - loader.start < loader.end - loader.start;
}

/* --- for the recorder ------------------------------------------------------------------------- */

bool unwind_find_module(uintptr_t addr, struct unwind_module *ret)
{
	uint8_t buf[HEAD_BYTES];
	struct build_id id = {0, 0};
	struct image_map map;
	struct head h;

	if (!find_map(addr, unwind_generation() & 1, &map))
		return false;
	if (main_program_is(&map)) {
		struct memory_range all = main_program_extent(); /* with what lies behind holes */

		map.start = all.lo;
		map.end = all.hi;
	}
	h = head_get(&map, buf, sizeof(buf));
	each_phdr(&h, find_build_id, &id);
	*ret = (struct unwind_module){
		.base = map.base,
		.start = map.start,
		.end = map.end,
		.path = map.path ? map.path : "",
		.build_id = (const uint8_t *)id.addr,
		.build_id_bytes = id.n_bytes,
	};
	return true;
}
