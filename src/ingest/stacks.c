/* ingest/stacks.c - see stacks.h. */
#include "ingest/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/huge_pages.h"
#include "util/vec.h"

#define FIRST_SLOTS 1024
#define STACKS_MAX_SOON 32u

/* What an id stands for: a node, and once a call named it the number of the stack. */
#define ENTRY_IS_NUMBER (1u << 30) /* besides, STACKS_ODD */
#define MAX_NODES (1u << 30)

/* Ids of a lane are dense, so an array maps them; where blocks are missing the ids jump and a new
 * run begins. The last run is the one in use. */
struct id_run {
	uint32_t first_id;
	uint32_t *entry; /* of first_id + i */
	uint32_t *tag; /* likewise: that of its node */
	size_t n, cap, cap_tag;
};

struct lane_ids {
	struct id_run *run; /* in order of definition */
	size_t n_runs, cap_runs;
};

/* A definition that waits for stacks_settle(). */
struct soon {
	struct event_stack def;
	uint64_t hash;
	uint32_t module;
	uint32_t node; /* once it is settled */
};

struct stacks {
	struct module_map *modules;
	struct stack_node *node;
	size_t n_nodes, cap_nodes;
	uint32_t *number; /* by node; 0: none yet */
	size_t cap_number;
	uint32_t *used; /* by number: the node */
	size_t n_used, cap_used;
	uint64_t *slot; /* hash table: node number + 1, above it half of the hash; 0 is empty */
	size_t n_slots; /* a power of two */
	struct lane_ids *lane;
	size_t n_lanes;
	size_t n_modules;
	bool is_empty_used; /* a call named the empty stack */
	uint32_t deepest_used;
	struct soon
		soon[STACKS_MAX_SOON]; /* n_soon with ids that follow one another, of one lane */
	size_t n_soon;
	uint32_t soon_lane, soon_generation;
};

/* Made of the tag of the parent, not of its number: that is known before the parent is found, so that
 * the slots of many definitions can be asked for at once (stacks_settle()). */
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

/* The half of the hash that is kept spares looking at most nodes that are not the one. */
static uint64_t *find_slot(const struct stacks *s, const struct stack_node *n, uint64_t hash)
{
	size_t i = hash & (s->n_slots - 1);

	for (; s->slot[i]; i = (i + 1) & (s->n_slots - 1)) {
		if (s->slot[i] >> 32 == hash >> 32 &&
		    is_same(&s->node[(uint32_t)s->slot[i] - 1], n))
			break;
	}
	return &s->slot[i];
}

/* The address of an END is told but does not make a stack a different one; how the stack of another
 * node ends is known by its parent. */
static void make_comparable(struct stack_node *n, uint64_t *addr)
{
	*addr = n->addr;
	if (n->kind != STACK_NODE_FRAME)
		n->addr = 0;
	if (n->kind != STACK_NODE_END)
		n->end = 0;
}

/* The upper half of the hash: what is kept of it with the node, in its slot and with ids. */
static uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static uint64_t slot_value(uint64_t hash, size_t node)
{
	return (uint64_t)tag_of(hash) << 32 | (node + 1);
}

/* Puts all nodes into slots that are empty. */
static void fill_slots(struct stacks *s)
{
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct stack_node n = s->node[i];
		uint64_t addr, hash;

		make_comparable(&n, &addr);
		hash = hash_node(&n, i ? s->node[n.parent].tag : 0);
		*find_slot(s, &n, hash) = slot_value(hash, i);
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
	fill_slots(s);
	free(old);
	return 0;
}

/* Makes room for n nodes more. */
static int reserve_nodes(struct stacks *s, size_t n, struct err *err)
{
	int r = 0;

	while (r == 0 && s->n_nodes + n > s->n_slots / 4 * 3)
		r = grow_slots(s, err);
	if (r == 0)
		r = vec_reserve(&s->node, &s->cap_nodes, s->n_nodes + n, sizeof(*s->node), err);
	if (r == 0)
		r = vec_reserve(&s->number, &s->cap_number, s->n_nodes + n, sizeof(*s->number),
				err);
	return r;
}

/* Finds or adds a node; the fields that depend on the parent are filled in here. There is room. */
static int intern(struct stacks *s, struct stack_node n, uint64_t hash, uint32_t *ret,
		  struct err *err)
{
	const struct stack_node *parent;
	uint64_t *slot, addr;

