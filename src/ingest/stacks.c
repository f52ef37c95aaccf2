/* ingest/stacks.c - see stacks.h. */
#include "ingest/stacks_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/huge_pages.h"
#include "util/memory_budget.h"
#include "util/vec.h"

#define FIRST_SLOTS 1024
#define NODES_SIXTEENTHS 2u /* of the budget */

/* The hash of a node is made of the tag of the parent, not of the parent's number. The tag is known
 * before the parent is found, so stacks_settle() can prefetch the slots of many definitions at
 * once. */
static uint64_t hash_node(const struct stack_node *n, uint32_t parent_tag)
{
	uint64_t link = (uint64_t)parent_tag << 32 | n->module;

	return hash_pair64(n->addr ^ (uint64_t)n->kind << 56 ^ (uint64_t)n->end << 48, link);
}

static bool is_same(const struct stack_node *a, const struct stack_node *b)
{
	if (a->kind != b->kind || a->parent != b->parent)
		return false;
	if (a->kind == STACK_NODE_FRAME)
		return a->addr == b->addr && a->module == b->module;
	return a->kind != STACK_NODE_END || a->end == b->end;
}

/* From slot i on: the first one with the tag of this hash, or an empty one. */
static inline size_t find_tag(const struct stacks *s, size_t i, uint64_t hash)
{
	while (s->slot[i] && s->slot[i] >> 32 != hash >> 32)
		i = (i + 1) & (s->n_slots - 1);
	return i;
}

/* Finds the slot of a node that equals n, or the empty slot where it belongs, from slot i on. The tag
 * in the slot saves a look at most nodes that differ. */
static uint64_t *find_slot(const struct stacks *s, const struct stack_node *n, size_t i,
			   uint64_t hash)
{
	for (; s->slot[i = find_tag(s, i, hash)]; i = (i + 1) & (s->n_slots - 1)) {
		if (is_same(&s->node[(uint32_t)s->slot[i] - 1], n))
			break;
	}
	return &s->slot[i];
}

static size_t first_slot(const struct stacks *s, uint64_t hash)
{
	return hash & (s->n_slots - 1);
}

/* Clears the fields that do not make a node a different one: the address of an END, and the end of
 * the stack in nodes that are no END, which follows from the parent. *addr: the address before. */
static void make_comparable(struct stack_node *n, uint64_t *addr)
{
	*addr = n->addr;
	if (n->kind != STACK_NODE_FRAME)
		n->addr = 0;
	if (n->kind != STACK_NODE_END)
		n->end = 0;
}

/* The upper half of the hash: kept in the node, in its slot and with its ids. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static uint64_t slot_value(uint64_t hash, size_t node)
{
	return (uint64_t)tag_of(hash) << 32 | (node + 1);
}

void stacks_fill_slots(struct stacks *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct stack_node n = s->node[i];
		uint64_t addr, hash;

		make_comparable(&n, &addr);
		hash = hash_node(&n, i ? s->node[n.parent].tag : 0);
		*find_slot(s, &n, first_slot(s, hash), hash) = slot_value(hash, i);
	}
}

static int grow_slots(struct stacks *s, struct err *err)
{
	uint64_t *old = s->slot;
	size_t n_slots = s->n_slots ? s->n_slots * 2 : FIRST_SLOTS;

	s->slot = calloc(n_slots, sizeof(*s->slot));
	if (!s->slot) {
		s->slot = old;
		return err_set_memory(err, n_slots * sizeof(*s->slot));
	}
	huge_pages_advise(s->slot, n_slots * sizeof(*s->slot));
	s->n_slots = n_slots;
	stacks_fill_slots(s);
	free(old);
	return 0;
}

int stacks_reserve_nodes(struct stacks *s, size_t n, struct err *err)
{
	int r = 0;

	while (r == 0 && s->n_nodes + n > s->n_slots / 4 * 3)
		r = grow_slots(s, err);
	if (r == 0)
		r = spill_vec_reserve(&s->node_memory, &s->node, s->n_nodes + n, sizeof(*s->node),
				      err);
	if (r == 0)
		r = vec_reserve(&s->number, &s->cap_number, s->n_nodes + n, sizeof(*s->number),
				err);
	return r;
}

/* Finds or adds a node, and fills in the fields that depend on the parent. The search begins at slot
 * start: the node is in no slot before it. There is room. ERR_LIMIT. */
