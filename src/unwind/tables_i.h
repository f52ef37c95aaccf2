/* unwind/tables_i.h - from a pc to the rules that its unwind tables hold.
 *
 * modules.c and registered.c know where tables are, eh_frame.c finds the entry (FDE) for a pc,
 * cfi.c runs the FDE and gives a row of rules, expr.c evaluates the expressions that rules may be.
 * This header is internal to unwind/.
 *
 * An image may be unloaded while we look at it. Two things help:
 *   1. A generation (unwind.h) is odd while code is being removed. What was read in one even
 *      generation holds until the generation changes.
 *   2. A careful lookup reads through copies that the kernel makes; a plain load may fault.
 *      An image with a certain frame on the stack cannot be unloaded, so its lookup need not be
 *      careful. A frame that only the frame pointer suggests needs a careful lookup.
 *
 * Threads: struct unwind_thread and other arguments belong to the calling thread. Tables that
 * threads share are guarded by atomic flags; whoever finds a flag taken does not wait.
 */
#ifndef UNWIND_TABLES_I_H
#define UNWIND_TABLES_I_H

#include <link.h>

#include "arch/arch.h"
#include "unwind/memory_i.h"

struct unwind_thread;

/* --- modules.c: loaded ELF images ------------------------------------------------------------- */

#define IMAGE_N_SEGMENTS 8
#define IMAGE_CACHE 16

struct image_segment {
	struct memory_range at;
	bool is_readable;
	bool is_executable;
};

/* What the loader says of an image. */
struct image_map {
	uintptr_t start;
	uintptr_t end;
	uintptr_t base;
	uintptr_t hdr; /* .eh_frame_hdr, or 0 */
	const char *path;
};

/* An ELF image. Segments are those of its program headers. Segments beyond IMAGE_N_SEGMENTS are
 * left out: a table in one of them is not found. */
struct image {
	struct image_map map;
	uint32_t generation; /* in which the fields below were read; 0 = not read */
	uintptr_t mark_at; /* first bytes of the build id, in the first page; 0 = there is none */
	uint64_t mark; /* the bytes at mark_at, or map.path if there is no build id: two images of
			  one size at one address differ in mark */
	bool is_permanent; /* the main program: it may be read without care at any time */
	unsigned n_segments;
	struct image_segment segment[IMAGE_N_SEGMENTS];
};

/* Once per process, and again in a forked child. Calls main_program_init(). */
void modules_init(void);

/* Finds the image at addr and its segments. NULL when addr is in no image. The loader is always
 * asked which image lies at addr; ut's cache of IMAGE_CACHE images may save reading the image's
 * headers. While the generation is odd the cache is used only for the main program and for images
 * with a build id, which is compared.
 *
 * Borrowed from ut until IMAGE_CACHE other images have been read. is_careful: the image may vanish
 * while we look at it. Then no plain load reads the image and the cache is not used, except for the
 * main program, which cannot vanish. If the image replaced another one unnoticed (image_set_add()),
 * a new generation begins. */
struct image *modules_get(struct unwind_thread *ut, uintptr_t addr, bool is_careful);

/* Whether addr lies in any image. */
bool modules_has(uintptr_t addr);

/* For tests: as if this glibc had no _dl_find_object. */
void modules_use_phdrs(bool on);

/* Whether an image of this very extent is loaded. Also true without _dl_find_object(): there only
 * the loader's lock could tell, and we do not take it. */
bool modules_is_at(uintptr_t start, uintptr_t end);

/* Whether pc is the dynamic linker's. */
bool modules_is_loader(uintptr_t pc);

/* The segment of an image that holds addr; NULL when there is none. */
const struct image_segment *image_segment_at(const struct image *im, uintptr_t addr);

/* --- image_set.c: the images whose rules may be in a cache ------------------------------------ */

/* Once per process, and again in a forked child. */
void image_set_init(void);

/* Adds an image. True when the set has another image of the same generation at these addresses:
 * that one was unloaded without a call of our dlclose() hook (libc unloads its own libraries so).
 * Then the caller must begin a new generation. */
bool image_set_add(const struct image *im, uint32_t generation);

/* Whether an image of the set is gone. To be asked whenever the dynamic linker calls a hook: it
 * frees what it knew about an image after it has unmapped the image. */
bool image_set_lost(void);

/* --- main_program.c: the image that is always there ------------------------------------------- */

/* Called by modules_init(). */
void main_program_init(void);

/* Whether map is the main program, or one of its segments: if there are holes between the segments,
 * _dl_find_object() gives each segment as an image of its own. */
bool main_program_is(const struct image_map *map);
const ElfW(Phdr) * main_program_phdrs(unsigned *ret_n);
struct memory_range main_program_extent(void);

/* Whether these n bytes are code of the main program, which may be loaded like memory of our
 * own. */
bool main_program_has_code(uintptr_t addr, size_t n);

/* --- eh_frame.c: from a pc to its FDE --------------------------------------------------------- */

#define EH_COPY_FDE_BYTES 2048
#define EH_COPY_CIE_BYTES 256
#define EH_COPY_SEARCH_BYTES 1024

/* Room for copies of tables that may vanish. An FDE or CIE that does not fit is EH_BAD. */
struct eh_copy {
	struct memory_range search; /* what search_bytes is a copy of. The caller empties this
				       range before each lookup: the table may have changed */
	uint8_t search_bytes[EH_COPY_SEARCH_BYTES];
	uint8_t fde[EH_COPY_FDE_BYTES];
	uint8_t cie[EH_COPY_CIE_BYTES];
};

