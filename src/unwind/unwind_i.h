/* unwind/unwind_i.h - what the files of unwind/ share.
 *
 * A frame is named by its key: the return address into it, or the interrupted pc plus one. So
 * key - 1 is always an address inside the instruction that was executing, and the rules in force
 * there are those of the last row that starts below key. That is also what unwind_frames holds.
 *
 * From the bottom: memory.c reads without ever faulting; main_program.c, modules.c and
 * registered.c find tables; eh_frame.c finds the FDE in them, cfi.c runs it to a row, expr.c helps;
 * rule.c packs a row into 64 bits when it can, rule_cache.c keeps those; walk.c steps with them,
 * slow_walk.c steps with rows and all registers, fp_walk.c where there is no FDE.
 */
#ifndef UNWIND_UNWIND_I_H
#define UNWIND_UNWIND_I_H

#include <stdatomic.h>

#include "unwind/memory_i.h"
#include "unwind/stack_cache.h"
#include "unwind/tables_i.h"
#include "unwind/unwind.h"

/* --- generation.c: see stack_cache.h for how it is read ---------------------------------------------- */

/* In a forked child: changes that other threads had begun are over. */
void generation_init(void);

/* --- rule.c: a row in 64 bits ----------------------------------------------------------------- */

enum rule_kind {
	RULE_NONE, /* not known */
	RULE_SP, /* CFA = sp + cfa_off; fp is unchanged or at CFA + fp_off */
	RULE_FP, /* CFA = fp + cfa_off; fp is unchanged or at CFA + fp_off */
	RULE_FP_DEREF, /* CFA = *(fp + cfa_off); fp is unchanged or at fp + fp_off */
	RULE_END, /* no caller */
	RULE_START, /* no caller, and key is not a return address but the first one of a stack */
	RULE_SLOW, /* needs the row */
	RULE_NO_FDE, /* code of an image that no FDE covers */
};

/* bits 0-2 kind, 3 fp is saved, 4-19 fp_off / 8, 20-39 cfa_off / 8, 40-63 generation / 2.
 * 0 is no rule. */
struct rule {
	uint64_t v;
};

#define RULE_GENERATION_SHIFT 40

static inline enum rule_kind rule_kind(struct rule r)
{
	return (enum rule_kind)(r.v & 7);
}

static inline bool rule_has_fp(struct rule r)
{
	return r.v & 8;
}

static inline intptr_t rule_fp_off(struct rule r)
{
	return (intptr_t)(int16_t)(r.v >> 4) * 8;
}

static inline intptr_t rule_cfa_off(struct rule r)
{
	return (intptr_t)((int64_t)(r.v << 24) >> 44) * 8;
}

static inline uint64_t rule_generation_bits(uint32_t generation)
{
	return (uint64_t)(generation >> 1) << RULE_GENERATION_SHIFT;
}

static inline bool rule_is_of(struct rule r, uint32_t generation)
{
	return (r.v ^ rule_generation_bits(generation)) >> RULE_GENERATION_SHIFT == 0;
}

/* Packs a row; RULE_SLOW when it does not fit the simple kinds. generation is even. */
struct rule rule_pack(const struct cfi_row *row, bool is_signal, uint32_t generation);
struct rule rule_make(enum rule_kind kind, uint32_t generation);

/* --- rule_cache.c: key -> rule ------------------------------------------------------------------ */

#define RULE_CACHE_SETS 4096u /* per thread, two entries each */

struct rule_cache_entry {
	uintptr_t key;
	struct rule rule;
};

struct rule_cache {
	struct rule_cache_entry set[RULE_CACHE_SETS][2];
};

static inline size_t rule_cache_hash(uintptr_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 40);
}

/* In the second level, shared by all threads; puts what it finds into the first. */
struct rule rule_cache_find_shared(struct rule_cache *c, uintptr_t key, uint32_t generation);
void rule_cache_add(struct rule_cache *c, uintptr_t key, struct rule rule);

