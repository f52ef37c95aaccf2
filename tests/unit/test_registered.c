#include "harness/test.h"
#include "unwind/tables_i.h"
#include "unwind/unwind.h"

#include <pthread.h>
#include <string.h>

#include "base/bytes.h"

#define N_TABLES 4096
#define CODE 0x7000000000ull
#define TABLE_BYTES 64

static unsigned char tables[N_TABLES + 1][TABLE_BYTES];
static struct eh_copy copy;

/* A CIE with absolute pointers and one FDE for [start, start + 16). */
static void make_table(unsigned char *p, uint64_t start)
{
	memset(p, 0, TABLE_BYTES);
	store_le32(p, 20);
	memcpy(p + 8, "\x01zR\0\x01\x78\x10\x01\x00\x0c\x07\x08", 12);
	store_le32(p + 24, 24);
	store_le32(p + 28, 28);
	store_le64(p + 32, start);
	store_le64(p + 40, 16);
	memcpy(p + 48, "\x00\x0e\x20", 3);
}

TEST(registered_tables_are_found_until_they_go)
{
	struct eh_fde fde;
	uint32_t before = unwind_generation();

	make_table(tables[0], CODE);
	make_table(tables[1], CODE + 0x100);
	CHECK(unwind_register_frames(tables[0]));
	CHECK(unwind_register_frames(tables[1]));
	CHECK_EQ(unwind_generation(), before);
	CHECK_EQ(registered_find(&copy, CODE, &fde), EH_FOUND);
	CHECK_EQ(fde.start, CODE);
	CHECK_EQ(registered_find(&copy, CODE + 15, &fde), EH_FOUND);
	CHECK_EQ(registered_find(&copy, CODE + 16, &fde), EH_NONE);
	CHECK_EQ(registered_find(&copy, CODE + 0x10f, &fde), EH_FOUND);
	CHECK_EQ(fde.start, CODE + 0x100);
	unwind_deregister_frames(tables[0]);
	CHECK(unwind_generation() > before);
	CHECK_EQ(registered_find(&copy, CODE, &fde), EH_NONE);
	CHECK_EQ(registered_find(&copy, CODE + 0x100, &fde), EH_FOUND);
	unwind_deregister_frames(tables[1]);
	CHECK_EQ(registered_find(&copy, CODE + 0x100, &fde), EH_NONE);
}

TEST(registered_tables_have_a_limit)
{
	struct eh_fde fde;

	for (unsigned i = 0; i <= N_TABLES; i++) {
		make_table(tables[i], CODE + i * 16);
		CHECK_EQ(unwind_register_frames(tables[i]), i < N_TABLES);
	}
	CHECK_EQ(registered_find(&copy, CODE + 4095 * 16 + 3, &fde), EH_FOUND);
	CHECK_EQ(registered_find(&copy, CODE + 4096 * 16 + 3, &fde), EH_NONE);
	unwind_deregister_frames(tables[7]);
	CHECK(unwind_register_frames(tables[N_TABLES]));
	CHECK_EQ(registered_find(&copy, CODE + 4096 * 16 + 3, &fde), EH_FOUND);
	for (unsigned i = 0; i <= N_TABLES; i++)
		unwind_deregister_frames(tables[i]);
	CHECK_EQ(registered_find(&copy, CODE + 3, &fde), EH_NONE);
}

TEST(registered_nonsense_is_refused)
{
	static unsigned char nothing[4];
	struct eh_fde fde;

	CHECK(!unwind_register_frames(NULL));
	CHECK(!unwind_register_frames(nothing));
	CHECK(!unwind_register_frames((void *)8)); /* not mapped */
	unwind_deregister_frames(NULL);
	unwind_deregister_frames(nothing);
	CHECK_EQ(registered_find(&copy, CODE, &fde), EH_NONE);
}

/* A target that freed its table too early gets no crash from us. */
TEST(registered_table_that_vanished_is_no_crash)
{
	unsigned char bytes[TABLE_BYTES];
	unsigned char *table;
	struct eh_fde fde;

	make_table(bytes, CODE);
	table = guard_buf_create(bytes, TABLE_BYTES);
	CHECK(unwind_register_frames(table));
	guard_buf_destroy(table, TABLE_BYTES);
	CHECK_EQ(registered_find(&copy, CODE, &fde), EH_BAD);
	unwind_deregister_frames(table);
}

static void *register_many(void *arg)
{
	unsigned char(*mine)[TABLE_BYTES] = arg;

	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 16; i++)
			unwind_register_frames(mine[i]);
		for (unsigned i = 0; i < 16; i++)
			unwind_deregister_frames(mine[i]);
	}
	return NULL;
}

TEST(registered_by_many_threads)
{
	pthread_t thread[4];
	struct eh_fde fde;

	for (unsigned i = 0; i < 64; i++)
		make_table(tables[i], CODE + i * 16);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, register_many, tables[i * 16]);
	for (unsigned i = 0; i < 1000; i++)
		registered_find(&copy, CODE + i, &fde);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(unwind_generation() & 1, 0);
	CHECK_EQ(registered_find(&copy, CODE, &fde), EH_NONE);
}