static int intern(struct stacks *s, struct stack_node n, uint64_t hash, size_t start, uint32_t *ret,
		  struct err *err)
{
	const struct stack_node *parent;
	uint64_t *slot, addr;

	make_comparable(&n, &addr);
	slot = find_slot(s, &n, start, hash);
	if (*slot) {
		*ret = (uint32_t)*slot - 1;
		return 0;
	}
	if (s->n_nodes >= STACKS_MAX_NODES)
		return err_set(err, ERR_LIMIT, "more than %zu different stacks", s->n_nodes);
	n.addr = addr;
	n.tag = tag_of(hash);
	if (s->n_nodes > 0) {
		parent = &s->node[n.parent];
		if (n.kind != STACK_NODE_END)
			n.end = parent->end;
		n.has_guess = n.kind == STACK_NODE_GUESS || parent->has_guess;
		n.n_frames = parent->n_frames + (n.kind == STACK_NODE_FRAME);
	}
	*slot = slot_value(hash, s->n_nodes);
	s->number[s->n_nodes] = 0;
	s->node[s->n_nodes] = n;
	*ret = (uint32_t)s->n_nodes++;
	return 0;
}

/* Finds or adds one node; makes room and computes the hash itself. */
static int intern_one(struct stacks *s, const struct stack_node *n, uint32_t *ret, struct err *err)
{
	struct stack_node comparable = *n;
	uint64_t addr, hash;
	int r = stacks_reserve_nodes(s, 1, err);

	if (r < 0)
		return r;
	make_comparable(&comparable, &addr);
	hash = hash_node(&comparable, s->n_nodes ? s->node[n->parent].tag : 0);
	return intern(s, *n, hash, first_slot(s, hash), ret, err);
}

int stacks_create(const struct metadata *metadata, size_t n_lanes, struct stacks **ret,
		  struct err *err)
{
	const struct stack_node empty = {.kind = STACK_NODE_ROOT, .module = MODULE_MAP_NONE};
	const struct stack_node lost = {
		.kind = STACK_NODE_END, .end = STACK_END_LOST, .module = MODULE_MAP_NONE};
	struct stacks *s = calloc(1, sizeof(*s));
	uint32_t node = 0;
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->node_memory.budget_bytes = memory_budget_share(NODES_SIXTEENTHS);
	s->n_lanes = n_lanes;
	s->n_modules = metadata->n_modules;
	s->lane = calloc(n_lanes + 1, sizeof(*s->lane));
	r = s->lane ? 0 : err_set_memory(err, (n_lanes + 1) * sizeof(*s->lane));
	if (r == 0)
		r = module_map_create(metadata, &s->modules, err);
	if (r == 0)
		r = intern_one(s, &empty, &node, err);
	if (r == 0)
		r = intern_one(s, &lost, &node, err);
	if (r == 0)
		r = vec_reserve(&s->used, &s->cap_used, 1, sizeof(*s->used), err);
	if (r == 0) /* number 0 is node 0 */
		s->used[s->n_used++] = STACKS_EMPTY;
	if (r < 0) {
		stacks_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

void stacks_set_folder(struct stacks *s, const char *folder)
{
	s->node_memory.folder = folder;
}

void stacks_trim(const struct stacks *s)
{
	spill_vec_trim(&s->node_memory);
}

static void free_run(struct stacks_run *run)
{
	free(run->entry);
	free(run->tag);
}

void stacks_destroy(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->lane && i < s->n_lanes; i++) {
		for (size_t k = 0; k < s->lane[i].n_runs; k++)
			free_run(&s->lane[i].run[k]);
		free(s->lane[i].run);
	}
	free(s->lane);
	spill_vec_fini(&s->node_memory);
	free(s->slot);
	free(s->number);
	free(s->used);
	module_map_destroy(s->modules);
	free(s);
}

/* Stores the node of an id. An id that does not follow the one defined last begins a new run. */
static int set_id(struct stacks_lane *l, uint32_t id, uint32_t node, uint32_t tag, struct err *err)
{
	struct stacks_run *run = l->n_runs ? &l->run[l->n_runs - 1] : NULL;
	int r;

	if (!run || (uint64_t)run->first_id + run->n != id) {
		r = vec_reserve(&l->run, &l->cap_runs, l->n_runs + 1, sizeof(*l->run), err);
		if (r < 0)
			return r;
		run = &l->run[l->n_runs++];
		*run = (struct stacks_run){.first_id = id};
	}
	r = vec_reserve(&run->entry, &run->cap, run->n + 1, sizeof(*run->entry), err);
	if (r == 0)
		r = vec_reserve(&run->tag, &run->cap_tag, run->n + 1, sizeof(*run->tag), err);
	if (r < 0)
		return r;
	run->tag[run->n] = tag;
	run->entry[run->n++] = node;
	return 0;
}

int stacks_define(struct stacks *s, uint32_t lane, const struct event *ev, uint32_t generation,
		  struct err *err)
{
	struct stack_node n = {
		.parent = stacks_find(s, lane, ev->parent),
		.module = MODULE_MAP_NONE,
		.generation = generation,
	};
	uint32_t node = 0;
	int r;

