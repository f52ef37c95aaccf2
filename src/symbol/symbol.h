/* symbol/symbol.h - from addresses in a module to functions, files and lines.
 *
 * A module is one ELF file that the recorded process had mapped. symbol_image_open() looks for the
 * best description of it: the binary that is embedded in the recording, the file on this machine, a
 * separate debug file, debuginfod. symbol_image_resolve() then turns an address into frames.
 *
 * A file must belong to the module: a file with another build-id is never used, whatever its name.
 * A module that was recorded without a build-id is described by its embedded binary, or by files
 * that the user names with -d, and by nothing else. Missing symbols are no error. Such an image
 * resolves nothing, and symbol_image_origin() says why.
 *
 * The files are not trusted: damaged or hostile files give fewer or odd names, never a crash, also
 * if another program cuts a file short while it is read (util/map_guard.h).
 *
 * Cost: opening reads little. The first resolve() of an image with DWARF reads the header of every
 * compilation unit; a unit is indexed in full when the first address in it is asked for. Ask for
 * addresses in ascending order, so that each unit is visited once: the indexes that are kept are
 * limited to SYMBOL_MAX_INDEX_BYTES and dropped all together when they grow beyond.
 *
 * Threads: one image belongs to one thread at a time. Different images, also of one file, may be
 * used by different threads at the same time. symbol_demangle() may be called by any thread.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "util/err.h"

#define SYMBOL_MAX_INDEX_BYTES (96u << 20)

struct symbol_image; /* opaque: defined in image.c */

/* One function at an address. All texts are borrowed until the next call with the same image. They
 * come from the file as they are: any bytes, UTF-8 as a rule (human_print_text(), json_text()). */
struct symbol_frame {
	const char *function; /* for people: demangled where it was mangled; NULL: not known */
	const char *raw_function; /* as in the file: the linkage name where there is one; or NULL */
	const char *source; /* as the compiler wrote it, absolute if it gave the folder; or NULL */
	uint32_t line; /* 0: not known */
	uint32_t column; /* 0: not known */
	bool is_inline; /* its code is part of the frame that follows */
};

/* Which files may be used to find symbols. */
struct symbol_options {
	const char *const *debug_path; /* files and folders that the user named (-d) */
	size_t n_debug_paths;
	bool use_debuginfod; /* ask the servers in $DEBUGINFOD_URLS: slow, and they learn it */
	bool use_local_files; /* look at this machine's files, besides debug_path */
};

/* What the recording knows of a module. */
struct symbol_module {
	const char *path; /* as the recorded process saw it; never NULL */
	const uint8_t *build_id;
	size_t build_id_bytes; /* 0: it has none */
	int embedded_fd; /* the binary out of the recording, or -1; not owned */
};

/* Finds the symbols of a module. The options and their texts are borrowed until
 * symbol_image_close(); the module is not needed after the call. Fails only when memory is out. */
int symbol_image_open(const struct symbol_module *module, const struct symbol_options *options,
		      struct symbol_image **ret, struct err *err);
void symbol_image_close(struct symbol_image *image); /* NULL does nothing */

/* How much memory the image needs, about: its indexes and names, not the mapped files. Grows with
 * the questions. */
size_t symbol_image_size(const struct symbol_image *image);

/* Where the symbols come from ("embedded in the recording; lines from /usr/lib/debug/..."), or why
 * there are none ("no symbols: /usr/lib/libx.so has another build-id"). Grows when a later
 * resolve() learns more (.dwo files). Borrowed until the next call with the same image. */
const char *symbol_image_origin(const struct symbol_image *image);

/* Receives one frame. Innermost first: inlined functions, then the function that contains the
 * code. */
typedef void (*symbol_frame_fn)(void *user, const struct symbol_frame *frame);

/* Finds the frames at an address of the ELF file: run-time address minus load bias. For a return
 * address pass one less, so that the address lies in the call. Returns the number of frames given
 * to fn; 0 when nothing is known; -ERR_MEMORY when memory is out. */
int symbol_image_resolve(struct symbol_image *image, uint64_t elf_vaddr, symbol_frame_fn fn,
			 void *user, struct err *err);

/* The readable form of a mangled C++, Rust (both manglings) or D name, for the caller to free().
 * NULL when raw is no such name, or memory is out: show raw then. Rust names come without their
 * hash ("::h0123456789abcdef"), C++ names with their parameters. */
char *symbol_demangle(const char *raw);

#endif
