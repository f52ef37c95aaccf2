/* Names of JIT code. */
#include "harness/test.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "symbol/perf_map.h"

static const char *name_at(struct perf_map *m, uint64_t addr, uint64_t time_ns)
{
	struct symbol_frame f;

	return perf_map_resolve(m, addr, time_ns, &f) ? f.function : NULL;
}

static void add_text(struct perf_map *m, const char *text)
{
	struct err err = {0};
	size_t len = strlen(text);
	unsigned char *guarded = guard_buf_create(text, len);

	CHECK_OK(perf_map_add_text(m, (char *)guarded, len, &err));
	guard_buf_destroy(guarded, len);
}

static struct perf_map *create(void)
{
	struct perf_map *m = NULL;
	struct err err = {0};

	CHECK_OK(perf_map_create(&m, &err));
	return m;
}

TEST(a_map_names_its_ranges)
{
	struct perf_map *m = create();

	add_text(m, "1000 10 LazyCompile:~foo app.js:1\n"
		    "0x2000 20 _Z3bari\r\n"
		    "3000 8 last");
	CHECK_NULL(name_at(m, 0xfff, 0));
	CHECK_STR_EQ(name_at(m, 0x1000, 0), "LazyCompile:~foo app.js:1");
	CHECK_STR_EQ(name_at(m, 0x100f, 99), "LazyCompile:~foo app.js:1");
	CHECK_NULL(name_at(m, 0x1010, 0));
	CHECK_STR_EQ(name_at(m, 0x2001, 0), "bar(int)");
	CHECK_STR_EQ(name_at(m, 0x3007, 0), "last");
	CHECK_EQ(perf_map_n_functions(m), 3);
	CHECK_EQ(perf_map_n_bad(m), 0);
	perf_map_destroy(m);
}

TEST(bad_lines_are_skipped_and_counted)
{
	struct perf_map *m = create();

	add_text(m, "hello\n\n1000\n1000 10\n1000 10 \nxyz 10 a\n1000 zz a\n"
		    "11112222333344445 1 too_long\nfffffffffffffff0 20 wraps\n1000 10 good\n");
	CHECK_EQ(perf_map_n_bad(m), 8);
	CHECK_EQ(perf_map_n_functions(m), 1);
	CHECK_STR_EQ(name_at(m, 0x1000, 0), "good");
	perf_map_destroy(m);
}

TEST(of_overlapping_ranges_the_later_line_wins)
{
	struct perf_map *m = create();

	add_text(m, "1000 1000 wide\n1100 10 old\n1100 10 new\n");
	CHECK_STR_EQ(name_at(m, 0x10ff, 0), "wide");
	CHECK_STR_EQ(name_at(m, 0x1100, 0), "new");
	CHECK_STR_EQ(name_at(m, 0x1110, 0), "wide");
	CHECK_STR_EQ(name_at(m, 0x1fff, 0), "wide");
	add_text(m, "1000 1000 wider\n"); /* also after it was asked */
	CHECK_STR_EQ(name_at(m, 0x1100, 0), "wider");
	perf_map_destroy(m);
}

/* A jitdump file in the making. */
struct dump {
	uint8_t bytes[4096];
	size_t len;
};

static void put32(struct dump *d, uint32_t v)
{
	store_le32(d->bytes + d->len, v);
	d->len += 4;
}

static void put64(struct dump *d, uint64_t v)
{
	store_le64(d->bytes + d->len, v);
	d->len += 8;
}

static void put_text(struct dump *d, const char *text)
{
	strcpy((char *)d->bytes + d->len, text);
	d->len += strlen(text) + 1;
}

static void put_header(struct dump *d, uint64_t flags)
{
	*d = (struct dump){.len = 0};
	put32(d, 0x4a695444);
	put32(d, 1);
	put32(d, 40);
	put32(d, 62); /* EM_X86_64 */
	put32(d, 0);
	put32(d, 1234);
	put64(d, 0);
	put64(d, flags);
}

static size_t begin_record(struct dump *d, uint32_t kind, uint64_t time_ns)
{
	size_t at = d->len;

	put32(d, kind);
	put32(d, 0);
	put64(d, time_ns);
	return at;
}

static void end_record(struct dump *d, size_t at)
{
	store_le32(d->bytes + at + 4, (uint32_t)(d->len - at));
}

