/* record/module_list.c - see module_list.h. */
#include "record/module_list.h"

#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "record/clock.h"
#include "record/sys.h"
#include "unwind/unwind.h"

/* A build id that is too long for an entry counts as none. */
static size_t kept_build_id_bytes(const struct unwind_module *found)
{
	if (!found->build_id || found->build_id_bytes > MODULE_LIST_BUILD_ID_BYTES)
		return 0;
	return found->build_id_bytes;
}

static bool same_image(const struct module_entry *e, const struct unwind_module *found)
{
	return e->base == found->base && e->start == found->start && e->end == found->end &&
	       !strncmp(e->path, found->path, sizeof(e->path) - 1) &&
	       e->build_id_bytes == kept_build_id_bytes(found) &&
	       (e->build_id_bytes == 0 || !memcmp(e->build_id, found->build_id, e->build_id_bytes));
}

/* The newest entry that holds the address, or NULL. Later entries replace earlier ones. */
static struct module_entry *find_entry(struct module_list *m, uintptr_t addr)
{
	uint32_t n = atomic_load_explicit(&m->n, memory_order_acquire);

	for (uint32_t i = n < MODULE_LIST_MAX ? n : MODULE_LIST_MAX; i-- > 0;) {
		struct module_entry *e = &m->entry[i];

		if (atomic_load_explicit(&e->is_ready, memory_order_acquire) && addr >= e->start &&
		    addr < e->end)
			return e;
	}
	return NULL;
}

static COLD void add_entry(struct module_list *m, const struct unwind_module *found,
			   uint32_t generation)
{
	uint32_t i = atomic_fetch_add(&m->n, 1);
	struct module_entry *e;
	struct text path;

	if (i >= MODULE_LIST_MAX) {
		atomic_store(&m->n, MODULE_LIST_MAX);
		atomic_fetch_add(&m->n_dropped, 1);
		return;
	}
	e = &m->entry[i];
	e->generation = generation;
	e->ticks = clock_ticks();
	e->base = found->base;
	e->start = found->start;
	e->end = found->end;
	e->build_id_bytes = (uint32_t)kept_build_id_bytes(found);
	if (e->build_id_bytes)
		memcpy(e->build_id, found->build_id, e->build_id_bytes);
	path = text_make(e->path, sizeof(e->path));
	text_put(&path, found->path);
	atomic_store(&e->checked, generation);
	atomic_store_explicit(&e->is_ready, 1, memory_order_release);
}

static struct module_list_range make_range(uintptr_t start, uintptr_t end, uint32_t generation)
{
	return (struct module_list_range){
		.start = start,
		.n_bytes = generation & 1 ? 0 : end - start, /* changing: look again */
		.generation = generation,
	};
}

bool module_list_add_slow(struct module_list *m, struct module_list_range *range, uintptr_t addr,
			  uint32_t generation)
{
	struct module_entry *e = find_entry(m, addr - 1);
	struct unwind_module found;

	if (e && atomic_load_explicit(&e->checked, memory_order_relaxed) == generation &&
	    !(generation & 1)) {
		*range = make_range(e->start, e->end, generation);
		return false;
	}
	if (!unwind_find_module(addr - 1, &found)) {
		uintptr_t page =
			align_down(addr - 1, PAGE_BYTES); /* images consist of whole pages */

		*range = make_range(page, page + PAGE_BYTES, generation);
		return !atomic_exchange(&m->has_code_outside, 1);
	}
	*range = make_range(found.start, found.end, generation);
	if (e && same_image(e, &found)) {
		atomic_store(&e->checked, generation);
		return false;
	}
	add_entry(m, &found, generation);
	return true;
}