	ASSERT(s->n_pending == 0);
	switch (ev->kind) {
	case EVENT_STACK:
		n.kind = STACK_NODE_FRAME;
		n.addr = ev->addr;
		n.module = module_map_find(s->modules, ev->addr, generation);
		break;
	case EVENT_STACK_END:
		n.kind = STACK_NODE_END;
		n.addr = ev->addr;
		n.parent = STACKS_EMPTY;
		n.end = ev->field[0] && ev->field[0] < STACK_N_ENDS ? (uint8_t)ev->field[0]
								    : STACK_END_BAD_INFO;
		break;
	default:
		n.kind = STACK_NODE_GUESS;
		break;
	}
	r = intern_one(s, &n, &node, err);
	return r < 0 ? r : set_id(&s->lane[lane], ev->stack, node, s->node[node].tag, err);
}

void stacks_forget(struct stacks *s, uint32_t lane, uint64_t first_id)
{
	struct stacks_lane *l = &s->lane[lane];
	size_t n_kept = 0;

	ASSERT(s->n_pending == 0);
	for (size_t k = 0; k < l->n_runs; k++) {
		struct stacks_run *run = &l->run[k];
		uint64_t n_gone = first_id > run->first_id ? first_id - run->first_id : 0;

		if (n_gone >= run->n && k + 1 < l->n_runs) {
			free_run(run);
			continue;
		}
		if (n_gone > run->n)
			n_gone = run->n;
		run->n -= (size_t)n_gone;
		run->first_id += (uint32_t)n_gone;
		memmove(run->entry, run->entry + n_gone, run->n * sizeof(*run->entry));
		memmove(run->tag, run->tag + n_gone, run->n * sizeof(*run->tag));
		l->run[n_kept++] = *run;
	}
	l->n_runs = n_kept;
}

/* The run that holds an id, or NULL when the definition is missing. */
static const struct stacks_run *find_run(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct stacks_lane *l = &s->lane[lane];

	for (size_t k = l->n_runs; k-- > 0;) {
		const struct stacks_run *run = &l->run[k];

		if (id >= run->first_id && id - run->first_id < run->n)
			return run;
	}
	return NULL;
}

/* What an id stands for, or NULL when the definition is missing. */
static uint32_t *find_entry(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct stacks_run *run = find_run(s, lane, id);

	return run ? &run->entry[id - run->first_id] : NULL;
}

uint32_t stacks_find(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const uint32_t *entry = id ? find_entry(s, lane, id) : NULL;

	if (!entry)
		return id ? STACKS_LOST : STACKS_EMPTY;
	return *entry & STACKS_ENTRY_IS_NUMBER
		       ? stacks_node(s, *entry & ~(STACKS_ENTRY_IS_NUMBER | STACKS_ODD))
		       : *entry;
}

/* ---- pending definitions ---- */

/* The pending definition of this id, or NULL. */
static const struct stacks_pending_def *find_pending(const struct stacks *s, uint32_t id)
{
	uint32_t at = id - s->pending[0].def.stack;

	return at < s->n_pending ? &s->pending[at] : NULL;
}

static uint32_t tag_of_id(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct stacks_pending_def *pending = find_pending(s, id);
	const struct stacks_run *run;

	if (pending)
		return tag_of(pending->hash);
	run = id ? find_run(s, lane, id) : NULL;
	if (run)
		return run->tag[id - run->first_id];
	return s->node[id ? STACKS_LOST : STACKS_EMPTY].tag;
}

static struct stack_node pending_node(const struct stacks *s,
				      const struct stacks_pending_def *pending)
{
	return (struct stack_node){
		.addr = pending->def.addr,
		.module = pending->module,
		.generation = s->pending_generation,
		.kind = STACK_NODE_FRAME,
	};
}

/* Prefetches what is needed to find all pending definitions, before the first of them is looked
 * up. */
static void prefetch_pending(struct stacks *s)
{
	for (size_t i = 0; i < s->n_pending; i++) {
		struct stacks_pending_def *pending = &s->pending[i];
		struct stack_node n;

		pending->module =
			module_map_find(s->modules, pending->def.addr, s->pending_generation);
		n = pending_node(s, pending);
		pending->hash = hash_node(&n, tag_of_id(s, s->pending_lane, pending->def.parent));
		__builtin_prefetch(&s->slot[first_slot(s, pending->hash)]);
	}
	for (size_t i = 0; i < s->n_pending; i++) {
		struct stacks_pending_def *pending = &s->pending[i];
		uint32_t candidate;

		pending->slot = find_tag(s, first_slot(s, pending->hash), pending->hash);
		candidate = (uint32_t)s->slot[pending->slot];
		if (candidate) {
			__builtin_prefetch(&s->node[candidate - 1]);
			__builtin_prefetch(&s->number[candidate - 1]);
		}
	}
}

int stacks_settle(struct stacks *s, struct err *err)
{
	int r = s->n_pending ? stacks_reserve_nodes(s, s->n_pending, err) : 0;

	if (r == 0)
		prefetch_pending(s);
	for (size_t i = 0; r == 0 && i < s->n_pending; i++) {
		struct stacks_pending_def *pending = &s->pending[i];
		const struct stacks_pending_def *parent = find_pending(s, pending->def.parent);
		struct stack_node n = pending_node(s, pending);

		n.parent = parent ? parent->node
				  : stacks_find(s, s->pending_lane, pending->def.parent);
		r = intern(s, n, pending->hash, pending->slot, &pending->node, err);
		if (r == 0)
			r = set_id(&s->lane[s->pending_lane], pending->def.stack, pending->node,
				   tag_of(pending->hash), err);
	}
	s->n_pending = 0;
	return r;
}

int stacks_define_pending(struct stacks *s, uint32_t lane, const struct event_stack *def,
			  uint32_t generation, struct err *err)
{
	const struct stacks_pending_def *last = s->n_pending ? &s->pending[s->n_pending - 1] : NULL;
	int r = 0;

	if (last && (s->n_pending == STACKS_MAX_PENDING || s->pending_lane != lane ||
		     s->pending_generation != generation || def->stack != last->def.stack + 1))
		r = stacks_settle(s, err);
	if (r < 0)
		return r;
	s->pending_lane = lane;
	s->pending_generation = generation;
	s->pending[s->n_pending++].def = *def;
	return 0;
}

/* ---- numbers of the stacks that calls name ---- */

int stacks_number(struct stacks *s, uint32_t node, uint32_t *ret, struct err *err)
{
	const struct stack_node *n = &s->node[node];

	if (node != STACKS_EMPTY && !s->number[node]) {
		int r = vec_reserve(&s->used, &s->cap_used, s->n_used + 1, sizeof(*s->used), err);

		if (r < 0)
			return r;
		s->number[node] = (uint32_t)s->n_used;
		s->used[s->n_used++] = node;
		if (n->n_frames > s->deepest_used)
			s->deepest_used = n->n_frames;
	}
	*ret = s->number[node];
	return 0;
}

/* The slow path of stacks_use(): the id has no number yet, or it is not in the last run. */
static NOINLINE uint32_t use_slow(struct stacks *s, uint32_t lane, uint32_t id)
{
	uint32_t *entry = id ? find_entry(s, lane, id) : NULL;
	uint32_t node = stacks_find(s, lane, id);
	const struct stack_node *n = &s->node[node];
	uint32_t odd = n->end != STACK_END_COMPLETE || n->has_guess ? STACKS_ODD : 0;

	s->is_empty_used |= node == STACKS_EMPTY;
	if (node != STACKS_EMPTY && !s->number[node])
		return node | odd | STACKS_NEW;
	if (entry)
		*entry = s->number[node] | odd | STACKS_ENTRY_IS_NUMBER;
	return s->number[node] | odd;
}

uint32_t stacks_use(struct stacks *s, uint32_t lane, struct event_compact *call, size_t n)
{
	const struct stacks_lane *l = &s->lane[lane];
	const struct stacks_run none = {0}, *run = l->n_runs ? &l->run[l->n_runs - 1] : &none;
	const uint32_t first_id = run->first_id, n_ids = (uint32_t)run->n, *of_id = run->entry;
	uint32_t any = 0;

	ASSERT(s->n_pending == 0);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = call[i].stack - first_id;
		uint32_t entry = likely(at < n_ids) ? of_id[at] : 0;

		if (likely(entry & STACKS_ENTRY_IS_NUMBER))
			call[i].stack = entry & ~STACKS_ENTRY_IS_NUMBER;
		else
			call[i].stack = use_slow(s, lane, call[i].stack);
		any |= call[i].stack;
	}
	return any & (STACKS_ODD | STACKS_NEW);
}