static void put_load(struct dump *d, uint64_t time_ns, uint64_t addr, uint64_t index,
		     const char *name)
{
	size_t at = begin_record(d, 0, time_ns);

	put32(d, 1234);
	put32(d, 1234);
	put64(d, addr);
	put64(d, addr);
	put64(d, 16);
	put64(d, index);
	put_text(d, name);
	d->len += 16; /* the code */
	end_record(d, at);
}

static void put_move(struct dump *d, uint64_t time_ns, uint64_t from, uint64_t to, uint64_t index)
{
	size_t at = begin_record(d, 1, time_ns);

	put32(d, 1234);
	put32(d, 1234);
	put64(d, to);
	put64(d, from);
	put64(d, to);
	put64(d, 16);
	put64(d, index);
	end_record(d, at);
}

static void put_lines(struct dump *d, uint64_t addr)
{
	size_t at = begin_record(d, 2, 0);

	put64(d, addr);
	put64(d, 2);
	put64(d, addr);
	put32(d, 10);
	put32(d, 0);
	put_text(d, "app.lua");
	put64(d, addr + 8);
	put32(d, 11);
	put32(d, 0);
	put_text(d, "\xff");
	end_record(d, at);
}

static int add_dump(struct perf_map *m, const struct dump *d, size_t len)
{
	struct err err = {0};
	unsigned char *guarded = guard_buf_create(d->bytes, len);
	int r = perf_map_add_jitdump(m, guarded, len, &err);

	guard_buf_destroy(guarded, len);
	return r;
}

TEST(jitdump_knows_what_was_where_when)
{
	struct perf_map *m = create();
	struct dump d;

	put_header(&d, 0);
	put_load(&d, 100, 0x1000, 1, "first");
	put_load(&d, 200, 0x1000, 2, "second");
	put_move(&d, 300, 0x1000, 0x5000, 2);
	end_record(&d, begin_record(&d, 3, 400));
	CHECK_OK(add_dump(m, &d, d.len));
	CHECK_EQ(perf_map_n_bad(m), 0);
	CHECK_STR_EQ(name_at(m, 0x1008, 50), "first");
	CHECK_STR_EQ(name_at(m, 0x1008, 150), "first");
	CHECK_STR_EQ(name_at(m, 0x1008, 200), "second");
	CHECK_STR_EQ(name_at(m, 0x5008, 350), "second");
	CHECK_NULL(name_at(m, 0x1010, 150));
	perf_map_destroy(m);
}

TEST(jitdump_lines_follow_the_code)
{
	struct perf_map *m = create();
	struct symbol_frame f;
	struct dump d;

	put_header(&d, 0);
	put_lines(&d, 0x1000);
	put_load(&d, 100, 0x1000, 1, "f");
	put_load(&d, 100, 0x2000, 2, "g");
	put_move(&d, 200, 0x1000, 0x7000, 1);
	CHECK_OK(add_dump(m, &d, d.len));
	CHECK(perf_map_resolve(m, 0x1007, 100, &f));
	CHECK_STR_EQ(f.source, "app.lua");
	CHECK_EQ(f.line, 10);
	CHECK(perf_map_resolve(m, 0x7009, 200, &f));
	CHECK_STR_EQ(f.function, "f");
	CHECK_STR_EQ(f.source, "app.lua");
	CHECK_EQ(f.line, 11);
	CHECK(perf_map_resolve(m, 0x2000, 200, &f));
	CHECK_NULL(f.source);
	CHECK_EQ(f.line, 0);
	perf_map_destroy(m);
}

TEST(jitdump_times_in_cycles_are_left_alone)
{
	struct perf_map *m = create();
	struct dump d;

	put_header(&d, 1);
	put_load(&d, 1000000, 0x1000, 1, "a");
	put_load(&d, 500000, 0x1000, 1, "b");
	CHECK_OK(add_dump(m, &d, d.len));
	CHECK_STR_EQ(name_at(m, 0x1000, 0), "b");
	perf_map_destroy(m);
}

