/* arch/x86_64/instruction.c - see instruction.h.
 *
 * An instruction is: prefixes, opcode, ModRM and SIB bytes, displacement, immediate. The opcode
 * tells whether a ModRM byte and an immediate follow. One table per opcode map holds a letter for
 * each opcode:
 *
 *	.  refused			P  nothing follows
 *	M  ModRM			b  ModRM, 1 byte	z  ModRM, 2 or 4 bytes
 *	i  1 byte			I  2 or 4 bytes		v  2, 4 or 8 bytes
 *	w  2 bytes (ret)		R  ret			T  trap
 *	s  conditional jump, 1 byte	j  conditional jump, 4 bytes
 *	l  loop, 1 byte			S  jump, 1 byte		J  jump, 4 bytes	C  call, 4 bytes
 *	#  depends on more than the opcode: special()
 */
#include "arch/x86_64/instruction.h"

#include <string.h>

static const char one_byte_map[] = "MMMMiI..MMMMiI.." /* 00 */
				   "MMMMiI..MMMMiI.." /* 10 */
				   "MMMMiI..MMMMiI.." /* 20 */
				   "MMMMiI..MMMMiI.." /* 30 */
				   "................" /* 40: REX, a prefix */
				   "PPPPPPPPPPPPPPPP" /* 50 */
				   "...M....Izib...." /* 60 */
				   "ssssssssssssssss" /* 70 */
				   "bz.bMMMMMMMM.#.#" /* 80 */
				   "PPPPPPPPPP.PPPPP" /* 90 */
				   "....PPPPiIPPPPPP" /* a0 */
				   "iiiiiiiivvvvvvvv" /* b0 */
				   "bbwR..##.P..T..." /* c0 */
				   "MMMM....MMMMMMMM" /* d0 */
				   "llll....CJ.S...." /* e0 */
				   "....TP##PP..PP##"; /* f0 */

static const char two_byte_map[] = ".#...P.....T.M.." /* 00 */
				   "MMMMMMMMMMMMMMMM" /* 10 */
				   "........MMMMMMMM" /* 20 */
				   ".P.............." /* 30 */
				   "MMMMMMMMMMMMMMMM" /* 40 */
				   "MMMMMMMMMMMMMMMM" /* 50 */
				   "MMMMMMMMMMMMMMMM" /* 60 */
				   "bbbbMMMP....MMMM" /* 70 */
				   "jjjjjjjjjjjjjjjj" /* 80 */
				   "MMMMMMMMMMMMMMMM" /* 90 */
				   "..PMbM.....MbMMM" /* a0 */
				   "MM.M..MM#.#MMMMM" /* b0 */
				   "MMb#bbb#PPPPPPPP" /* c0 */
				   "MMMMMMMMMMMMMMMM" /* d0 */
				   "MMMMMMMMMMMMMMMM" /* e0 */
				   "MMMMMMMMMMMMMMM."; /* f0 */

struct reader {
	const uint8_t *code;
	size_t n_bytes;
	size_t at;
	bool has_66, has_67, has_f2, has_f3, has_lock;
	uint8_t rex; /* 0: none */
	uint8_t modrm;
};

/* The next byte; 0 behind the end, where at shows that there was none. */
static uint8_t next_byte(struct reader *r)
{
	uint8_t value = r->at < r->n_bytes ? r->code[r->at] : 0;

	r->at++;
	return value;
}

/* Reads prefixes and gives the byte behind them. REX counts only as the last prefix, and compilers
 * put it nowhere else. */
static uint8_t read_prefixes(struct reader *r)
{
	for (;;) {
		uint8_t byte = next_byte(r);

		switch (byte) {
		case 0x66:
			r->has_66 = true;
			break;
		case 0x67:
			r->has_67 = true;
			break;
		case 0xf2:
			r->has_f2 = true;
			break;
		case 0xf3:
			r->has_f3 = true;
			break;
		case 0xf0:
			r->has_lock = true;
			break;
		case 0x2e:
		case 0x3e:
		case 0x64:
		case 0x65:
			break;
		default:
			if ((byte & 0xf0) != 0x40)
				return byte;
			r->rex = byte;
			return next_byte(r);
		}
		if (r->at > ARCH_INSTRUCTION_MAX_BYTES)
			return 0;
	}
}

