#include "harness/test.h"
#include "unwind/tables_i.h"

#include <string.h>

#include "base/bytes.h"

#define N_FDES 3
#define HDR_BYTES (12 + 8 * N_FDES)
#define CIE_BYTES 32
#define FDE_BYTES 24
#define TABLE_BYTES (HDR_BYTES + CIE_BYTES + N_FDES * FDE_BYTES + 4)
#define CODE 0x100000u /* distance of the code from the table; nobody reads it */

/* A header, a CIE and three FDEs for [0x000, 0x020), [0x020, 0x060) and [0x100, 0x110) of the
 * code, in memory that ends at an unreadable page. */
struct table {
	unsigned char *bytes;
	uintptr_t addr;
	uintptr_t eh_frame;
	struct image_segment segment;
};

static const struct {
	uint32_t start;
	uint32_t size;
} functions[N_FDES] = {{0x000, 0x20}, {0x020, 0x40}, {0x100, 0x10}};

static void write_cie(unsigned char *p, const char *augmentation, const void *data, uint8_t n)
{
	unsigned char *start = p;
	size_t n_letters = strlen(augmentation) + 1;

	memset(p, 0, CIE_BYTES);
	store_le32(p, CIE_BYTES - 4);
	p[8] = 1; /* version */
	memcpy(p + 9, augmentation, n_letters);
	p += 9 + n_letters;
	*p++ = 1; /* code alignment */
	*p++ = 0x78; /* data alignment: -8 */
	*p++ = ARCH_REG_PC;
	if (augmentation[0] == 'z') {
		*p++ = n;
		memcpy(p, data, n);
		p += n;
	}
	if (p + 3 <= start + CIE_BYTES)
		memcpy(p, "\x0c\x07\x08", 3);
}

static struct table table_create(void)
{
	struct table t = {.bytes = guard_buf_create(NULL, TABLE_BYTES)};
	unsigned char *p = t.bytes;

	t.addr = (uintptr_t)p;
	t.eh_frame = t.addr + HDR_BYTES;
	t.segment = (struct image_segment){{t.addr, t.addr + TABLE_BYTES}, true, false};
	memcpy(p, "\x01\x1b\x03\x3b", 4);
	store_le32(p + 4, HDR_BYTES - 4);
	store_le32(p + 8, N_FDES);
	write_cie(p + HDR_BYTES, "zR", "\x1b", 1);
	for (uint32_t i = 0; i < N_FDES; i++) {
		uint32_t at = HDR_BYTES + CIE_BYTES + i * FDE_BYTES;

		store_le32(p + 12 + 8 * i, CODE + functions[i].start);
		store_le32(p + 16 + 8 * i, at);
		store_le32(p + at, FDE_BYTES - 4);
		store_le32(p + at + 4, at + 4 - HDR_BYTES);
		store_le32(p + at + 8, CODE + functions[i].start - (at + 8));
		store_le32(p + at + 12, functions[i].size);
		p[at + 16] = 0; /* no augmentation data */
		p[at + 17] = 0x41;
		p[at + 18] = 0x0e;
		p[at + 19] = (uint8_t)(16 + 8 * i);
	}
	return t;
}

static void table_destroy(struct table *t)
{
	guard_buf_destroy(t->bytes, TABLE_BYTES);
}

static enum eh_result find(const struct table *t, uint32_t pc, struct eh_fde *ret)
{
	struct eh_reader r = {&t->segment, 1, NULL};

	return eh_frame_find(&r, t->addr, t->addr + CODE + pc, ret);
}

static enum eh_result scan(const struct table *t, uint32_t pc, struct eh_fde *ret)
{
	struct eh_reader r = {&t->segment, 1, NULL};

	return eh_frame_scan(&r, t->eh_frame, t->addr + CODE + pc, ret);
}

/* Asks in all ways: sorted table, whole table, and both by copies. They must agree. */
static enum eh_result find_all_ways(const struct table *t, uint32_t pc, struct eh_fde *ret)
{
	static struct eh_copy copy;
	struct eh_reader by_copy = {.copy = &copy};
	enum eh_result found = find(t, pc, ret);
	struct eh_fde other;

