#include "harness/test.h"
#include "unwind/unwind_thread_i.h"
#include "unwind_walker.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void check_find(void)
{
	uintptr_t own = (uintptr_t)check_find;
	uintptr_t libc = (uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version");
	struct unwind_module mod;
	Dl_info info;

	CHECK(unwind_find_module(own, &mod));
	CHECK_STR_EQ(mod.path, "");
	CHECK(own >= mod.start && own < mod.end);
	CHECK(dladdr((void *)own, &info));
	CHECK_EQ(mod.base, (uintptr_t)info.dli_fbase);

	CHECK(unwind_find_module(libc, &mod));
	CHECK(strstr(mod.path, "libc.so"));
	CHECK(dladdr((void *)libc, &info));
	CHECK_EQ(mod.base, (uintptr_t)info.dli_fbase);
	CHECK_NOT_NULL(mod.build_id);
	CHECK_EQ(mod.build_id_bytes, 20);

	CHECK(!unwind_find_module(0, &mod));
	CHECK(!unwind_find_module((uintptr_t)&mod, &mod)); /* the stack */
	CHECK(!unwind_find_module(UINTPTR_MAX, &mod));
}

TEST(modules_finds_program_and_libraries)
{
	walker();
	check_find();
}

TEST(modules_finds_them_with_an_old_libc_too)
{
	walker();
	modules_use_phdrs(true);
	check_find();
	check_find(); /* from the list now */
	modules_use_phdrs(false);
}

TEST(modules_both_ways_agree_on_every_image)
{
	struct unwind_thread *ut = walker();
	uintptr_t known[] = {(uintptr_t)check_find, (uintptr_t)&fopen, (uintptr_t)&dlopen,
			     (uintptr_t)ut};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct image *a;
		struct image *b;
		struct image copy;

		a = modules_get(ut, known[i], false);
		copy = a ? *a : (struct image){0};
		modules_use_phdrs(true);
		b = modules_get(ut, known[i], false);
		modules_use_phdrs(false);
		CHECK_EQ(!a, !b);
		if (!a)
			continue;
		CHECK_EQ(copy.map.base, b->map.base);
		CHECK_EQ(copy.map.hdr, b->map.hdr);
		CHECK_EQ(copy.n_segments, b->n_segments);
	}
}

TEST(modules_segments_know_code_from_data)
{
	static int data = 1;
	struct unwind_thread *ut = walker();
	struct image *im = modules_get(ut, (uintptr_t)check_find, false);
	const struct image_segment *code;
	const struct image_segment *other;

	CHECK_NOT_NULL(im);
	code = image_segment_at(im, (uintptr_t)check_find);
	other = image_segment_at(im, (uintptr_t)&data);
	CHECK_NOT_NULL(code);
	CHECK_NOT_NULL(other);
	CHECK(code->is_executable && code->is_readable);
	CHECK(!other->is_executable && other->is_readable);
	CHECK_NULL(image_segment_at(im, im->map.end));
}

TEST(modules_list_forgets_after_a_change)
{
	struct unwind_module mod;
	void *lib;
	uintptr_t addr;

	walker();
	modules_use_phdrs(true);
	lib = dlopen("libresolv.so.2", RTLD_NOW);
	if (lib) {
		struct link_map *lm = lib;

		addr = (uintptr_t)lm->l_ld;
		CHECK(unwind_find_module(addr, &mod)); /* not in the list yet: it asks again */
		unwind_code_changing();
		dlclose(lib);
		unwind_code_changed();
		CHECK(!unwind_find_module(addr, &mod));
	}
	modules_use_phdrs(false);
}

/* Bracketed by a change that goes on: nothing may come from a cache, and nothing must break. */
TEST(modules_are_found_while_code_changes)
{
	struct unwind_thread *ut = walker();

	unwind_code_changing();
	ut->generation = unwind_generation();
	CHECK_NOT_NULL(modules_get(ut, (uintptr_t)check_find, true));
	check_find();
	unwind_code_changed();
}

TEST(modules_knows_the_dynamic_linker)
{
	walker();
	CHECK(modules_is_loader((uintptr_t)dlsym(RTLD_DEFAULT, "_dl_mcount")));
	CHECK(!modules_is_loader((uintptr_t)check_find));
	CHECK(!modules_is_loader((uintptr_t)dlsym(RTLD_NEXT, "gnu_get_libc_version")));
	CHECK(!modules_is_loader(0));
}
