/* unwind/memory_i.h - reading words that may not be there (memory.c). */
#ifndef UNWIND_MEMORY_I_H
#define UNWIND_MEMORY_I_H

#include "unwind/stack_word.h"

#define PAGE_BYTES 4096u /* the smallest page of any CPU: a step that skips no page */

struct memory_range {
	uintptr_t lo;
	uintptr_t hi; /* one past the end */
};

#define MEMORY_PIECE_BYTES 4096u
#define MEMORY_N_FOREIGN 4
#define MEMORY_N_PAGES 32
#define MEMORY_N_CODE 256
#define MEMORY_CODE_BYTES 8

/* What /proc said about a page of code. The answer is believed for n_uses_left more questions. */
struct memory_page {
	uintptr_t addr; /* start of the page, 0 = empty */
	uint16_t n_uses_left;
	bool is_executable;
};

/* A few bytes of code as they were a moment ago. */
struct memory_code {
	uintptr_t addr; /* 0 = empty */
	uint64_t ticks; /* when they were read ... */
	uint32_t generation; /* ... and in which generation */
	uint8_t n; /* 0 = could not be read */
	uint8_t bytes[MEMORY_CODE_BYTES];
};

/* Always: own is empty, or it lies in the stack that libc gave this thread, was seen to be readable
 * from end to end, and lives as long as the thread. So own may be read with plain loads. All other
 * memory is read by asking the kernel, a piece at a time; a piece is used during one walk only. */
struct memory {
	struct memory_range own;
	struct memory_range foreign[MEMORY_N_FOREIGN]; /* stack pointers in these are not in own */
	unsigned next_foreign;
	struct memory_range piece;
	struct memory_page page[MEMORY_N_PAGES];
	struct memory_code code[MEMORY_N_CODE];
	uint8_t piece_bytes[MEMORY_PIECE_BYTES];
};

/* Once per process, and again in a forked child. */
void memory_init(void);

/* As if the kernel refused process_vm_readv(). */
void memory_refuse_copies(bool on);

/* The process's first stack pointer, above which no frame can be; 0 when unknown. */
uintptr_t memory_stack_end(void);

/* Another thread takes over: what was known about the stack of the last thread is void. */
void memory_forget(struct memory *m);

/* A walk begins at sp: forgets what the last walk fetched. */
void memory_begin(struct memory *m, uintptr_t sp);

/* The walk goes on at sp, perhaps on another stack. Extends own down to sp if it can. */
void memory_enter(struct memory *m, uintptr_t sp);

/* Copies n bytes. False when not all of them can be read; then dst may be partly written. */
bool memory_copy(void *dst, uintptr_t addr, size_t n);

/* Reads n (at most 8) bytes at addr as a number in the CPU's byte order. False when they cannot be
 * read. */
bool memory_read(struct memory *m, uintptr_t addr, size_t n, uint64_t *ret);

/* Whether the page of addr is mapped executable, or was a moment ago. */
bool memory_is_executable(struct memory *m, uintptr_t addr);

/* Copies n (at most MEMORY_CODE_BYTES) bytes of code that may be gone. False when they cannot be
 * read. The bytes are read anew in every generation and after about a millisecond: a JIT compiler
 * that registers nothing may put other code there, and what depends on such code is a guess
 * anyway. */
bool memory_code(struct memory *m, uintptr_t addr, size_t n, uint32_t generation, uint8_t *ret);

/* A result in registers: a pointer to the result would keep the walk's registers in memory. */
struct memory_value {
	uintptr_t v;
	bool is_ok;
};
struct memory_value memory_word_foreign(struct memory *m, uintptr_t addr);

static inline bool memory_is_own(const struct memory *m, uintptr_t addr)
{
	return addr >= m->own.lo && addr < m->own.hi;
}

/* Reads one word of a stack. False when it cannot be read. */
static inline bool memory_word(struct memory *m, uintptr_t addr, uintptr_t *ret)
{
	if (unlikely(addr < m->own.lo || addr + sizeof(uintptr_t) > m->own.hi ||
		     addr % sizeof(uintptr_t))) {
		struct memory_value value = memory_word_foreign(m, addr);

		*ret = value.v;
		return value.is_ok;
	}
	*ret = stack_word_load(addr);
	return true;
}

#endif