	copy.search = (struct memory_range){0, 0};
	CHECK_EQ(scan(t, pc, &other), found);
	CHECK_EQ(eh_frame_find(&by_copy, t->addr, t->addr + CODE + pc, &other), found);
	if (found == EH_FOUND) {
		CHECK_EQ(other.start, ret->start);
		CHECK_EQ(other.ops.len, ret->ops.len);
		CHECK_EQ(other.ops.addr, ret->ops.addr);
		CHECK_MEM_EQ(other.ops.data, ret->ops.data, ret->ops.len);
		CHECK_MEM_EQ(other.cie_ops.data, ret->cie_ops.data, ret->cie_ops.len);
	}
	copy.search = (struct memory_range){0, 0};
	CHECK_EQ(eh_frame_scan(&by_copy, t->eh_frame, t->addr + CODE + pc, &other), found);
	return found;
}

TEST(eh_frame_finds_every_address_and_no_other)
{
	struct table t = table_create();
	struct eh_fde fde;

	for (uint32_t pc = 0; pc < 0x120; pc++) {
		bool is_covered = pc < 0x60 || (pc >= 0x100 && pc < 0x110);

		CHECK_EQ(find_all_ways(&t, pc, &fde), is_covered ? EH_FOUND : EH_NONE);
		if (!is_covered)
			continue;
		CHECK(t.addr + CODE + pc >= fde.start && t.addr + CODE + pc < fde.end);
		CHECK_EQ(fde.ops.data[2], pc < 0x20 ? 16 : pc < 0x60 ? 24 : 32);
		CHECK_EQ(fde.code_align, 1);
		CHECK_EQ(fde.data_align, -8);
		CHECK(!fde.is_signal);
	}
	CHECK_EQ(find(&t, (uint32_t)-1, &fde), EH_NONE);
	table_destroy(&t);
}

TEST(eh_frame_without_sorted_table_is_read_through)
{
	struct table t = table_create();
	struct eh_fde fde;

	t.bytes[2] = 0xff;
	t.bytes[3] = 0xff;
	CHECK_EQ(find(&t, 0x25, &fde), EH_FOUND);
	CHECK_EQ(fde.start, t.addr + CODE + 0x20);
	CHECK_EQ(find(&t, 0x65, &fde), EH_NONE);
	table_destroy(&t);
}

TEST(eh_frame_augmentations)
{
	struct table t = table_create();
	unsigned char *cie = t.bytes + HDR_BYTES;
	struct eh_fde fde;

	write_cie(cie, "zRS", "\x1b", 1);
	CHECK_EQ(find(&t, 0, &fde), EH_FOUND);
	CHECK(fde.is_signal);
	write_cie(cie, "zPLR", "\x9b\x01\x02\x03\x04\x1b\x1b", 7);
	CHECK_EQ(find(&t, 0, &fde), EH_FOUND);
	CHECK_EQ(fde.pc_encoding, 0x1b);
	write_cie(cie, "zQR", "\x1b", 1); /* unknown letter */
	CHECK_EQ(find(&t, 0, &fde), EH_BAD);
	write_cie(cie, "zR", "\x1b", 1);
	cie[15] = 200; /* length of the augmentation: past the end of the record */
	CHECK_EQ(find(&t, 0, &fde), EH_BAD);
	write_cie(cie, "eh", "", 0); /* gcc 2 */
	CHECK_EQ(find(&t, 0, &fde), EH_BAD);
	table_destroy(&t);
}

TEST(eh_frame_encodings_that_code_never_has_are_refused)
{
	static const uint8_t encodings[] = {0x9b,
					    /* indirect */ 0x2b,
					    /* textrel */ 0x3b,
					    /* datarel */ 0x50,
					    /* aligned */ 0xff,
					    0x05};
	struct table t = table_create();
	struct eh_fde fde;

	for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
		write_cie(t.bytes + HDR_BYTES, "zR", &encodings[i], 1);
		CHECK_EQ(find(&t, 0, &fde), EH_BAD);
	}
	table_destroy(&t);
}

