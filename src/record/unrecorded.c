/* record/unrecorded.c - see unrecorded.h. */
#include "record/unrecorded.h"

#include "record/log.h"
#include "record/sys.h"

static _Atomic(struct unrecorded *) shared; /* what a fork copies */

struct unrecorded *unrecorded_take(void)
{
	return atomic_exchange(&shared, NULL);
}

static void drop(struct unrecorded *of_parent)
{
	if (of_parent)
		sys_unmap(of_parent, PAGE_BYTES);
}

void unrecorded_share(struct unrecorded *of_parent)
{
	drop(of_parent);
	atomic_store(&shared, sys_map(PAGE_BYTES, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

void unrecorded_count(struct unrecorded *of_parent, uint32_t error)
{
	if (!of_parent)
		return;
	if (error)
		atomic_store(&of_parent->error, error);
	atomic_fetch_add(&of_parent->n_children, 1);
	drop(of_parent);
}

uint32_t unrecorded_report(uint32_t n_reported, bool is_last, struct text *text)
{
	struct unrecorded *u = atomic_load(&shared);
	uint32_t n = u ? atomic_load(&u->n_children) : 0;
	uint32_t error = u ? atomic_load(&u->error) : 0;

	if (n == n_reported || (!is_last && n < 2 * n_reported))
		return n_reported;
	text_put_u64(text, n);
	text_put(text, n == 1 ? " forked child" : " forked children");
	text_put(text, is_last ? "" : " so far");
	text_put(text, n == 1 ? " is not recorded, nor what it forked"
			      : " are not recorded, nor what they forked");
	if (!error)
		return n;
	text_put(text, ": no recording can be created there: ");
	text_put(text, log_errno_name(error));
	text_put(text, " (errno ");
	text_put_u64(text, error);
	text_put_char(text, ')');
	return n;
}