/* Reads ModRM, SIB and the displacement. */
static void read_modrm(struct reader *r, struct arch_instruction *ret)
{
	unsigned mod, rm, base = 0;

	r->modrm = next_byte(r);
	mod = r->modrm >> 6;
	rm = r->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4)
		base = next_byte(r) & 7;
	if (mod == 0 && rm == 5) {
		ret->relative_at = (uint8_t)r->at;
		ret->relative_bytes = 4;
		r->at += 4;
	} else if (mod == 2 || (mod == 0 && rm == 4 && base == 5)) {
		r->at += 4;
	} else if (mod == 1) {
		r->at += 1;
	}
}

static unsigned immediate_bytes(const struct reader *r)
{
	return r->has_66 && !(r->rex & 8) ? 2 : 4;
}

/* A branch to a fixed target. What a 66 prefix does to it depends on the maker of the CPU, unless
 * REX.W overrides the prefix. */
static bool read_branch(struct reader *r, struct arch_instruction *ret, enum arch_flow flow,
			unsigned n_bytes)
{
	ret->flow = (uint8_t)flow;
	ret->relative_at = (uint8_t)r->at;
	ret->relative_bytes = (uint8_t)n_bytes;
	r->at += n_bytes;
	return !r->has_66 || (r->rex & 8);
}

/* Opcodes of the one-byte map whose ModRM byte selects the operation. */
static bool special_one_byte(struct reader *r, uint8_t opcode, struct arch_instruction *ret)
{
	unsigned reg;

	read_modrm(r, ret);
	reg = r->modrm >> 3 & 7;
	switch (opcode) {
	case 0x8d: /* lea */
		return r->modrm >> 6 != 3;
	case 0x8f: /* pop; others are XOP */
		return reg == 0;
	case 0xc6:
		r->at += 1;
		return reg == 0;
	case 0xc7:
		r->at += immediate_bytes(r);
		return reg == 0;
	case 0xf6:
		r->at += reg <= 1;
		return true;
	case 0xf7:
		r->at += reg <= 1 ? immediate_bytes(r) : 0;
		return true;
	case 0xfe:
		return reg <= 1;
	default: /* ff */
		if (reg == 2)
			ret->flow = ARCH_FLOW_CALL_INDIRECT;
		else if (reg == 4)
			ret->flow =
				ret->relative_at ? ARCH_FLOW_JUMP_MEMORY : ARCH_FLOW_JUMP_REGISTER;
		return reg != 3 && reg != 5 && reg != 7;
	}
}

/* The same of the two-byte map. */
static bool special_two_byte(struct reader *r, uint8_t opcode, struct arch_instruction *ret)
{
	unsigned reg;

	read_modrm(r, ret);
	reg = r->modrm >> 3 & 7;
	switch (opcode) {
	case 0x01: /* xgetbv, rdtscp */
		return r->modrm == 0xd0 || r->modrm == 0xf9;
	case 0xb8: /* popcnt */
		return r->has_f3;
	case 0xba: /* bt, bts, btr, btc */
		r->at += 1;
		return reg >= 4;
	case 0xc3: /* movnti */
		return r->modrm >> 6 != 3;
	default: /* c7: cmpxchg8b, cmpxchg16b, rdrand, rdseed */
		return r->modrm >> 6 == 3 ? reg >= 6 : reg == 1;
	}
}

static bool read_by_letter(struct reader *r, char letter, struct arch_instruction *ret)
{
	switch (letter) {
	case 'P':
		return true;
	case 'M':
		read_modrm(r, ret);
		return true;
	case 'b':
		read_modrm(r, ret);
		r->at += 1;
		return true;
	case 'z':
		read_modrm(r, ret);
		r->at += immediate_bytes(r);
		return true;
	case 'i':
		r->at += 1;
		return true;
	case 'I':
		r->at += immediate_bytes(r);
		return true;
	case 'v':
		r->at += r->rex & 8 ? 8 : immediate_bytes(r);
		return true;
	case 'w':
		r->at += 2;
		ret->flow = ARCH_FLOW_RETURN;
		return !r->has_66;
	case 'R':
		ret->flow = ARCH_FLOW_RETURN;
		return !r->has_66;
	case 'T':
		ret->flow = ARCH_FLOW_TRAP;
		return true;
	case 's':
	case 'l':
		return read_branch(r, ret, ARCH_FLOW_JUMP_IF, 1);
	case 'j':
		return read_branch(r, ret, ARCH_FLOW_JUMP_IF, 4);
	case 'S':
		return read_branch(r, ret, ARCH_FLOW_JUMP, 1);
	case 'J':
		return read_branch(r, ret, ARCH_FLOW_JUMP, 4);
	case 'C':
		return read_branch(r, ret, ARCH_FLOW_CALL, 4);
	default:
		return false;
	}
}

