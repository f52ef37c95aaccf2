/* Linked at a fixed address and with holes between its segments (see meson.build), like node and
 * other large programs: _dl_find_object() then tells of each segment as if it were an image. */
#include "harness/test.h"
#include "unwind/lookup_i.h"
#include "unwind/unwind_thread_i.h"
#include "unwind_walker.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

static int data = 1;

NOINLINE static uintptr_t code(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

/* What the test is about; if the linker stops making holes it must not pass for nothing. */
TEST(main_program_of_this_test_has_holes)
{
	struct image *im = modules_get(walker(), (uintptr_t)code, false);

	CHECK_NOT_NULL(im);
	CHECK_EQ(im->map.base, 0);
	CHECK(im->map.hdr < im->map.start || im->map.hdr >= im->map.end);
}

static void check_tables(struct image *im)
{
	const struct image_segment *s;

	CHECK_NOT_NULL(im);
	CHECK(im->is_permanent);
	s = image_segment_at(im, im->map.hdr);
	CHECK_NOT_NULL(s);
	CHECK(s->is_readable);
	s = image_segment_at(im, (uintptr_t)code);
	CHECK_NOT_NULL(s);
	CHECK(s->is_executable);
	s = image_segment_at(im, (uintptr_t)&data);
	CHECK_NOT_NULL(s);
	CHECK(!s->is_executable);
}

/* No table may be read through the kernel: that costs microseconds where a load costs nothing. */
TEST(main_program_tables_are_read_in_place)
{
	struct unwind_thread *ut = walker();

	check_tables(modules_get(ut, (uintptr_t)code, false));
	check_tables(modules_get(ut, (uintptr_t)code, true)); /* it will not go away, either */
	CHECK_EQ(lookup_find(ut, code(), false), LOOKUP_FDE);
	CHECK(ut->fde.ops.addr == (uintptr_t)ut->fde.ops.data);
	CHECK_EQ(lookup_find(ut, code(), true), LOOKUP_FDE);
	CHECK(ut->fde.ops.addr == (uintptr_t)ut->fde.ops.data);
	unwind_code_changing();
	ut->generation = unwind_generation();
	check_tables(modules_get(ut, (uintptr_t)code, true));
	unwind_code_changed();
}

TEST(main_program_is_one_module_with_a_build_id)
{
	struct unwind_module a;
	struct unwind_module b;

	walker();
	CHECK(unwind_find_module((uintptr_t)code, &a));
	CHECK(unwind_find_module((uintptr_t)&data, &b));
	CHECK_EQ(a.start, b.start);
	CHECK_EQ(a.end, b.end);
	CHECK(a.start <= (uintptr_t)code && a.end > (uintptr_t)&data);
	CHECK_NOT_NULL(a.build_id);
	CHECK_EQ(a.build_id_bytes, 20);
	CHECK_EQ(((const ElfW(Ehdr) *)a.start)->e_type, ET_EXEC);
}

TEST(main_program_code_is_known_to_stay)
{
	walker();
	CHECK(main_program_has_code((uintptr_t)code, 16));
	CHECK(!main_program_has_code((uintptr_t)&data, 8));
	CHECK(!main_program_has_code((uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version"), 16));
	CHECK(!main_program_has_code(0, 16));
	CHECK(!main_program_has_code((uintptr_t)code, SIZE_MAX));
}
