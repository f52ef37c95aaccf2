/* export/export_replay.c - the operations of the program, to be replayed elsewhere.
 *
 * Numbers are u64 in the machine's byte order. First the number of slots, then records of four:
 *	1, slot, time, size	allocate into a slot
 *	2, slot, time, 0	free the slot
 *	3, slot, time, size	reallocate the slot
 *	4, frame, 0, 0		call: one frame deeper; frames are numbered by falling frequency
 *	5, 0, 0, 0		return: one frame up
 * and a single 0 at the end. Times are microseconds since the start of the recording.
 *
 * Slots are reused, so there are as many as blocks were alive at once. The number of slots comes
 * first in the file but is known last: the exporter walks over all operations twice, the first time
 * without output.
 *
 * A reallocation has two times, the release of the old block and the allocation of the new one; the
 * record has the time of the new block. With a filter that leaves rows out, one of the two rows may
 * be missing; then every reallocation becomes a free and an allocation.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "export/export_i.h"
#include "export/slots.h"
#include "export/time_order.h"
#include "util/vec.h"

enum replay_record {
	REPLAY_END,
	REPLAY_ALLOC,
	REPLAY_FREE,
	REPLAY_REALLOC,
	REPLAY_CALL,
	REPLAY_RETURN,
};

/* A block that a realloc released; the row of the new block comes soon. At most one per thread. */
struct moved {
	uint64_t chain;
	uint64_t slot;
};
#define MAX_MOVED 4096u

struct replay {
	FILE *out; /* NULL: only count the slots */
	struct err *err;
	struct export_stacks stacks;
	uint64_t *frame_number; /* by code */
	bool has_all_rows;
	struct slots slots;
	struct moved *moved;
	size_t n_moved, cap_moved;
	uint32_t *path; /* codes of the stack that the file is in, outermost first */
	size_t depth, cap_path;
	uint32_t stack; /* the stack of path */
};

#define NOT_MOVED UINT64_MAX

static void put_record(struct replay *p, uint64_t kind, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t record[4] = {kind, a, b, c};

	if (p->out)
		fwrite_unlocked(record, sizeof(record), 1, p->out);
}

/* Writes the calls and returns that lead from the present stack to the stack of a row. */
static int go_to_stack(struct replay *p, uint32_t stack)
{
	struct export_stacks *s = &p->stacks;
	size_t common = 0;
	int r;

	if (!p->out || stack == p->stack)
		return 0;
	r = export_stacks_codes(s, stack, p->err);
	if (r == 0)
		r = vec_reserve(&p->path, &p->cap_path, s->n_codes, sizeof(*p->path), p->err);
	if (r < 0)
		return r;
	while (common < p->depth && common < s->n_codes &&
	       p->path[common] == s->code[s->n_codes - 1 - common])
		common++;
	for (; p->depth > common; p->depth--)
		put_record(p, REPLAY_RETURN, 0, 0, 0);
	for (; p->depth < s->n_codes; p->depth++) {
		p->path[p->depth] = s->code[s->n_codes - 1 - p->depth];
		put_record(p, REPLAY_CALL, p->frame_number[p->path[p->depth]], 0, 0);
	}
	p->stack = stack;
	return 0;
}

static int put_free(struct replay *p, uint64_t slot, uint64_t at_ns)
{
	put_record(p, REPLAY_FREE, slot, at_ns / NS_PER_US, 0);
	return slots_give(&p->slots, slot, p->err);
}

/* Takes over the slot of the row before in the row's chain. False: there is none. */
static bool take_moved(struct replay *p, const struct query_row *row, uint64_t *slot)
{
	for (size_t i = 0; i < p->n_moved; i++) {
		if (p->moved[i].chain != row->chain)
			continue;
		*slot = p->moved[i].slot;
		p->n_moved--;
		memmove(&p->moved[i], &p->moved[i + 1], (p->n_moved - i) * sizeof(*p->moved));
		return true;
	}
	return false;
}

static int allocated(void *user, const struct query_row *row, struct time_order_tag *tag)
{
	struct replay *p = user;
	bool is_realloc = p->has_all_rows && row->chain != UINT64_MAX && row->chain_position > 0;
	int r = go_to_stack(p, row->stack);

	if (r < 0)
		return r;
	is_realloc = is_realloc && take_moved(p, row, &tag->a);
	if (!is_realloc)
		r = slots_take(&p->slots, &tag->a, p->err);
	if (r < 0)
		return r;
	tag->b = NOT_MOVED;
	if (p->has_all_rows && row->flags & STORE_FLAG_MOVED)
		tag->b = row->chain;
	put_record(p, is_realloc ? REPLAY_REALLOC : REPLAY_ALLOC, tag->a, row->alloc_ns / NS_PER_US,
		   row->size_bytes);
	return p->out ? export_check(p->out, p->err) : 0;
}