/* The opcode byte of the map (1: 0f, 2: 0f 38, 3: 0f 3a) and what follows, as VEX and EVEX have it:
 * there the maps hold nothing but vector and bit instructions. */
static bool read_vector(struct reader *r, unsigned map, struct arch_instruction *ret)
{
	uint8_t opcode;

	ret->opcode_at = (uint8_t)r->at;
	opcode = next_byte(r);
	if (r->has_66 || r->has_f2 || r->has_f3 || r->has_lock || r->rex)
		return false;
	if (map == 1 && opcode == 0x77)
		return true; /* vzeroupper */
	if (map < 1 || map > 3)
		return false;
	if (map == 1 && (opcode < 0x10 || (opcode >= 0x80 && opcode < 0x90)))
		return false;
	read_modrm(r, ret);
	if (map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
				      (opcode >= 0xc4 && opcode <= 0xc6))))
		r->at += 1;
	return true;
}

static bool read_vex(struct reader *r, uint8_t first, struct arch_instruction *ret)
{
	uint8_t payload = next_byte(r);

	if (first == 0xc5)
		return read_vector(r, 1, ret);
	if (first == 0xc4) {
		r->at++;
		return read_vector(r, payload & 0x1f, ret);
	}
	/* EVEX: one bit of each of the first two bytes is fixed */
	if ((payload & 8) || !(next_byte(r) & 4))
		return false;
	r->at++;
	return read_vector(r, payload & 7, ret);
}

static bool read_two_byte(struct reader *r, struct arch_instruction *ret)
{
	uint8_t opcode;
	char letter;

	ret->opcode_at = (uint8_t)r->at;
	opcode = next_byte(r);
	if (opcode == 0x38 || opcode == 0x3a) {
		ret->opcode_at = (uint8_t)r->at;
		r->at++;
		read_modrm(r, ret);
		r->at += opcode == 0x3a;
		return true;
	}
	letter = two_byte_map[opcode];
	if (letter == '#')
		return special_two_byte(r, opcode, ret);
	if (!read_by_letter(r, letter, ret))
		return false;
	ret->is_landing_pad = opcode == 0x1e && r->has_f3 && r->modrm == 0xfa && r->at == 4;
	ret->is_nop = opcode == 0x1f;
	return true;
}

bool arch_instruction_decode(const uint8_t *code, size_t n_bytes, struct arch_instruction *ret)
{
	struct reader r = {.code = code, .n_bytes = n_bytes};
	uint8_t first;
	bool is_known;

	*ret = (struct arch_instruction){.flow = ARCH_FLOW_NEXT};
	first = read_prefixes(&r);
	if (r.at > n_bytes || r.at > ARCH_INSTRUCTION_MAX_BYTES)
		return false;
	ret->opcode_at = (uint8_t)(r.at - 1);
	if (first == 0x0f)
		is_known = read_two_byte(&r, ret);
	else if (first == 0xc4 || first == 0xc5 || first == 0x62)
		is_known = read_vex(&r, first, ret);
	else if (one_byte_map[first] == '#')
		is_known = special_one_byte(&r, first, ret);
	else
		is_known = read_by_letter(&r, one_byte_map[first], ret);
	if (!is_known || r.at > n_bytes || r.at > ARCH_INSTRUCTION_MAX_BYTES)
		return false;
	ret->n_bytes = (uint8_t)r.at;
	ret->is_nop |= (first == 0x90 && !r.has_f3 && !(r.rex & 1)) || first == 0xcc;
	if (ret->relative_bytes == 1)
		ret->relative = (int8_t)code[ret->relative_at];
	else if (ret->relative_bytes == 4)
		memcpy(&ret->relative, code + ret->relative_at, sizeof(ret->relative));
	return true;
}
