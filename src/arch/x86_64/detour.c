/* arch/x86_64/detour.c - see detour.h. */
#include "arch/x86_64/detour.h"

#include <string.h>

#include "arch/x86_64/instruction.h"

static const uint8_t *target_of(const uint8_t *at, const struct arch_instruction *in)
{
	return at + in->n_bytes + in->relative;
}

static bool is_fixed_branch(const struct arch_instruction *in)
{
	return in->flow == ARCH_FLOW_JUMP || in->flow == ARCH_FLOW_JUMP_IF ||
	       in->flow == ARCH_FLOW_CALL;
}

/* A jump to jump_at itself is refused as well: a loop that begins there keeps values in registers
 * that a call may change. A call of the function's first byte is a call like any other. */
static bool hits(const uint8_t *function, const struct arch_detour *d, const uint8_t *target,
		 const struct arch_instruction *in)
{
	if (target == function)
		return in->flow != ARCH_FLOW_CALL;
	return target >= function + d->jump_at && target < function + d->end;
}

/* The register that the instruction, push or pop, names, and 8 to 15 for r8 to r15; less than 0: the
 * instruction is another one. opcode: of push or pop rax. */
static int stack_register(const uint8_t *at, const struct arch_instruction *in, unsigned opcode)
{
	bool has_rex_b = in->opcode_at == 1 && at[0] == 0x41;

	if (in->opcode_at > has_rex_b || (at[in->opcode_at] & 0xf8) != opcode)
		return -1;
	return (at[in->opcode_at] & 7) + (has_rex_b ? 8 : 0);
}

/* The register that the function saves before it does anything else; less than 0: none. */
static int first_saved_register(const uint8_t *function, const struct arch_detour *d)
{
	struct arch_instruction in;

	if (!arch_instruction_decode(function + d->jump_at, d->end - d->jump_at, &in))
		return -1;
	return stack_register(function + d->jump_at, &in, 0x50);
}

/* A jump to an address in a register may be that of a switch, with any target in the function. Right
 * after the register that was saved first has been restored the function has no frame any more: the
 * jump is a call of another function at the end of this one (allocators that call through a table of
 * functions, such as that of Chromium). */
const char *arch_detour_check_part(const uint8_t *part, size_t n_bytes, const uint8_t *function,
				   const struct arch_detour *d)
{
	int saved = first_saved_register(function, d), restored = -1;
	struct arch_instruction in;

	for (size_t at = 0; at < n_bytes; at += in.n_bytes) {
		if (!arch_instruction_decode(part + at, n_bytes - at, &in))
			return "it has an instruction that the recorder does not know";
		if (is_fixed_branch(&in) && hits(function, d, target_of(part + at, &in), &in))
			return "a jump leads to its first instructions";
		if (in.flow == ARCH_FLOW_JUMP_REGISTER && (restored < 0 || restored != saved))
			return "it has a jump whose target is not known";
		restored = stack_register(part + at, &in, 0x58);
	}
	return NULL;
}

/* Can the instruction be executed elsewhere? The loop instructions have no long form. Of calls that
 * take their target from memory only those of a fixed address (call *function@GOT) are moved. */
static bool is_movable(const uint8_t *at, const struct arch_instruction *in)
{
	if (in->flow == ARCH_FLOW_CALL_INDIRECT)
		return in->relative_at && at[0] == 0xff && at[1] == 0x15;
	if (in->flow == ARCH_FLOW_JUMP_REGISTER || in->flow == ARCH_FLOW_TRAP)
		return false;
	if (is_fixed_branch(in))
		return (at[in->opcode_at] & 0xfc) != 0xe0;
	return !in->is_landing_pad;
}

/* Are the bytes behind a short function padding that nobody executes? */
static bool is_padding(const uint8_t *at, size_t n_bytes, size_t n_readable)
{
	struct arch_instruction in;

	for (size_t i = 0; i < n_bytes; i += in.n_bytes) {
		if (!arch_instruction_decode(at + i, n_readable - i, &in) || !in.is_nop)
			return false;
	}
	return true;
}

const char *arch_detour_check(const uint8_t *function, size_t n_bytes, size_t n_readable,
			      struct arch_detour *ret)
{
	struct arch_detour d = {0};
	struct arch_instruction in;
	size_t at = 0, wanted;
	bool is_last = false; /* control does not go on behind the last instruction */

	if (arch_instruction_decode(function, n_bytes, &in) && in.is_landing_pad)
		at = in.n_bytes;
	d.jump_at = (uint8_t)at;
	wanted = at + ARCH_DETOUR_JUMP_BYTES;
	for (; at < wanted && at < n_bytes; at += in.n_bytes) {
		if (!arch_instruction_decode(function + at, n_bytes - at, &in))
			return "it begins with an instruction that the recorder does not know";
		if (!is_movable(function + at, &in))
			return "it begins with an instruction that cannot be moved";
		is_last = in.flow == ARCH_FLOW_JUMP || in.flow == ARCH_FLOW_JUMP_MEMORY ||
			  in.flow == ARCH_FLOW_RETURN;
	}
	if (at < wanted && (!is_last || n_readable < wanted ||
			    !is_padding(function + at, wanted - at, n_readable - at)))
		return "it is too short";
	d.end = (uint8_t)at;
	*ret = d;
	return arch_detour_check_part(function, n_bytes, function, ret);
}

