/* record/own_memory.c - see own_memory.h. */
#include "record/own_memory.h"

#include "base/bits.h"
#include "record/sys.h"

_Atomic uint64_t own_memory_bytes;
static _Atomic bool stays_in_children;

void own_memory_stay_in_children(void)
{
	atomic_store(&stays_in_children, true);
}

void *own_memory_map(size_t bytes)
{
	void *memory;

	bytes = align_up(bytes, PAGE_BYTES);
	memory = sys_map_anonymous(bytes);
	if (memory && !atomic_load(&stays_in_children) &&
	    sys_failed(sys_madvise(memory, bytes, MADV_WIPEONFORK))) {
		sys_unmap(memory, bytes);
		return NULL;
	}
	if (memory)
		atomic_fetch_add(&own_memory_bytes, bytes);
	return memory;
}

void own_memory_unmap(void *memory, size_t bytes)
{
	bytes = align_up(bytes, PAGE_BYTES);
	sys_unmap(memory, bytes);
	atomic_fetch_sub(&own_memory_bytes, bytes);
}

void own_memory_touch(void *memory, size_t bytes)
{
	_Atomic uint8_t *page = (_Atomic uint8_t *)align_down((uintptr_t)memory, PAGE_BYTES);
	_Atomic uint8_t *end = (_Atomic uint8_t *)memory + bytes;

	for (; page < end; page += PAGE_BYTES)
		atomic_fetch_or_explicit(page, 0, memory_order_relaxed);
}