static int freed(void *user, uint64_t at_ns, const struct time_order_tag *tag)
{
	struct replay *p = user;
	int r = 0;

	if (tag->b == NOT_MOVED)
		return put_free(p, tag->a, at_ns);
	if (p->n_moved == MAX_MOVED) { /* a damaged recording: the new block never came */
		r = put_free(p, p->moved[0].slot, at_ns);
		p->n_moved--;
		memmove(p->moved, p->moved + 1, p->n_moved * sizeof(*p->moved));
	}
	if (r == 0)
		r = vec_reserve(&p->moved, &p->cap_moved, p->n_moved + 1, sizeof(*p->moved),
				p->err);
	if (r < 0)
		return r;
	p->moved[p->n_moved++] = (struct moved){tag->b, tag->a};
	return 0;
}

/* One walk over all operations. */
static int walk(struct replay *p, struct query *q, const struct export_options *o)
{
	const struct time_order_calls calls = {export_temp_folder(o), allocated, freed, p};
	uint64_t end_ns = store_facts(o->context->store)->duration_ns;
	int r;

	slots_init(&p->slots, export_temp_folder(o));
	p->n_moved = 0;
	p->depth = 0;
	p->stack = 0;
	r = time_order_each(q, TIME_ORDER_MAX_WAITING, &calls, NULL, p->err);
	for (; r == 0 && p->n_moved > 0; p->n_moved--)
		r = put_free(p, p->moved[p->n_moved - 1].slot, end_ns);
	for (; p->depth > 0; p->depth--)
		put_record(p, REPLAY_RETURN, 0, 0, 0);
	return r;
}

struct frequency {
	uint64_t n;
	uint32_t code;
};

static int compare_frequency(const void *pa, const void *pb)
{
	const struct frequency *a = pa, *b = pb;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return a->code < b->code ? -1 : a->code > b->code;
}

static int number_frames(struct replay *p)
{
	const struct query_groups *groups = &p->stacks.groups;
	struct frequency *f;
	size_t n_codes;
	int r = 0;

	store_table(p->stacks.store, STORE_CODES, &n_codes);
	p->frame_number = calloc(n_codes + 1, sizeof(*p->frame_number));
	f = calloc(n_codes + 1, sizeof(*f));
	if (!p->frame_number || !f) {
		r = err_set_memory(p->err, n_codes * sizeof(*f));
		goto out;
	}
	for (size_t i = 0; i < n_codes; i++)
		f[i].code = (uint32_t)i;
	for (size_t i = 0; i < groups->n && r == 0; i++) {
		r = export_stacks_codes(&p->stacks, (uint32_t)groups->group[i].key, p->err);
		for (size_t k = 0; k < p->stacks.n_codes && r == 0; k++)
			f[p->stacks.code[k]].n += groups->group[i].n_allocs;
	}
	qsort(f, n_codes, sizeof(*f), compare_frequency);
	for (size_t i = 0; i < n_codes; i++)
		p->frame_number[f[i].code] = i;
out:
	free(f);
	return r;
}

int export_replay(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	const uint64_t end = REPLAY_END;
	struct replay p = {.err = err};
	int r;

	slots_init(&p.slots, export_temp_folder(o));
	p.stacks.store = o->context->store;
	r = query_groups(q, QUERY_BY_STACK, &p.stacks.groups, err); /* no names are needed */
	if (r < 0)
		return r;
	p.has_all_rows = p.stacks.groups.total.n_allocs == store_n_rows(o->context->store);
	r = number_frames(&p);
	if (r == 0)
		r = walk(&p, q, o);
	if (r == 0) {
		uint64_t n_slots = p.slots.n;

		fwrite(&n_slots, sizeof(n_slots), 1, out);
		slots_fini(&p.slots);
		p.out = out;
		r = walk(&p, q, o);
		fwrite(&end, sizeof(end), 1, out);
	}
	slots_fini(&p.slots);
	export_stacks_fini(&p.stacks);
	free(p.frame_number);
	free(p.moved);
	free(p.path);
	return r;
}