TEST(jitdump_cut_anywhere_gives_what_is_whole)
{
	struct dump d;
	size_t first, second;

	put_header(&d, 0);
	put_lines(&d, 0x1000);
	put_load(&d, 100, 0x1000, 1, "f");
	first = d.len;
	put_load(&d, 100, 0x2000, 2, "g");
	second = d.len;
	put_move(&d, 100, 0x2000, 0x3000, 2);
	for (size_t len = 4; len <= d.len; len++) {
		struct perf_map *m = create();

		CHECK_OK(add_dump(m, &d, len));
		CHECK_EQ(perf_map_n_functions(m),
			 (len >= first) + (len >= second) + (len == d.len));
		perf_map_destroy(m);
	}
}

TEST(another_file_is_not_a_jitdump)
{
	struct perf_map *m = create();
	struct dump d = {.bytes = "\x7f"
				  "ELF"};

	CHECK_ERR(add_dump(m, &d, 100), ERR_FOREIGN);
	CHECK_ERR(add_dump(m, &d, 0), ERR_FOREIGN);
	perf_map_destroy(m);
}

/* An image with one section of code at 0x5000 and the function f at offset 16 of it. */
struct elf_image {
	Elf64_Ehdr head;
	Elf64_Shdr section[4];
	Elf64_Sym symbol[2];
	char names[8];
};

static struct elf_image make_image(unsigned type)
{
	struct elf_image im = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			 .e_type = (Elf64_Half)type,
			 .e_shoff = offsetof(struct elf_image, section),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4},
		.section = {[1] = {.sh_type = SHT_PROGBITS, .sh_addr = 0x5000, .sh_size = 64},
			    [2] = {.sh_type = SHT_SYMTAB,
				   .sh_offset = offsetof(struct elf_image, symbol),
				   .sh_size = 2 * sizeof(Elf64_Sym),
				   .sh_link = 3},
			    [3] = {.sh_type = SHT_STRTAB,
				   .sh_offset = offsetof(struct elf_image, names),
				   .sh_size = 8}},
		.symbol = {[1] = {.st_name = 1,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = 1,
				  .st_value = 16,
				  .st_size = 32}},
		.names = "\0inc",
	};

	return im;
}

TEST(an_elf_image_names_its_functions_from_its_time_on)
{
	struct elf_image rel = make_image(ET_REL), dyn = make_image(ET_DYN);
	struct perf_map *m = create();
	struct err err = {0};

	CHECK_OK(perf_map_add_elf(m, &rel, sizeof(rel), 100, &err));
	CHECK_STR_EQ(name_at(m, 0x5010, 200), "inc");
	CHECK(!name_at(m, 0x500f, 200));
	CHECK(!name_at(m, 0x5030, 200));
	memcpy(rel.names, "\0new", 5);
	CHECK_OK(perf_map_add_elf(m, &rel, sizeof(rel), 300, &err));
	CHECK_STR_EQ(name_at(m, 0x5010, 200), "inc");
	CHECK_STR_EQ(name_at(m, 0x5010, 300), "new");
	dyn.symbol[1].st_value = 0x7000;
	CHECK_OK(perf_map_add_elf(m, &dyn, sizeof(dyn), 100, &err));
	CHECK_STR_EQ(name_at(m, 0x7000, 100), "inc");
	dyn.section[1].sh_addr = 0x9000; /* as wasmtime has it */
	dyn.symbol[1].st_value = 16;
	CHECK_OK(perf_map_add_elf(m, &dyn, sizeof(dyn), 100, &err));
	CHECK_STR_EQ(name_at(m, 0x9010, 100), "inc");
	perf_map_destroy(m);
}

/* Whatever one byte of it is, and wherever it is cut off. */
TEST(an_elf_image_that_is_damaged_is_no_crash)
{
	struct elf_image good = make_image(ET_REL);
	struct perf_map *m = create();
	struct err err = {0};

	CHECK_EQ(perf_map_add_elf(m, "no", 2, 0, &err), -ERR_FOREIGN);
	for (size_t i = 0; i < sizeof(good); i++) {
		unsigned char *guarded = guard_buf_create(&good, sizeof(good));

		guarded[i] ^= 0xff;
		perf_map_add_elf(m, guarded, sizeof(good), 0, &err);
		guard_buf_destroy(guarded, sizeof(good));
		guarded = guard_buf_create(&good, i);
		perf_map_add_elf(m, guarded, i, 0, &err);
		guard_buf_destroy(guarded, i);
	}
	perf_map_destroy(m);
}