TEST(eh_frame_damage_is_noticed)
{
	static const struct {
		size_t at;
		uint32_t value;
	} damage[] = {
		{HDR_BYTES + CIE_BYTES, 0xffffffff}, /* length: 64-bit form */
		{HDR_BYTES + CIE_BYTES, 0x7fffffff}, /* past the end */
		{HDR_BYTES + CIE_BYTES, 3}, /* too short */
		{HDR_BYTES + CIE_BYTES + 4, 0}, /* an FDE that is a CIE */
		{HDR_BYTES + CIE_BYTES + 4, 0x7fffffff}, /* CIE far away */
		{HDR_BYTES + CIE_BYTES + 4, 8}, /* CIE that is not one */
		{16, 0x7ffffff0}, /* sorted table leads out */
		{HDR_BYTES + 8, 2}, /* CIE version */
	};

	for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
		struct table t = table_create();
		struct eh_fde fde;

		store_le32(t.bytes + damage[i].at, damage[i].value);
		CHECK_EQ(find(&t, 0, &fde), EH_BAD);
		table_destroy(&t);
	}
}

TEST(eh_frame_every_cut_is_survived)
{
	struct table t = table_create();

	for (size_t n = 0; n < TABLE_BYTES; n++) {
		unsigned char *cut = guard_buf_create(t.bytes, n);
		struct image_segment s = {{(uintptr_t)cut, (uintptr_t)cut + n}, true, false};
		struct eh_reader r = {&s, 1, NULL};
		struct memory_range range;
		struct eh_fde fde;

		eh_frame_find(&r, (uintptr_t)cut, (uintptr_t)cut + CODE, &fde);
		eh_frame_scan(&r, (uintptr_t)cut + HDR_BYTES, (uintptr_t)cut + CODE + 0x108, &fde);
		eh_frame_gap(&r, (uintptr_t)cut, (uintptr_t)cut + CODE + 0x70, &range);
		eh_frame_extent(&r, (uintptr_t)cut + HDR_BYTES, &range);
		guard_buf_destroy(cut, n);
	}
	table_destroy(&t);
}

TEST(eh_frame_unreadable_segment_is_not_read)
{
	struct table t = table_create();
	struct eh_fde fde;

	t.segment.is_readable = false;
	CHECK_EQ(find(&t, 0, &fde), EH_BAD);
	table_destroy(&t);
}

TEST(eh_frame_gap_ends_at_its_neighbours)
{
	struct table t = table_create();
	struct eh_reader r = {&t.segment, 1, NULL};
	struct memory_range gap;

	CHECK(eh_frame_gap(&r, t.addr, t.addr + CODE + 0x70, &gap));
	CHECK_EQ(gap.lo, t.addr + CODE + 0x60);
	CHECK_EQ(gap.hi, t.addr + CODE + 0x100);
	CHECK(eh_frame_gap(&r, t.addr, t.addr + CODE + 0x200, &gap));
	CHECK_EQ(gap.lo, t.addr + CODE + 0x110);
	CHECK_EQ(gap.hi, UINTPTR_MAX);
	CHECK(eh_frame_gap(&r, t.addr, t.addr + CODE - 1, &gap));
	CHECK_EQ(gap.lo, 0);
	CHECK_EQ(gap.hi, t.addr + CODE);
	CHECK(!eh_frame_gap(&r, t.addr, t.addr + CODE + 0x10, &gap)); /* covered */
	table_destroy(&t);
}

TEST(eh_frame_extent_spans_all_functions)
{
	struct table t = table_create();
	struct eh_reader r = {&t.segment, 1, NULL};
	struct memory_range range;

	CHECK(eh_frame_extent(&r, t.eh_frame, &range));
	CHECK_EQ(range.lo, t.addr + CODE);
	CHECK_EQ(range.hi, t.addr + CODE + 0x110);
	CHECK(!eh_frame_extent(&r, t.addr + TABLE_BYTES - 4, &range)); /* only the end mark */
	table_destroy(&t);
}
