/* unwind/tables_i.h - from a pc to the rules that its unwind tables hold.
 *
 * modules.c and registered.c know where tables are, eh_frame.c finds the entry (FDE) for a pc,
 * cfi.c runs it and gives a row of rules, expr.c evaluates the expressions that rules may be.
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
	uint64_t mark; /* what was there: images of one size at one address differ in it */
	bool is_permanent; /* the main program: it may be read without care at any time */
	unsigned n_segments;
	struct image_segment segment[IMAGE_N_SEGMENTS];
};

/* Once per process, and again in a forked child. */
void modules_init(void);

/* Finds the image at addr and its segments, through the cache unless the generation is odd. NULL
 * when addr is in no image. Borrowed from ut until the image is displaced in its cache of
 * IMAGE_CACHE. is_careful: the image may vanish while we look at it (the main program will not). */
struct image *modules_get(struct unwind_thread *ut, uintptr_t addr, bool is_careful);

/* Whether addr lies in any image. */
bool modules_has(uintptr_t addr);

/* For tests: as if this glibc had no _dl_find_object. */
void modules_use_phdrs(bool on);

/* Whether an image of this very extent is loaded. True when only a lock could answer. */
bool modules_is_at(uintptr_t start, uintptr_t end);

/* Whether pc is the dynamic linker's. */
bool modules_is_loader(uintptr_t pc);

/* The segment of an image that holds addr; NULL when there is none. */
const struct image_segment *image_segment_at(const struct image *im, uintptr_t addr);

/* --- image_set.c: the images that rules were made of ------------------------------------------ */

/* Once per process, and again in a forked child. */
void image_set_init(void);

/* Adds an image. True when another image of the same generation lay there: that one was unloaded
 * past our hooks. */
bool image_set_add(const struct image *im, uint32_t generation);

/* Whether an image of the set is gone. To be asked whenever the dynamic linker calls us. */
bool image_set_lost(void);

/* --- main_program.c: the image that is always there ------------------------------------------- */

void main_program_init(void);

/* Whether map is the main program, or one of its segments. */
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

/* Room for copies of tables that may vanish. An FDE or CIE that does not fit is not understood. */
struct eh_copy {
	struct memory_range search;
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

/* A parsed FDE with what its CIE says. Bytes are borrowed from the table or from eh_copy. */
struct eh_fde {
	uintptr_t start; /* code that it covers: [start, end) */
	uintptr_t end;
	struct eh_ops cie_ops;
	struct eh_ops ops;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pc_encoding;
	bool is_signal; /* return of a signal handler: its caller was interrupted, not calling */
};

enum eh_result {
	EH_FOUND,
	EH_NONE, /* no FDE covers pc */
	EH_BAD, /* malformed, or of a kind that we do not know */
};

/* Finds the FDE of pc by the sorted table of an .eh_frame_hdr; where the header has no such table,
 * by reading the whole .eh_frame. *ret is written only with EH_FOUND. */
enum eh_result eh_frame_find(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct eh_fde *ret);

/* Finds the FDE of pc by reading a whole .eh_frame, which ends in a zero length. */
enum eh_result eh_frame_scan(struct eh_reader *r, uintptr_t table, uintptr_t pc,
			     struct eh_fde *ret);

/* The lowest and highest address that a table's FDEs cover. False when there is none. */
bool eh_frame_extent(struct eh_reader *r, uintptr_t table, struct memory_range *ret);

/* For a pc that no FDE covers: the uncovered code around it. The lower end is exact, the upper end
 * exact or UINTPTR_MAX. False when the header has no sorted table, or is damaged. */
bool eh_frame_gap(struct eh_reader *r, uintptr_t hdr, uintptr_t pc, struct memory_range *ret);

struct cursor;
/* Reads a pointer in DW_EH_PE encoding. addr is where the cursor's bytes begin in memory, datarel
 * the base of DW_EH_PE_datarel (0 = there is none). Encodings that are not used for code fail the
 * cursor. */
uintptr_t eh_frame_pointer(struct cursor *c, uint8_t encoding, uintptr_t addr, uintptr_t datarel);

/* --- cfi.c: from an FDE to the row of rules in force ------------------------------------------ */

#define CFI_N_SAVED 8 /* depth of remember_state; compilers use 1 or 2 */

enum cfi_how {
	CFI_UNSPECIFIED, /* for a callee-saved register: same value */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET, /* saved at CFA + offset; for the CFA itself: reg + offset */
	CFI_VAL_OFFSET, /* is CFA + offset */
	CFI_REGISTER, /* in reg */
	CFI_EXPR, /* saved where the expression says; for the CFA itself: its value */
	CFI_VAL_EXPR, /* is what the expression gives */
};

/* How to get one register of the caller, or the CFA. */
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

/* Computes the row in force at key - 1. False when the instructions are malformed. */
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

/* Whether any table was ever registered. */
bool registered_has_any(void);

/* Finds the FDE of pc in the registered tables. Bytes are copied: the table is not ours. */
enum eh_result registered_find(struct eh_copy *copy, uintptr_t pc, struct eh_fde *ret);

#endif