/* generation must be even. */
static inline struct rule rule_cache_find(struct rule_cache *c, uintptr_t key, uint32_t generation)
{
	struct rule_cache_entry *set = c->set[rule_cache_hash(key) % RULE_CACHE_SETS];

	if (likely(set[0].key == key && rule_is_of(set[0].rule, generation)))
		return set[0].rule;
	if (set[1].key == key && rule_is_of(set[1].rule, generation))
		return set[1].rule;
	return rule_cache_find_shared(c, key, generation);
}

/* --- lookup.c: everything known about a key --------------------------------------------------- */

enum lookup {
	LOOKUP_FDE, /* ut->fde */
	LOOKUP_NO_FDE, /* in the executable part of ut->image, but nothing covers it */
	LOOKUP_NO_IMAGE, /* in no image; perhaps JIT code */
	LOOKUP_NOT_CODE, /* inside an image, but not executable */
	LOOKUP_BAD, /* table damaged */
};

void lookup_init(void);

/* is_careful: key may be no more than a guess, so its image may be going away. The images of true
 * frames stay, whatever others unload. */
enum lookup lookup_find(struct unwind_thread *ut, uintptr_t key, bool is_careful);

/* n bytes of code at addr: of ut->image by plain loads if possible. */
bool lookup_code(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret);

/* A few bytes at an address that is no more than a guess. */
bool lookup_any_code(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret);

/* Whether key may be a return address, in whatever code; *ret: the ARCH_CALL_MAX_BYTES in front of it. */
bool lookup_any_call(struct unwind_thread *ut, uintptr_t key, uint8_t *ret);

/* False when the bytes before key are readable and no call: no return address then. */
bool lookup_is_after_call(struct unwind_thread *ut, uintptr_t key);

/* The address that makecontext() makes its functions return to; no frame lies above it. */
uintptr_t lookup_context_return(void);

/* --- the walks --------------------------------------------------------------------------------- */

/* A frame in the few registers that all walks share. */
struct frame {
	uintptr_t key;
	uintptr_t sp;
	uintptr_t fp;
	bool is_exact; /* interrupted there, not calling: the bytes before key are no call */
};

/* --- stack_cache.c, join_cache.c, caller_hint.c: see stack_cache.h ---------------------------------------------- */

/* Are the extra words of the first n entries all unchanged? */
bool stack_cache_extras_hold(const struct stack_cache *c, size_t n);

/* After a walk, before its frames are put onto the cache: is it better to have all of them there but
 * the start? For it is a leaf, or may become one. */
bool caller_hint_learn(struct stack_cache *c, const struct unwind_start *start);
void caller_hint_forget_all(struct stack_cache *c);

struct slow_walk {
	struct arch_regs regs;
	struct arch_regs next;
	uint32_t known; /* registers whose value is known */
	bool is_exact; /* pc was interrupted: it is no return address */
	unsigned n_switches; /* times that the stack pointer went down */
};

struct unwind_thread {
	struct stack_cache stack_cache; /* must be first: stack_cache.h knows no more of this */
	struct memory memory;
	bool use_cache;
	bool is_uncertain; /* this walk has passed a frame that only the frame pointer suggests */
	uint32_t generation; /* at the beginning of this walk */
	struct unwind_stats stats;
	struct image *image; /* result of the last lookup, NULL = none */
	struct eh_fde fde; /* likewise */
	struct image images[IMAGE_CACHE];
	unsigned next_image;
	struct cfi_machine cfi;
	struct slow_walk slow;
	uint64_t expr_stack[EXPR_STACK];
	struct eh_copy copy;
	struct rule_cache rules;
};

#define WALK_ON UNWIND_N_ENDS /* a step's result: it succeeded */

/* Steps over a frame without FDE, as `what` says: adds f->key to out when it is code, and makes f
 * its caller when the frame pointer is convincing. Returns WALK_ON or why the stack ends. */
enum unwind_end fp_walk_step(struct unwind_thread *ut, enum lookup what, struct frame *f,
			     struct unwind_frames *out);

/* Walks with all registers, from our own frame. */
enum unwind_end slow_walk_run(struct unwind_thread *ut, const struct unwind_start *start,
			      struct unwind_frames *out);

static inline bool walk_add(struct unwind_frames *out, uintptr_t key)
{
	if (out->n == out->capacity)
		return false;
	out->addr[out->n++] = key;
	return true;
}

#endif
