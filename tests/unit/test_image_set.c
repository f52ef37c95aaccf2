#include "harness/test.h"
#include "unwind/unwind_thread_i.h"

#include <sys/mman.h>

static struct image make(uintptr_t start, uintptr_t end, uint64_t mark)
{
	return (struct image){.map = {.start = start, .end = end}, .mark = mark};
}

TEST(image_set_knows_an_image_again)
{
	struct image a = make(0x10000, 0x20000, 1);

	CHECK(!image_set_add(&a, 2));
	CHECK(!image_set_add(&a, 2));
	CHECK(!image_set_add(&a, 4));
}

TEST(image_set_notices_another_image_in_the_same_generation)
{
	struct image a = make(0x100000, 0x120000, 1);
	struct image same_size = make(0x100000, 0x120000, 2);
	struct image overlapping = make(0x11f000, 0x130000, 3);
	struct image beside = make(0x130000, 0x140000, 4);

	CHECK(!image_set_add(&a, 2));
	CHECK(image_set_add(&same_size, 2));
	CHECK(image_set_add(&overlapping, 2));
	CHECK(!image_set_add(&beside, 2));
	CHECK(!image_set_add(&overlapping, 2));
}

/* After a generation has passed nothing of the old image is cached. */
TEST(image_set_needs_no_alarm_in_another_generation)
{
	struct image a = make(0x200000, 0x220000, 1);
	struct image b = make(0x200000, 0x220000, 2);

	CHECK(!image_set_add(&a, 2));
	CHECK(!image_set_add(&b, 4));
	CHECK(image_set_add(&a, 4));
}

TEST(image_set_goes_on_when_full)
{
	for (uintptr_t i = 0; i < 2000; i++) {
		struct image a = make(0x1000000 + i * 0x10000, 0x1000000 + i * 0x10000 + 0x8000, i);

		CHECK(!image_set_add(&a, 2));
	}
}

TEST(image_set_misses_an_image_that_is_gone)
{
	static struct unwind_thread *ut;
	struct image gone = make(0x7000000, 0x7010000, 1);

	unwind_init();
	image_set_lost(); /* the inventions of the other tests */
	CHECK(!image_set_lost());
	ut = mmap(NULL, unwind_thread_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	CHECK(ut != MAP_FAILED);
	ut->generation = unwind_generation();
	CHECK_NOT_NULL(modules_get(ut, (uintptr_t)make, false)); /* notes this program */
	CHECK(!image_set_lost());
	image_set_add(&gone, 2);
	CHECK(image_set_lost());
	CHECK(!image_set_lost()); /* reported once */
	munmap(ut, unwind_thread_bytes);
}
