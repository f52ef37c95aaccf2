/* Which names are functions of allocators. */
#include "record/allocator_table.h"

#include "harness/test.h"

static const struct allocator_function *find(const char *name, const char **ret_family)
{
	unsigned family = ALLOCATOR_MAX_FAMILIES;
	const struct allocator_function *f = allocator_table_find(name, &family);

	*ret_family = f ? allocator_table_family(family)->name : "";
	return f;
}

TEST(names_of_known_allocators_are_found)
{
	const char *family;

	CHECK_NULL(allocator_table_init(""));
	CHECK_EQ(find("_rjem_malloc", &family)->event, ALLOCATOR_ALLOC);
	CHECK_STR_EQ(family, "jemalloc");
	CHECK_EQ(find("_rjem_sdallocx", &family)->event, ALLOCATOR_FREE);
	CHECK_EQ(find("mi_heap_realloc_aligned_at", &family)->block, 2);
	CHECK_STR_EQ(family, "mimalloc");
	CHECK_EQ(find("tc_newarray_aligned", &family)->alignment, 2);
	CHECK_EQ(find("rpaligned_calloc", &family)->count, 2);
	CHECK_STR_EQ(family, "rpmalloc");
	CHECK_EQ(find("_ZdaPvmSt11align_val_t", &family)->event, ALLOCATOR_FREE);
	CHECK_STR_EQ(family, "malloc");
	CHECK_EQ(find("moz_arena_realloc", &family)->size, 3);
	CHECK_STR_EQ(family, "malloc");
	CHECK_EQ(find("__rust_realloc", &family)->size, 4);
	CHECK_STR_EQ(family, "rust");
	CHECK_EQ(find("_RNvCs41nHCOSNPpD_7___rustc14___rust_dealloc", &family)->event,
		 ALLOCATOR_FREE);
	CHECK_EQ(find("_RNvCsfLfy6EI15iL_7___rustc19___rust_alloc_zeroed", &family)->event,
		 ALLOCATOR_ZERO);
	CHECK_NULL(
		find("_RNvCs41nHCOSNPpD_7___rustc35___rust_no_alloc_shim_is_unstable_v2", &family));
	CHECK_NULL(find("_RNvCs41nHCOSNPpD_7___rustc14", &family));
	CHECK_NULL(find("_RNvCs41nHCOSNPpD_7___core14___rust_dealloc", &family));
	CHECK_NULL(find("_RNvCs", &family));
	CHECK_NULL(find("_rjem_nallocx", &family));
	CHECK_NULL(find("_rjem_mallocxy", &family));
	CHECK_NULL(find("_rjem__Znwm", &family));
	CHECK_NULL(find("mallo", &family));
	CHECK_NULL(find("", &family));
	CHECK_NULL(find("engine_malloc", &family));
}

TEST(users_names_are_found)
{
	static const char list[] = "engine_*, get=malloc put=free bad= =free bad=nothing *";
	const char *family;

	CHECK_PTR_EQ(allocator_table_init(list),
		     list + sizeof("engine_*, get=malloc put=free ") - 1);
	CHECK_EQ(find("engine_calloc", &family)->event, ALLOCATOR_ZERO);
	CHECK_STR_EQ(family, "the user's allocator");
	CHECK_EQ(find("get", &family)->event, ALLOCATOR_ALLOC);
	CHECK_EQ(find("put", &family)->event, ALLOCATOR_FREE);
	CHECK_NULL(find("gets", &family));
	CHECK_NULL(find("pu", &family));
	CHECK_NULL(find("bad", &family));
	CHECK_NULL(find("engine_new", &family));
}