/* How to get at the bytes of a table. copy == NULL: by plain loads, inside the readable ones of
 * these segments. Otherwise: through copies that the kernel makes, from anywhere. */
struct eh_reader {
	const struct image_segment *segment;
	unsigned n_segments;
	struct eh_copy *copy;
};

/* Instructions: bytes to read and the address that they have in the table. */
struct eh_ops {
	const uint8_t *data;
	size_t len;
	uintptr_t addr;
};

/* A parsed FDE with what its CIE says. Bytes are borrowed from the table, or from eh_copy until the
 * next lookup with this eh_copy. The return address is always in column ARCH_REG_PC: an FDE with
 * another column is EH_BAD. */
struct eh_fde {
	uintptr_t start; /* code that it covers: [start, end) */
	uintptr_t end;
	struct eh_ops cie_ops;
	struct eh_ops ops;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pc_encoding;
	bool is_signal; /* letter S: code that a signal handler returns to. The frame outside it
			   was interrupted; it made no call */
};

enum eh_result {
	EH_FOUND,
	EH_NONE, /* no FDE covers pc */
	EH_BAD, /* malformed, or of a kind that we do not know */
};

/* Finds the FDE of pc by the sorted table of an .eh_frame_hdr; where the header has no such table,
 * by reading the whole .eh_frame. *ret means something only with EH_FOUND. */
enum eh_result eh_frame_find(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct eh_fde *ret);

/* Finds the FDE of pc by reading a whole .eh_frame, which ends in a zero length. */
enum eh_result eh_frame_scan(struct eh_reader *r, uintptr_t table, uintptr_t pc,
			     struct eh_fde *ret);

/* The lowest and highest address that a table's FDEs cover. False when there is none. */
bool eh_frame_extent(struct eh_reader *r, uintptr_t table, struct memory_range *ret);

/* For a pc that no FDE covers: the uncovered code around it. The lower end is exact, the upper end
 * exact or UINTPTR_MAX. False when the header has no sorted table or is damaged, or when an FDE
 * covers pc. */
bool eh_frame_gap(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct memory_range *ret);

struct cursor;
/* Reads a pointer in DW_EH_PE encoding. addr is where the cursor's bytes begin in memory, datarel
 * the base of DW_EH_PE_datarel (0 = there is none). Encodings that are not used for code fail the
 * cursor. */
uintptr_t eh_frame_pointer(struct cursor *c, uint8_t encoding, uintptr_t addr, uintptr_t datarel);

/* --- cfi.c: from an FDE to the row of rules in force ------------------------------------------ */

#define CFI_N_SAVED 8 /* depth of remember_state; compilers use 1 or 2 */

enum cfi_how {
	CFI_UNSPECIFIED, /* no rule. Callee-saved register: same value; sp: the CFA; else unknown */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET, /* saved at CFA + offset; for the CFA itself: reg + offset */
	CFI_VAL_OFFSET, /* is CFA + offset */
	CFI_REGISTER, /* in reg */
	CFI_EXPR, /* saved where the expression says; for the CFA itself: its value */
	CFI_VAL_EXPR, /* is what the expression gives */
};

/* How to get one register of the caller, or the CFA. expr points into the bytes of the eh_fde. */
struct cfi_rule {
	union {
		int64_t offset;
		const uint8_t *expr;
	};
	uint32_t expr_bytes;
	uint8_t how; /* enum cfi_how */
	uint8_t reg;
};

/* The rules in force at one code location. */
struct cfi_row {
	struct cfi_rule cfa;
	struct cfi_rule reg[ARCH_N_REGS];
};

struct cfi_machine {
	struct cfi_row row; /* the result */
	struct cfi_row initial; /* after the CIE's instructions: what DW_CFA_restore goes back to */
	struct cfi_row saved[CFI_N_SAVED];
	unsigned n_saved;
};

/* Computes the row in force at key - 1. key is a return address, or an interrupted pc plus one: so
 * key - 1 lies in the instruction that was executing. False when the instructions are malformed. */
bool cfi_run(struct cfi_machine *m, const struct eh_fde *fde, uintptr_t key);

/* --- expr.c: DWARF expressions ---------------------------------------------------------------- */

#define EXPR_STACK 64
#define EXPR_MAX_STEPS 1000

/* Reads n bytes (at most 8) as a number. False when they cannot be read. */
typedef bool (*expr_read)(void *ctx, uintptr_t addr, size_t n, uint64_t *ret);

struct expr_env {
	const uintptr_t *reg;
	uint32_t known; /* bit mask: registers whose value is known */
	expr_read read;
	void *read_ctx;
	uint64_t *stack; /* EXPR_STACK entries of scratch */
};

/* Evaluates an expression; initial, when not NULL, is on the stack at the beginning. False when the
 * expression is malformed, needs a value that is not known, or does not end within
 * EXPR_MAX_STEPS. */
bool expr_eval(const struct expr_env *env, const uint8_t *ops, size_t len, const uintptr_t *initial,
	       uintptr_t *ret);

/* --- registered.c: tables of __register_frame() ----------------------------------------------- */

/* Once per process, and again in a forked child. */
void registered_init(void);

/* Finds the FDE of pc in the registered tables. Bytes are copied: the table is not ours. */
enum eh_result registered_find(struct eh_copy *copy, uintptr_t pc, struct eh_fde *ret);

#endif