const uint8_t *arch_detour_jump_target(const uint8_t *function, size_t n_bytes)
{
	struct arch_instruction in;
	size_t at = 0;

	if (!arch_instruction_decode(function, n_bytes, &in))
		return NULL;
	if (in.is_landing_pad) {
		at = in.n_bytes;
		if (!arch_instruction_decode(function + at, n_bytes - at, &in))
			return NULL;
	}
	return in.flow == ARCH_FLOW_JUMP ? target_of(function + at, &in) : NULL;
}

struct writer {
	uint8_t *at;
	bool is_out_of_reach;
};

static void put(struct writer *w, const void *bytes, size_t n_bytes)
{
	memcpy(w->at, bytes, n_bytes);
	w->at += n_bytes;
}

/* Puts the distance from the end of the field, n_behind bytes before the end of its instruction. */
static void put_relative(struct writer *w, const uint8_t *target, size_t n_behind)
{
	int64_t distance = target - (w->at + 4 + n_behind);
	int32_t field = (int32_t)distance;

	w->is_out_of_reach |= field != distance;
	put(w, &field, sizeof(field));
}

/* jmp *(next 8 bytes): reaches any address and changes no register. */
static void put_far_jump(struct writer *w, const void *target)
{
	put(w, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6);
	put(w, &target, sizeof(target));
}

/* A call that is not where it was: the callee must return to the function, and a walk of the stack
 * must find the function, so the return address is pushed as it would have been:
 * push $low half; movl $high half, 4(%rsp); jmp target, or jmp *target if target holds the address. */
static void put_call(struct writer *w, const uint8_t *back, const uint8_t *target, bool is_indirect)
{
	uint32_t half[2] = {(uint32_t)(uintptr_t)back, (uint32_t)((uintptr_t)back >> 32)};

	put(w, (const uint8_t[]){0x68}, 1);
	put(w, &half[0], 4);
	put(w, (const uint8_t[]){0xc7, 0x44, 0x24, 4}, 4);
	put(w, &half[1], 4);
	if (is_indirect)
		put(w, (const uint8_t[]){0xff, 0x25}, 2);
	else
		put(w, (const uint8_t[]){0xe9}, 1);
	put_relative(w, target, 0);
}

static void put_moved(struct writer *w, const uint8_t *at, const struct arch_instruction *in)
{
	const uint8_t *target = target_of(at, in);
	uint8_t opcode = at[in->opcode_at];

	if (in->flow == ARCH_FLOW_CALL || in->flow == ARCH_FLOW_CALL_INDIRECT) {
		put_call(w, at + in->n_bytes, target, in->flow == ARCH_FLOW_CALL_INDIRECT);
	} else if (in->flow == ARCH_FLOW_JUMP) {
		put(w, (const uint8_t[]){0xe9}, 1);
		put_relative(w, target, 0);
	} else if (in->flow == ARCH_FLOW_JUMP_IF) {
		put(w, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (opcode & 15))}, 2);
		put_relative(w, target, 0);
	} else if (in->relative_at) {
		put(w, at, in->relative_at);
		put_relative(w, target, in->n_bytes - in->relative_at - 4u);
		put(w, at + in->relative_at + 4, in->n_bytes - in->relative_at - 4u);
	} else {
		put(w, at, in->n_bytes);
	}
}

/* movabs $context, register of argument n */
static void put_context(struct writer *w, unsigned argument, const void *context)
{
	static const uint8_t opcode[ARCH_DETOUR_MAX_CONTEXT + 1][2] = {
		{0x48, 0xbf}, {0x48, 0xbe}, {0x48, 0xba}, {0x48, 0xb9}, {0x49, 0xb8}, {0x49, 0xb9},
	};

	put(w, opcode[argument], 2);
	put(w, &context, sizeof(context));
}

size_t arch_detour_write_stub(const uint8_t *function, const struct arch_detour *d, uint8_t *memory,
			      const void *hook, unsigned context_argument, const void *context)
{
	struct writer w = {.at = memory};
	struct arch_instruction in;
	size_t original;

	put_context(&w, context_argument, context);
	put_far_jump(&w, hook);
	original = (size_t)(w.at - memory);
	put(&w, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa}, 4);
	for (size_t at = d->jump_at; at < d->end; at += in.n_bytes) {
		if (!arch_instruction_decode(function + at, d->end - at, &in))
			return 0;
		put_moved(&w, function + at, &in);
	}
	put_far_jump(&w, function + d->end);
	return w.is_out_of_reach ? 0 : original;
}

void arch_detour_write_jump(const uint8_t *function, const struct arch_detour *d,
			    const uint8_t *stub, uint8_t bytes[ARCH_DETOUR_JUMP_BYTES])
{
	int32_t field = (int32_t)(stub - (function + d->jump_at + ARCH_DETOUR_JUMP_BYTES));

	bytes[0] = 0xe9;
	memcpy(bytes + 1, &field, sizeof(field));
}