	make_comparable(&n, &addr);
	slot = find_slot(s, &n, hash);
	if (*slot) {
		*ret = (uint32_t)*slot - 1;
		return 0;
	}
	if (s->n_nodes >= MAX_NODES)
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

/* The same for one node alone. */
static int intern_one(struct stacks *s, const struct stack_node *n, uint32_t *ret, struct err *err)
{
	struct stack_node comparable = *n;
	uint64_t addr;
	int r = reserve_nodes(s, 1, err);

	if (r < 0)
		return r;
	make_comparable(&comparable, &addr);
	return intern(s, *n, hash_node(&comparable, s->n_nodes ? s->node[n->parent].tag : 0), ret,
		      err);
}

int stacks_create(const struct facts *facts, size_t n_lanes, struct stacks **ret, struct err *err)
{
	const struct stack_node empty = {.kind = STACK_NODE_ROOT, .module = MODULE_MAP_NONE};
	const struct stack_node lost = {
		.kind = STACK_NODE_END, .end = STACK_END_LOST, .module = MODULE_MAP_NONE};
	struct stacks *s = calloc(1, sizeof(*s));
	uint32_t node = 0;
	int r;

	if (!s)
		return err_set_memory(err, sizeof(*s));
	s->n_lanes = n_lanes;
	s->n_modules = facts->n_modules;
	s->lane = calloc(n_lanes + 1, sizeof(*s->lane));
	r = s->lane ? 0 : err_set_memory(err, (n_lanes + 1) * sizeof(*s->lane));
	if (r == 0)
		r = module_map_create(facts, &s->modules, err);
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

static void free_run(struct id_run *run)
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
	free(s->node);
	free(s->slot);
	free(s->number);
	free(s->used);
	module_map_destroy(s->modules);
	free(s);
}

/* Remembers the node of an id that follows the one defined last, or begins a new run. */
static int set_id(struct lane_ids *l, uint32_t id, uint32_t node, uint32_t tag, struct err *err)
{
	struct id_run *run = l->n_runs ? &l->run[l->n_runs - 1] : NULL;
	int r;

	if (!run || (uint64_t)run->first_id + run->n != id) {
		r = vec_reserve(&l->run, &l->cap_runs, l->n_runs + 1, sizeof(*l->run), err);
		if (r < 0)
			return r;
		run = &l->run[l->n_runs++];
		*run = (struct id_run){.first_id = id};
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

	ASSERT(s->n_soon == 0);
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
	struct lane_ids *l = &s->lane[lane];
	size_t n_kept = 0;

	ASSERT(s->n_soon == 0);
	for (size_t k = 0; k < l->n_runs; k++) {
		struct id_run *run = &l->run[k];
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

/* Where an id is, or NULL when its definition is missing. */
static const struct id_run *find_run(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct lane_ids *l = &s->lane[lane];

	for (size_t k = l->n_runs; k-- > 0;) {
		const struct id_run *run = &l->run[k];

		if (id >= run->first_id && id - run->first_id < run->n)
			return run;
	}
	return NULL;
}

/* What an id stands for, likewise. */
static uint32_t *find_entry(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct id_run *run = find_run(s, lane, id);

	return run ? &run->entry[id - run->first_id] : NULL;
}

uint32_t stacks_find(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const uint32_t *entry = id ? find_entry(s, lane, id) : NULL;

	if (!entry)
		return id ? STACKS_LOST : STACKS_EMPTY;
	return *entry & ENTRY_IS_NUMBER ? stacks_node(s, *entry & ~(ENTRY_IS_NUMBER | STACKS_ODD))
					: *entry;
}

/* ---- definitions that wait ---- */

/* The definition that waits with this id, or NULL. */
static const struct soon *find_soon(const struct stacks *s, uint32_t id)
{
	uint32_t at = id - s->soon[0].def.stack;

	return at < s->n_soon ? &s->soon[at] : NULL;
}

static uint32_t tag_of_id(const struct stacks *s, uint32_t lane, uint32_t id)
{
	const struct soon *soon = find_soon(s, id);
	const struct id_run *run;

	if (soon)
		return tag_of(soon->hash);
	run = id ? find_run(s, lane, id) : NULL;
	if (run)
		return run->tag[id - run->first_id];
	return s->node[id ? STACKS_LOST : STACKS_EMPTY].tag;
}

static struct stack_node soon_node(const struct stacks *s, const struct soon *soon)
{
	return (struct stack_node){
		.addr = soon->def.addr,
		.module = soon->module,
		.generation = s->soon_generation,
		.kind = STACK_NODE_FRAME,
	};
}

/* Asks the memory for all that is needed to find them, of all of them, before the first is waited for. */
static void prefetch_soon(struct stacks *s)
{
	for (size_t i = 0; i < s->n_soon; i++) {
		struct soon *soon = &s->soon[i];
		struct stack_node n;

		soon->module = module_map_find(s->modules, soon->def.addr, s->soon_generation);
		n = soon_node(s, soon);
		soon->hash = hash_node(&n, tag_of_id(s, s->soon_lane, soon->def.parent));
		__builtin_prefetch(&s->slot[soon->hash & (s->n_slots - 1)]);
	}
	for (size_t i = 0; i < s->n_soon; i++) {
		uint32_t place = (uint32_t)s->slot[s->soon[i].hash & (s->n_slots - 1)];

		if (place) {
			__builtin_prefetch(&s->node[place - 1]);
			__builtin_prefetch(&s->number[place - 1]);
		}
	}
}

int stacks_settle(struct stacks *s, struct err *err)
{
	int r = s->n_soon ? reserve_nodes(s, s->n_soon, err) : 0;

	if (r == 0)
		prefetch_soon(s);
	for (size_t i = 0; r == 0 && i < s->n_soon; i++) {
		struct soon *soon = &s->soon[i];
		const struct soon *parent = find_soon(s, soon->def.parent);
		struct stack_node n = soon_node(s, soon);

		n.parent = parent ? parent->node : stacks_find(s, s->soon_lane, soon->def.parent);
		r = intern(s, n, soon->hash, &soon->node, err);
		if (r == 0)
			r = set_id(&s->lane[s->soon_lane], soon->def.stack, soon->node,
				   tag_of(soon->hash), err);
	}
	s->n_soon = 0;
	return r;
}

int stacks_define_soon(struct stacks *s, uint32_t lane, const struct event_stack *def,
		       uint32_t generation, struct err *err)
{
	const struct soon *last = s->n_soon ? &s->soon[s->n_soon - 1] : NULL;
	int r = 0;

	if (last && (s->n_soon == STACKS_MAX_SOON || s->soon_lane != lane ||
		     s->soon_generation != generation || def->stack != last->def.stack + 1))
		r = stacks_settle(s, err);
	if (r < 0)
		return r;
	s->soon_lane = lane;
	s->soon_generation = generation;
	s->soon[s->n_soon++].def = *def;
	return 0;
}

/* ---- what calls name ---- */

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

/* The way of calls that name an id whose number is not at hand, and of ids that are not in the last run. */
static NOINLINE uint32_t use_slowly(struct stacks *s, uint32_t lane, uint32_t id)
{
	uint32_t *entry = id ? find_entry(s, lane, id) : NULL;
	uint32_t node = stacks_find(s, lane, id);
	const struct stack_node *n = &s->node[node];
	uint32_t odd = n->end != STACK_END_COMPLETE || n->has_guess ? STACKS_ODD : 0;

	s->is_empty_used |= node == STACKS_EMPTY;
	if (node != STACKS_EMPTY && !s->number[node])
		return node | odd | STACKS_NEW;
	if (entry)
		*entry = s->number[node] | odd | ENTRY_IS_NUMBER;
	return s->number[node] | odd;
}

uint32_t stacks_use(struct stacks *s, uint32_t lane, struct event_compact *call, size_t n)
{
	const struct lane_ids *l = &s->lane[lane];
	const struct id_run none = {0}, *run = l->n_runs ? &l->run[l->n_runs - 1] : &none;
	const uint32_t first_id = run->first_id, n_ids = (uint32_t)run->n, *of_id = run->entry;
	uint32_t any = 0;

	ASSERT(s->n_soon == 0);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = call[i].stack_id - first_id;
		uint32_t entry = likely(at < n_ids) ? of_id[at] : 0;

		if (likely(entry & ENTRY_IS_NUMBER))
			call[i].stack = entry & ~ENTRY_IS_NUMBER;
		else
			call[i].stack = use_slowly(s, lane, call[i].stack_id);
		any |= call[i].stack;
	}
	return any & (STACKS_ODD | STACKS_NEW);
}

_Static_assert(ENTRY_IS_NUMBER == STACKS_NEW && MAX_NODES <= STACKS_NEW, "bits of calls");

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

/* ---- going on ---- */

void stacks_save(const struct stacks *s, struct state_out *out)
{
	ASSERT(s->n_soon == 0);
	state_put_u64(out, s->n_nodes);
	state_put(out, s->node, s->n_nodes * sizeof(*s->node));
	state_put_u64(out, s->n_used);
	state_put(out, s->used, s->n_used * sizeof(*s->used));
	state_put_u64(out, s->is_empty_used);
	state_put_u64(out, s->deepest_used);
	for (size_t i = 0; i < s->n_lanes; i++) {
		const struct lane_ids *l = &s->lane[i];

		state_put_u64(out, l->n_runs);
		for (size_t k = 0; k < l->n_runs; k++) {
			state_put_u64(out, l->run[k].first_id);
			state_put_u64(out, l->run[k].n);
			state_put(out, l->run[k].entry, l->run[k].n * sizeof(uint32_t));
			state_put(out, l->run[k].tag, l->run[k].n * sizeof(uint32_t));
		}
	}
}

static bool is_possible_node(const struct stacks *s, size_t i, size_t n_modules)
{
	const struct stack_node *n = &s->node[i];

	return (i == 0 ? n->parent == 0 : n->parent < i) && state_is_flag(&n->has_guess) &&
	       n->kind <= STACK_NODE_GUESS && n->end < STACK_N_ENDS &&
	       (n->module < n_modules || n->module == MODULE_MAP_NONE);
}

/* The numbers of nodes follow from the nodes of numbers, the slots from the nodes. */
static int load_nodes(struct stacks *s, struct state_in *in, size_t n_modules)
{
	size_t n_nodes = state_get_count(in, sizeof(*s->node)), n_used;

	if (in->result == 0 && (n_nodes < 2 || n_nodes > MAX_NODES))
		state_is_wrong(in, "stacks");
	s->n_nodes = 0;
	if (in->result == 0)
		in->result = reserve_nodes(s, n_nodes, in->err);
	if (in->result < 0)
		return in->result;
	state_get(in, s->node, n_nodes * sizeof(*s->node));
	for (size_t i = 0; i < n_nodes && in->result == 0; i++) {
		if (!is_possible_node(s, i, n_modules))
			state_is_wrong(in, "a stack");
	}
	if (in->result < 0)
		return in->result;
	memset(s->number, 0, n_nodes * sizeof(*s->number));
	memset(s->slot, 0, s->n_slots * sizeof(*s->slot));
	s->n_nodes = n_nodes;
	fill_slots(s);
	n_used = state_get_count(in, sizeof(*s->used));
	if (in->result == 0)
		in->result =
			vec_reserve(&s->used, &s->cap_used, n_used + 1, sizeof(*s->used), in->err);
	if (in->result < 0)
		return in->result;
	state_get(in, s->used, n_used * sizeof(*s->used));
	for (size_t i = 0; i < n_used; i++) {
		if (s->used[i] >= n_nodes || (i == 0) != (s->used[i] == STACKS_EMPTY))
			return state_is_wrong(in, "the number of a stack");
		s->number[s->used[i]] = (uint32_t)i;
	}
	s->n_used = n_used;
	return n_used ? in->result : state_is_wrong(in, "no stack");
}

static bool is_possible_entry(const struct stacks *s, uint32_t entry)
{
	if (entry & ENTRY_IS_NUMBER)
		return (entry & ~(ENTRY_IS_NUMBER | STACKS_ODD)) < s->n_used;
	return entry < s->n_nodes;
}

static int load_run(struct stacks *s, struct state_in *in, struct id_run *run)
{
	run->first_id = (uint32_t)state_get_u64(in);
	run->n = state_get_count(in, 2 * sizeof(uint32_t));
	if (in->result == 0)
		in->result =
			vec_reserve(&run->entry, &run->cap, run->n + 1, sizeof(uint32_t), in->err);
	if (in->result == 0)
		in->result = vec_reserve(&run->tag, &run->cap_tag, run->n + 1, sizeof(uint32_t),
					 in->err);
	if (in->result < 0) {
		run->n = 0;
		return in->result;
	}
	state_get(in, run->entry, run->n * sizeof(uint32_t));
	state_get(in, run->tag, run->n * sizeof(uint32_t));
	for (size_t i = 0; i < run->n; i++) {
		if (!is_possible_entry(s, run->entry[i]))
			return state_is_wrong(in, "the id of a stack");
	}
	return in->result;
}

int stacks_load(struct stacks *s, struct state_in *in, const struct state_lanes *lanes)
{
	int r = load_nodes(s, in, s->n_modules);

	if (r < 0)
		return r;
	s->is_empty_used = state_get_u64(in) != 0;
	s->deepest_used = (uint32_t)state_get_u64(in);
	for (size_t i = 0; i < lanes->n && in->result == 0; i++) {
		struct lane_ids *l = &s->lane[lanes->now[i]];
		size_t n_runs = state_get_count(in, 2 * sizeof(uint64_t));

		if (in->result == 0)
			in->result = vec_reserve(&l->run, &l->cap_runs, n_runs + 1, sizeof(*l->run),
						 in->err);
		for (size_t k = 0; k < n_runs && in->result == 0; k++) {
			l->run[k] = (struct id_run){0};
			l->n_runs = k + 1;
			load_run(s, in, &l->run[k]);
		}
	}
	return in->result;
}
