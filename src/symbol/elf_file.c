/* symbol/elf_file.c - see elf_file_i.h. */
#include "symbol/elf_file_i.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bytes.h"

#define MAX_MINIDEBUG_BYTES (256u << 20) /* .gnu_debugdata is a few MiB at most */
#define TYPE_ZSTD 2 /* ELFCOMPRESS_ZSTD, which older elf.h and libelf do not know */
#define MAX_ZSTD_RATIO 1024 /* far beyond what debug information gives: the file is damaged */

struct elf_unpacked {
	struct elf_unpacked *next;
	size_t index; /* of the section */
	size_t len;
	uint8_t data[];
};

static void init_libelf(void)
{
	elf_version(EV_CURRENT);
}

static void release_image(uint8_t *image, size_t len, bool is_heap)
{
	if (is_heap)
		free(image);
	else if (image)
		munmap(image, len);
}

/* Finds the build-id in ELF notes, which have alignment 4 or 8. */
static void find_build_id(struct elf_file *f, Elf_Data *notes)
{
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;

	while ((at = gelf_getnote(notes, at, &note, &name_at, &desc_at)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)notes->d_buf + name_at, "GNU", 4) != 0)
			continue;
		if (note.n_descsz == 0 || note.n_descsz > ELF_MAX_BUILD_ID_BYTES)
			continue;
		memcpy(f->build_id, (char *)notes->d_buf + desc_at, note.n_descsz);
		f->build_id_bytes = note.n_descsz;
		return;
	}
}

/* Finds the build-id in the program headers; in debug files, whose segments are empty, in the
 * sections. */
