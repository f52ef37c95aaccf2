/* The state of a thread that walks stacks, for tests of src/unwind without the recorder. */
#ifndef UNWIND_WALKER_H
#define UNWIND_WALKER_H

#include <sys/mman.h>

#include "harness/test.h"
#include "unwind/unwind_thread_i.h"

static inline struct unwind_thread *walker(void)
{
	static struct unwind_thread *ut;

	if (!ut) {
		ut = mmap(NULL, unwind_thread_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(ut != MAP_FAILED);
		unwind_init();
		unwind_thread_init(ut, true);
	}
	ut->generation = unwind_generation();
	return ut;
}

#endif
