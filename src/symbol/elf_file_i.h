/* symbol/elf_file_i.h - one ELF file in memory: its sections, its build-id, and the links to other
 * files.
 *
 * Threads: a file belongs to one thread at a time.
 */
#ifndef SYMBOL_ELF_FILE_I_H
#define SYMBOL_ELF_FILE_I_H

#include <gelf.h>

#include "util/err.h"
#include "util/map_guard.h"

#define ELF_MAX_BUILD_ID_BYTES 64

/* Bytes of a section; data is NULL when len is 0. Lives as long as its file. */
struct view {
	const uint8_t *data;
	size_t len;
};

struct elf_file {
	char *path; /* where it was found, for people */
	uint8_t *image; /* the whole file, mapped privately and writable: libelf wants it */
	size_t image_bytes;
	struct map_guard guard; /* of the image, if it is mapped */
	bool is_heap; /* image is from malloc(), not mmap() */
	size_t heap_bytes; /* the image, if it is from malloc(), and sections that were unpacked */
	Elf *elf;
	size_t shstrndx;
	struct elf_unpacked *unpacked; /* sections that libelf could not decompress */
	size_t build_id_bytes; /* 0: it has none */
	uint8_t build_id[ELF_MAX_BUILD_ID_BYTES];
};

/* Maps the file and reads its headers. Returns 0 and leaves *ret NULL when the file cannot be read
 * or is not a little-endian ELF file: such a file does not help, like one that is not there. Fails
 * only when memory is out. */
int elf_file_open(const char *path, struct elf_file **ret, struct err *err);
int elf_file_open_fd(int fd, const char *path, struct elf_file **ret, struct err *err);
void elf_file_close(struct elf_file *f); /* NULL does nothing */

/* The section's bytes, decompressed. Empty when there is none, or it has no bytes in this file. */
struct view elf_file_section(struct elf_file *f, const char *name);
bool elf_file_has_section(struct elf_file *f, const char *name);

/* Whether it has .debug_info that can be read (its own, not a .dwo's). */
bool elf_file_has_dwarf(struct elf_file *f);

/* .gnu_debuglink: name of the debug file and its CRC. False: there is none. */
bool elf_file_debuglink(struct elf_file *f, const char **name, uint32_t *crc);

/* .gnu_debugaltlink: path and build-id of the file with what several debug files share. False:
 * none. */
bool elf_file_altlink(struct elf_file *f, const char **name, struct view *build_id);

/* .gnu_debugdata: a small ELF file with more symbols. NULL in *ret: there is none, or it is
 * damaged. */
int elf_file_minidebug(struct elf_file *f, struct elf_file **ret, struct err *err);

uint32_t elf_file_crc(const struct elf_file *f); /* of the whole file, as .gnu_debuglink has it */

/* Whether the file has this build-id. */
bool elf_file_is(const struct elf_file *f, const uint8_t *build_id, size_t build_id_bytes);

#endif
