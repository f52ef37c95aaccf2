/* unwind/unwind_thread_i.h - the state of an unwinder: what one thread needs to walk its stack.
 *
 * From the bottom: memory.c reads without ever faulting; main_program.c, modules.c and registered.c
 * find the tables of the code; eh_frame.c finds the FDE of an address in them, cfi.c runs the FDE
 * to a row, expr.c evaluates its expressions; rule.c packs a row into 64 bits when it can,
 * rule_cache.c keeps these rules. walk.c steps with rules, slow_walk.c with rows and all registers,
 * fp_walk.c where there is no FDE. stack_cache.c walks only what has changed since the last stack.
 */
#ifndef UNWIND_UNWIND_THREAD_I_H
#define UNWIND_UNWIND_THREAD_I_H

#include "unwind/memory_i.h"
#include "unwind/rule_cache_i.h"
#include "unwind/stack_cache_tables.h"
#include "unwind/tables_i.h"
#include "unwind/unwind.h"

/* The walk with all registers (slow_walk.c). */
struct slow_walk {
	struct arch_regs regs; /* of the frame that the walk is at */
	struct arch_regs next; /* of its caller, while they are being restored */
	uint32_t known; /* bit mask: registers whose value is known */
	bool is_exact; /* pc was interrupted: it is no return address */
	unsigned n_switches; /* times that the stack pointer went down */
};

struct unwind_thread {
	struct stack_cache stack_cache; /* must be first: see stack_cache_of() */
	struct memory memory;
	bool use_cache;
	bool is_uncertain; /* this walk has passed a frame that only the frame pointer suggests */
	uint32_t generation; /* at the beginning of this walk */
	struct unwind_stats stats;
	struct image *image; /* result of the last lookup, NULL = none */
	struct eh_fde fde; /* result of the last lookup */
	struct image images[IMAGE_CACHE];
	unsigned next_image; /* entry of images that the next new image replaces */
	struct cfi_machine cfi;
	struct slow_walk slow;
	uint64_t expr_stack[EXPR_STACK];
	struct eh_copy copy;
	struct rule_cache rules;
};

#endif
