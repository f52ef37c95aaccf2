/* The decoder of instructions, held against a disassembler on the code of real libraries. */
#include "arch/arch.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"

static struct arch_instruction decode(const char *bytes, size_t n_bytes)
{
	unsigned char *code = guard_buf_create(bytes, n_bytes);
	struct arch_instruction in;

	CHECK(arch_instruction_decode(code, n_bytes, &in));
	CHECK_EQ(in.n_bytes, n_bytes);
	/* cut short it is refused, and nothing behind the end is read */
	for (size_t n = 0; n < n_bytes; n++) {
		unsigned char *cut = guard_buf_create(bytes, n);
		struct arch_instruction other;

		CHECK(!arch_instruction_decode(cut, n, &other));
		guard_buf_destroy(cut, n);
	}
	guard_buf_destroy(code, n_bytes);
	return in;
}

#define DECODE(text) decode(text, sizeof(text) - 1)

TEST(control_flow_is_known)
{
	CHECK_EQ(DECODE("\x55").flow, ARCH_FLOW_NEXT);
	CHECK_EQ(DECODE("\x48\x83\xec\x18").flow, ARCH_FLOW_NEXT);
	CHECK_EQ(DECODE("\xe9\x10\x00\x00\x00").flow, ARCH_FLOW_JUMP);
	CHECK_EQ(DECODE("\xeb\xfe").relative, -2);
	CHECK_EQ(DECODE("\x0f\x84\x10\x00\x00\x00").flow, ARCH_FLOW_JUMP_IF);
	CHECK_EQ(DECODE("\x67\xe8\x10\x00\x00\x00").flow, ARCH_FLOW_CALL);
	CHECK_EQ(DECODE("\xff\xe0").flow, ARCH_FLOW_JUMP_REGISTER);
	CHECK_EQ(DECODE("\x3e\xff\xe0").flow, ARCH_FLOW_JUMP_REGISTER);
	CHECK_EQ(DECODE("\xff\x25\x10\x00\x00\x00").flow, ARCH_FLOW_JUMP_MEMORY);
	CHECK_EQ(DECODE("\xff\x50\x10").flow, ARCH_FLOW_CALL_INDIRECT);
	CHECK_EQ(DECODE("\xf3\xc3").flow, ARCH_FLOW_RETURN);
	CHECK_EQ(DECODE("\x0f\x0b").flow, ARCH_FLOW_TRAP);
}

TEST(relative_addresses_are_found)
{
	struct arch_instruction in = DECODE("\x48\x8b\x05\x78\x56\x34\x12");

	CHECK_EQ(in.relative_at, 3);
	CHECK_EQ(in.relative, 0x12345678);
	in = DECODE("\x83\x3d\x78\x56\x34\x12\x00"); /* an immediate follows */
	CHECK_EQ(in.relative_at, 2);
	CHECK_EQ(DECODE("\x48\x8b\x04\x25\x78\x56\x34\x12").relative_at, 0);
	CHECK(DECODE("\xf3\x0f\x1e\xfa").is_landing_pad);
}

TEST(what_is_not_known_is_refused)
{
	static const char *const bad[] = {"\x06",    "\xcd\x80",     "\x66\xe9\x10\x00\x00\x00",
					  "\x9a",    "\x0f\x01\xc1", "\xc7\xf8\x00\x00\x00\x00",
					  "\xff\xff"};
	struct arch_instruction in;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		CHECK(!arch_instruction_decode((const uint8_t *)bad[i], 6, &in));
}

#if HAS_CAPSTONE
#include <capstone/capstone.h>

struct tally {
	size_t n, n_refused, n_different;
};

static bool has_group(csh handle, const cs_insn *in, unsigned group)
{
	return cs_insn_group(handle, in, group);
}

/* Do both say the same about where control goes and what is relative? */
static bool is_same_flow(csh handle, const cs_insn *in, const struct arch_instruction *x)
{
	const cs_x86 *detail = &in->detail->x86;
	bool is_fixed = detail->op_count == 1 && detail->operands[0].type == X86_OP_IMM;
	bool is_branch = has_group(handle, in, CS_GRP_JUMP) || has_group(handle, in, CS_GRP_CALL);
	bool is_rip = false;

	for (unsigned i = 0; i < detail->op_count; i++)
		is_rip |= detail->operands[i].type == X86_OP_MEM &&
			  (detail->operands[i].mem.base == X86_REG_RIP ||
			   detail->operands[i].mem.base == X86_REG_EIP);
	if (has_group(handle, in, CS_GRP_RET))
		return x->flow == ARCH_FLOW_RETURN;
	if (is_branch && is_fixed)
		return (x->flow == ARCH_FLOW_JUMP || x->flow == ARCH_FLOW_JUMP_IF ||
			x->flow == ARCH_FLOW_CALL) &&
		       (uint64_t)detail->operands[0].imm ==
			       in->address + in->size + (uint64_t)(int64_t)x->relative;
	if (is_branch)
		return (x->flow == ARCH_FLOW_JUMP_REGISTER || x->flow == ARCH_FLOW_JUMP_MEMORY ||
			x->flow == ARCH_FLOW_CALL_INDIRECT) &&
		       is_rip == (x->relative_at != 0);
	return (x->flow == ARCH_FLOW_NEXT || x->flow == ARCH_FLOW_TRAP) &&
	       is_rip == (x->relative_at != 0);
}

