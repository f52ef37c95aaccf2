/* unwind/registered.c - tables that the target announced with __register_frame().
 *
 * Slots are taken by compare-and-swap and given back by a store; a reader skips a slot without a
 * table or without a range. Tables are the target's memory and are read through copies of the
 * kernel only: a target that freed a table too early must not crash because of us.
 */
#include "unwind/learned_i.h"
#include "unwind/tables_i.h"
#include "unwind/unwind.h"

#include <stdatomic.h>

#define MAX_TABLES 4096

/* table == 0: free. lo == 0: not yet filled in. */
struct slot {
	_Atomic uintptr_t table;
	_Atomic uintptr_t lo; /* code that the table covers */
	_Atomic uintptr_t hi;
};

static struct slot slots[MAX_TABLES];
static _Atomic unsigned n_slots_used; /* slots from here on were never used */
static _Atomic bool is_measuring; /* someone uses the static copy below */

static bool measure(uintptr_t table, struct memory_range *ret)
{
	static struct eh_copy copy; /* too large for a stack; registration is rare */
	struct eh_reader r = {.copy = &copy};
	bool is_ok;

	/* Held for microseconds and never across a call that can block. A signal handler that
	 * registers frames while this thread is here must not wait for itself, so nobody waits. */
	if (atomic_exchange(&is_measuring, true)) {
		*ret = (struct memory_range){1, UINTPTR_MAX}; /* may cover anything */
		return true;
	}
	copy.search = (struct memory_range){0, 0};
	is_ok = eh_frame_extent(&r, table, ret);
	atomic_store(&is_measuring, false);
	return is_ok;
}

void registered_init(void)
{
	atomic_store(&is_measuring, false); /* whoever it was is not in this process */
}

static struct slot *take_slot(uintptr_t table)
{
	for (unsigned i = 0; i < MAX_TABLES; i++) {
		uintptr_t expected = 0;
		unsigned used = atomic_load(&n_slots_used);

		if (!atomic_compare_exchange_strong(&slots[i].table, &expected, table))
			continue;
		while (used < i + 1 && !atomic_compare_exchange_weak(&n_slots_used, &used, i + 1))
			;
		return &slots[i];
	}
	return NULL;
}

bool unwind_register_frames(const void *table)
{
	struct memory_range code;
	struct slot *s;

	if (!table || !measure((uintptr_t)table, &code))
		return false;
	s = take_slot((uintptr_t)table);
	if (!s)
		return false;
	atomic_store(&s->hi, code.hi);
	atomic_store(&s->lo, code.lo ? code.lo : 1);
	if (learned_forget(code.lo, code.hi)) {
		unwind_code_changing();
		unwind_code_changed();
	}
	return true;
}

void unwind_deregister_frames(const void *table)
{
	unsigned n = atomic_load(&n_slots_used);

	unwind_code_changing();
	for (unsigned i = 0; table && i < n; i++) {
		if (atomic_load(&slots[i].table) != (uintptr_t)table)
			continue;
		atomic_store(&slots[i].lo, 0);
		atomic_store(&slots[i].table, 0);
		break;
	}
	unwind_code_changed();
}

enum eh_result registered_find(struct eh_copy *copy, uintptr_t pc, struct eh_fde *ret)
{
	struct eh_reader r = {.copy = copy};
	unsigned n = atomic_load_explicit(&n_slots_used, memory_order_acquire);
	bool is_bad = false;

	copy->search = (struct memory_range){0, 0};
	for (unsigned i = 0; i < n; i++) {
		uintptr_t lo = atomic_load_explicit(&slots[i].lo, memory_order_acquire);
		uintptr_t hi = atomic_load_explicit(&slots[i].hi, memory_order_relaxed);
		uintptr_t table = atomic_load_explicit(&slots[i].table, memory_order_relaxed);
		enum eh_result found;

		if (!lo || !table || pc < lo || pc >= hi)
			continue;
		found = eh_frame_scan(&r, table, pc, ret);
		if (found == EH_FOUND)
			return EH_FOUND;
		is_bad = is_bad || found == EH_BAD;
	}
	return is_bad ? EH_BAD : EH_NONE;
}