_Static_assert(STACKS_ENTRY_IS_NUMBER == STACKS_NEW && STACKS_MAX_NODES <= STACKS_NEW,
	       "bits of calls");

uint32_t stacks_node(const struct stacks *s, uint32_t number)
{
	ASSERT(number < s->n_used);
	return s->used[number];
}

const struct stack_node *stacks_get(const struct stacks *s, uint32_t node)
{
	ASSERT(node < s->n_nodes);
	return &s->node[node];
}

const char *stacks_end_name(enum format_stack_end end)
{
	static const char *const name[STACK_N_ENDS] = {
		[STACK_END_COMPLETE] = "complete", [STACK_END_NO_INFO] = "no_info",
		[STACK_END_BAD_INFO] = "bad_info", [STACK_END_BAD_MEMORY] = "bad_memory",
		[STACK_END_NOT_CODE] = "not_code", [STACK_END_NO_PROGRESS] = "no_progress",
		[STACK_END_NO_ROOM] = "no_room",   [STACK_END_LOST] = "lost",
	};

	ASSERT(end < STACK_N_ENDS && name[end]);
	return name[end];
}

uint32_t stacks_count_numbers(const struct stacks *s)
{
	return (uint32_t)s->n_used;
}

size_t stacks_count(const struct stacks *s)
{
	return s->n_nodes;
}

size_t stacks_count_used(const struct stacks *s)
{
	return s->n_used - !s->is_empty_used;
}

uint32_t stacks_deepest_used(const struct stacks *s)
{
	return s->deepest_used;
}