static void compare_code(csh handle, cs_insn *in, const uint8_t *code, size_t n_bytes,
			 uint64_t addr, struct tally *tally)
{
	while (n_bytes) {
		const uint8_t *here = code;
		size_t n_here = n_bytes;
		struct arch_instruction x;
		bool is_known = arch_instruction_decode(here, n_here, &x);

		if (!cs_disasm_iter(handle, &code, &n_bytes, &addr, in)) {
			code++;
			n_bytes--;
			addr++;
			continue;
		}
		tally->n++;
		tally->n_refused += !is_known;
		if (!is_known || (x.n_bytes == in->size && is_same_flow(handle, in, &x)))
			continue;
		if (tally->n_different++ < 10)
			fprintf(stderr, "%s %s: %u bytes, here %u\n", in->mnemonic, in->op_str,
				in->size, x.n_bytes);
	}
}

/* All functions that the library's tables name. */
static void compare_file(const char *path, struct tally *tally)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	const uint8_t *data;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *section;
	cs_insn *in;
	csh handle;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(data != MAP_FAILED);
	close(fd);
	CHECK_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	in = cs_malloc(handle);
	head = (const void *)data;
	section = (const void *)(data + head->e_shoff);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbol = (const void *)(data + section[i].sh_offset);

		if (section[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t k = 0; k < section[i].sh_size / sizeof(*symbol); k++) {
			const Elf64_Shdr *s = &section[symbol[k].st_shndx];

			if (ELF64_ST_TYPE(symbol[k].st_info) != STT_FUNC ||
			    symbol[k].st_shndx == SHN_UNDEF || symbol[k].st_shndx >= head->e_shnum)
				continue;
			compare_code(handle, in,
				     data + s->sh_offset + (symbol[k].st_value - s->sh_addr),
				     symbol[k].st_size, symbol[k].st_value, tally);
		}
	}
	cs_free(in, 1);
	cs_close(&handle);
	munmap((void *)(uintptr_t)data, (size_t)st.st_size);
}

TEST(functions_of_real_libraries_decode_as_a_disassembler_says)
{
	static const char *const names[] = {
		"libc.so.6",        "libstdc++.so.6",           "libm.so.6",
		"libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2",
		"libcapstone.so.4"};
	struct tally tally = {0};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[300] = "/usr/lib/x86_64-linux-gnu/";

		strcat(path, names[i]);
		if (access(path, R_OK) == 0)
			compare_file(path, &tally);
		else
			CHECK(getenv("MP_MAY_SKIP"));
	}
	fprintf(stderr, "%zu instructions, %zu refused\n", tally.n, tally.n_refused);
	CHECK(tally.n > 300000);
	CHECK_EQ(tally.n_different, 0);
	CHECK(tally.n_refused < tally.n / 5000);
}

/* Of bytes without sense the decoder refuses more than the disassembler, and never differs. */
TEST(random_bytes_are_refused_or_decode_as_a_disassembler_says)
{
	struct tally tally = {0};
	cs_insn *in;
	csh handle;

	CHECK_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	in = cs_malloc(handle);
	srandom(1);
	for (unsigned i = 0; i < 300000; i++) {
		uint8_t code[16];
		const uint8_t *at = code;
		struct arch_instruction x;
		uint64_t addr = 0x400000;
		size_t n = sizeof(code);

		for (unsigned k = 0; k < sizeof(code); k++)
			code[k] = (uint8_t)(random() >> 8);
		if (!arch_instruction_decode(code, n, &x) ||
		    !cs_disasm_iter(handle, &at, &n, &addr, in))
			continue;
		tally.n++;
		if (x.n_bytes != in->size && tally.n_different++ < 10)
			fprintf(stderr, "%02x %02x %02x %02x %s %s: %u bytes, here %u\n", code[0],
				code[1], code[2], code[3], in->mnemonic, in->op_str, in->size,
				x.n_bytes);
	}
	cs_free(in, 1);
	cs_close(&handle);
	CHECK(tally.n > 100000);
	CHECK_EQ(tally.n_different, 0);
}
#else
TEST(libcapstone_is_there)
{
	CHECK(getenv("MP_MAY_SKIP")); /* tools/install-deps.sh brings libcapstone-dev */
}
#endif