static void read_build_id(struct elf_file *f)
{
	size_t n = 0;
	Elf_Scn *scn = NULL;

	while (!f->build_id_bytes && (scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			find_build_id(f, data);
	}
	if (f->build_id_bytes || elf_getphdrnum(f->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && !f->build_id_bytes; i++) {
		GElf_Phdr phdr;
		Elf_Data *data;

		if (!gelf_getphdr(f->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(f->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    phdr.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && data->d_buf)
			find_build_id(f, data);
	}
}

/* Takes ownership of image. */
static int open_image(uint8_t *image, size_t len, bool is_heap, const char *path,
		      struct elf_file **ret, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct elf_file *f;

	if (len < EI_NIDENT || memcmp(image, ELFMAG, SELFMAG) != 0 ||
	    image[EI_DATA] != ELFDATA2LSB) {
		release_image(image, len, is_heap);
		return 0;
	}
	f = calloc(1, sizeof(*f));
	if (!f) {
		release_image(image, len, is_heap);
		return err_set_memory(err, sizeof(*f));
	}
	f->image = image;
	f->image_bytes = len;
	f->is_heap = is_heap;
	f->heap_bytes = is_heap ? len : 0;
	if (!is_heap)
		f->guard = map_guard_add(image, len);
	f->path = strdup(path);
	if (!f->path) {
		elf_file_close(f);
		return err_set_memory(err, strlen(path));
	}
	pthread_once(&once, init_libelf);
	f->elf = elf_memory((char *)image, len);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF) {
		elf_file_close(f);
		return 0;
	}
	if (elf_getshdrstrndx(f->elf, &f->shstrndx) != 0)
		f->shstrndx = 0;
	read_build_id(f);
	*ret = f;
	return 0;
}

int elf_file_open_fd(int fd, const char *path, struct elf_file **ret, struct err *err)
{
	struct stat st;
	void *image;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < EI_NIDENT)
		return 0;
	/* Writable: libelf may write into it when it decompresses. The mapping is private. */
	image = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		     fd, 0);
	if (image == MAP_FAILED)
		return errno == ENOMEM ? err_set_memory(err, (size_t)st.st_size) : 0;
	return open_image(image, (size_t)st.st_size, false, path, ret, err);
}

int elf_file_open(const char *path, struct elf_file **ret, struct err *err)
{
	/* Not blocking: the path comes from a recording and may be a fifo. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return 0;
	r = elf_file_open_fd(fd, path, ret, err);
	close(fd);
	return r;
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	while (f->unpacked) {
		struct elf_unpacked *next = f->unpacked->next;

		free(f->unpacked);
		f->unpacked = next;
	}
	if (f->elf)
		elf_end(f->elf);
	map_guard_remove(&f->guard);
	release_image(f->image, f->image_bytes, f->is_heap);
	free(f->path);
	free(f);
}

static Elf_Scn *find_section(struct elf_file *f, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *its;

		if (!gelf_getshdr(scn, shdr))
			continue;
		its = elf_strptr(f->elf, f->shstrndx, shdr->sh_name);
		if (its && strcmp(its, name) == 0)
			return scn;
	}
	return NULL;
}

/* The bytes of a section that zstd has compressed; empty if the section is not compressed by zstd,
 * or is damaged. The bytes are kept, because sections are asked for more than once. */
static struct view unpack_zstd(struct elf_file *f, Elf_Scn *scn)
{
	bool is_64 = gelf_getclass(f->elf) == ELFCLASS64;
	size_t index = elf_ndxscn(scn), head_bytes = is_64 ? 24 : 12;
	Elf_Data *raw = elf_rawdata(scn, NULL);
	struct elf_unpacked *u = f->unpacked;
	const uint8_t *head;
	uint64_t len;

	while (u && u->index != index)
		u = u->next;
	if (u)
		return (struct view){u->data, u->len};
	if (!raw || !raw->d_buf || raw->d_size <= head_bytes)
		return (struct view){0};
	head = raw->d_buf;
	len = is_64 ? load_le64(head + 8) : load_le32(head + 4);
	if (load_le32(head) != TYPE_ZSTD || len == 0 || len / MAX_ZSTD_RATIO > raw->d_size)
		return (struct view){0};
	u = malloc(sizeof(*u) + len);
	if (!u)
		return (struct view){0};
	if (ZSTD_decompress(u->data, len, head + head_bytes, raw->d_size - head_bytes) != len) {
		free(u);
		return (struct view){0};
	}
	u->index = index;
	u->len = len;
	u->next = f->unpacked;
	f->unpacked = u;
	f->heap_bytes += len;
	return (struct view){u->data, u->len};
}

struct view elf_file_section(struct elf_file *f, const char *name)
{
	struct view none = {0};
	bool is_gnu = false;
	GElf_Shdr shdr;
	Elf_Scn *scn = find_section(f, name, &shdr);
	Elf_Data *data;

	if (!scn && strncmp(name, ".debug_", 7) == 0) { /* GNU's older way to compress */
		char old[64] = ".z";

		strncat(old, name + 1, sizeof(old) - 3);
		scn = find_section(f, old, &shdr);
		is_gnu = true;
	}
	if (!scn || shdr.sh_type == SHT_NOBITS)
		return none;
	if (is_gnu && elf_compress_gnu(scn, 0, 0) < 0)
		return none;
	if ((shdr.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return unpack_zstd(f, scn);
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size)
		return none;
	if (is_gnu || (shdr.sh_flags & SHF_COMPRESSED)) /* until now: libelf has just unpacked it */
		f->heap_bytes += data->d_size;
	return (struct view){.data = data->d_buf, .len = data->d_size};
}

bool elf_file_has_section(struct elf_file *f, const char *name)
{
	GElf_Shdr shdr;

	return find_section(f, name, &shdr) && shdr.sh_type != SHT_NOBITS && shdr.sh_size > 0;
}

bool elf_file_has_dwarf(struct elf_file *f)
{
	return elf_file_has_section(f, ".debug_info") || elf_file_has_section(f, ".zdebug_info");
}

bool elf_file_debuglink(struct elf_file *f, const char **name, uint32_t *crc)
{
	struct view v = elf_file_section(f, ".gnu_debuglink");
	size_t len, crc_at;

	if (!v.len || !memchr(v.data, 0, v.len))
		return false;
	len = strlen((const char *)v.data);
	crc_at = (len + 4) & ~(size_t)3;
	if (len == 0 || crc_at + 4 > v.len || memchr(v.data, '/', len))
		return false;
	*name = (const char *)v.data;
	*crc = load_le32(v.data + crc_at);
	return true;
}

bool elf_file_altlink(struct elf_file *f, const char **name, struct view *build_id)
{
	struct view v = elf_file_section(f, ".gnu_debugaltlink");
	const uint8_t *end = v.len ? memchr(v.data, 0, v.len) : NULL;

	if (!end || end == v.data || end + 1 == v.data + v.len)
		return false;
	*name = (const char *)v.data;
	*build_id = (struct view){end + 1, (size_t)(v.data + v.len - end - 1)};
	return true;
}

/* Decompresses into a buffer that grows up to the limit. */
static uint8_t *unpack_xz(struct view in, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = in.len * 4 + 4096;
	uint8_t *out = malloc(capacity), *bigger;
	lzma_ret r;

	if (!out || lzma_stream_decoder(&stream, 128u << 20, 0) != LZMA_OK) {
		free(out);
		return NULL;
	}
	stream.next_in = in.data;
	stream.avail_in = in.len;
	stream.next_out = out;
	stream.avail_out = capacity;
	while ((r = lzma_code(&stream, LZMA_FINISH)) == LZMA_OK && stream.avail_out == 0 &&
	       capacity < MAX_MINIDEBUG_BYTES) {
		bigger = realloc(out, capacity * 2);
		if (!bigger)
			break;
		out = bigger;
		stream.next_out = out + capacity;
		stream.avail_out = capacity;
		capacity *= 2;
	}
	*ret_len = (size_t)stream.total_out;
	lzma_end(&stream);
	if (r != LZMA_STREAM_END) {
		free(out);
		return NULL;
	}
	return out;
}

int elf_file_minidebug(struct elf_file *f, struct elf_file **ret, struct err *err)
{
	struct view v = elf_file_section(f, ".gnu_debugdata");
	uint8_t *bytes;
	size_t len;

	if (!v.len)
		return 0;
	bytes = unpack_xz(v, &len);
	if (!bytes)
		return 0;
	return open_image(bytes, len, true, ".gnu_debugdata", ret, err);
}

uint32_t elf_file_crc(const struct elf_file *f)
{
	return lzma_crc32(f->image, f->image_bytes, 0); /* the same polynomial as debuglink's */
}

bool elf_file_is(const struct elf_file *f, const uint8_t *build_id, size_t build_id_bytes)
{
	return build_id_bytes > 0 && f->build_id_bytes == build_id_bytes &&
	       memcmp(f->build_id, build_id, build_id_bytes) == 0;
}
