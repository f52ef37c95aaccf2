/* record/stack.c - see stack.h.
 *
 * A stack is a path in a tree that grows inwards. Each node is (parent, key); the key is a return
 * address or one of two marks: "the stack is cut off here, because", and "what is outside of this
 * was guessed". The ids of the last stack are kept. Of a new stack only the part that differs is
 * looked up in the cache, and defined in the block where the cache does not have it.
 */
#include "record/stack.h"

#include "record/own_memory.h"

#define KEY_MARK (1ull << 63) /* user addresses never have this bit */
#define KEY_GUESS (KEY_MARK | 0x100)
#define MAX_DEPTH (1u << 24)

_Static_assert((int)UNWIND_NO_INFO == (int)STACK_END_NO_INFO, "reasons are written as they are");
_Static_assert((int)UNWIND_NO_ROOM == (int)STACK_END_NO_ROOM, "reasons are written as they are");

/* Deep recursion: takes tables four times as large. The old ones stay mapped: together they are
 * never more than a third of the new ones, and this happens a few times in a thread's life. False:
 * no memory, or the limit is reached. */
static COLD bool grow_cache(struct lane *lane)
{
	size_t n = lane->cache_capacity * 4;
	void *memory = n <= MAX_DEPTH ? own_memory_map(STACK_CACHE_BYTES(n)) : NULL;

	if (!memory)
		return false;
	stack_cache_set_memory(lane_unwinder(lane), memory, n);
	lane->cache_capacity = n;
	return true;
}

/* The same for stacks that the unwinder does not cache. */
static COLD bool grow_other(struct lane *lane)
{
	size_t n = lane->other_capacity * 4;
	void *memory = n <= MAX_DEPTH ? own_memory_map(LANE_OTHER_BYTES(n)) : NULL;

	if (!memory)
		return false;
	lane_set_other_memory(lane, memory, n);
	return true;
}

void stack_forget(struct lane *lane)
{
	stack_id_cache_forget(&lane->stack_ids, lane->enc.next_stack);
	lane->n_other = 0;
	stack_cache_forget_ids(lane_unwinder(lane));
}

/* Code was loaded or unloaded: ids of the old generation may mean other code now. */
static COLD void change_generation(struct lane *lane, uint32_t generation)
{
	lane->generation = generation;
	stack_forget(lane);
	if (lane_has_room(lane, 1))
		event_put_rare(&lane->enc, EVENT_GENERATION, lane->enc.ticks,
			       (uint64_t[]){generation}, 1);
}

/* A reader keeps what each id stands for. A long recording has many ids; so from time to time all
 * are given up, and those in use are defined again, which is a percent of a percent more to write.
 * A stack that is itself as large as that must not be defined anew for every event. */
#define MIN_IDS (1u << 20)
#define MAX_IDS_DEEP (1u << 28)
#define DEEP_FRAMES (1u << 18)

static inline bool are_ids_many(const struct lane *lane)
{
	uint32_t n_ids = lane->enc.next_stack - lane->stack_ids.min_id;

	return unlikely(n_ids >= MIN_IDS) && n_ids >= 2 * stack_id_cache_capacity(&lane->stack_ids);
}

static inline void limit_ids(struct lane *lane, size_t n_frames)
{
	uint32_t n_ids = lane->enc.next_stack - lane->stack_ids.min_id;

	if (!are_ids_many(lane) || (n_frames > DEEP_FRAMES && n_ids < MAX_IDS_DEEP))
		return;
	stack_forget(lane);
	if (lane_has_room(lane, 1))
		event_put_rare(&lane->enc, EVENT_FORGET, lane->enc.ticks,
			       (uint64_t[]){lane->stack_ids.min_id}, 1);
}

/* CONFIG_AUDIT: what each id stands for, in a table that a normal build does not need. */
#define AUDIT_MAX_IDS (1u << 26)

struct audit_node {
	uint64_t key;
	uint32_t parent;
};

static void audit_define(struct lane *lane, uint32_t id, uint64_t key, uint32_t parent)
{
	if (!lane->audit_nodes)
		lane->audit_nodes = own_memory_map(AUDIT_MAX_IDS * sizeof(struct audit_node));
	if (lane->audit_nodes && id < AUDIT_MAX_IDS)
		lane->audit_nodes[id] = (struct audit_node){.key = key, .parent = parent};
}

/* The node of an id, or NULL. */
static const struct audit_node *audit_node_of(const struct lane *lane, uint32_t id)
{
	return id && lane->audit_nodes && id < AUDIT_MAX_IDS ? &lane->audit_nodes[id] : NULL;
}

static bool audit_equals(const struct lane *lane, uint32_t id)
{
	const struct unwind_frames *f = &lane->frames;
	const struct audit_node *node = audit_node_of(lane, id);

	for (size_t i = 0; i < f->n; i++) {
		if (!node || node->key != f->addr[i])
			return false;
		node = audit_node_of(lane, node->parent);
		if (!unwind_is_guess(f, i))
			continue;
		if (!node || node->key != KEY_GUESS)
			return false;
		node = audit_node_of(lane, node->parent);
	}
	return f->end == UNWIND_COMPLETE
		       ? !node
		       : node && node->key == (KEY_MARK | f->end) && !node->parent;
}

/* Defines the next id in the block. 0: no room. */
static uint32_t define(struct lane *lane, uint64_t key, uint32_t parent)
{
	struct recorder *rec = lane->thread->rec;

	if (!lane_has_room(lane, 1))
		return 0;
	if (key == KEY_GUESS)
		return event_put_stack_guess(&lane->enc, parent);
	if (key & KEY_MARK)
		return event_put_stack_end(&lane->enc, (unsigned)(key & 0xff));
	if (module_list_add(&rec->modules, lane->listed, key, lane->generation))
		record_wake_writer(rec); /* into the recording soon, in case we are killed */
	return event_put_stack(&lane->enc, key, parent);
}

/* Defines the stack that key leads to from parent, and puts it into the cache. 0: no room. */
static NOINLINE uint32_t new_child_of(struct lane *lane, uint32_t parent, uint32_t stack_hash,
				      uint64_t key)
{
	uint32_t id = define(lane, key, parent);

	if (CONFIG_AUDIT)
		audit_define(lane, id, key, parent);
	if (id)
		stack_id_cache_add(&lane->stack_ids, parent, stack_hash_edge_key(stack_hash, key),
				   id);
	return id;
}

/* The id of the stack that key leads to from parent; defined if it must. 0: no room. first_new: ids
 * from there on were defined for this very stack. Nothing is called from them yet, so the cache
 * need not be asked. */
static inline uint32_t child_of(struct lane *lane, uint32_t parent, uint32_t stack_hash,
				uint64_t key, uint32_t first_new)
{
	uint32_t id = parent < first_new ? stack_id_cache_find(&lane->stack_ids, parent,
							       stack_hash_edge_key(stack_hash, key))
					 : 0;

	return likely(id) ? id : new_child_of(lane, parent, stack_hash, key);
}

/* The same for a frame whose caller only the frame pointer suggests: a mark stands between. */
static COLD uint32_t guess_child_of(struct lane *lane, uint32_t parent, uint32_t stack_hash,
				    uint64_t key, uint32_t first_new)
{
	uint32_t id = child_of(lane, parent, stack_hash, KEY_GUESS, first_new);

	return id ? child_of(lane, id, stack_hash, key, first_new) : 0;
}

static inline uint32_t frame_child_of(struct lane *lane, uint32_t parent, uint32_t stack_hash,
				      uint64_t key, uint32_t first_new, bool is_guess)
{
	return unlikely(is_guess) ? guess_child_of(lane, parent, stack_hash, key, first_new)
				  : child_of(lane, parent, stack_hash, key, first_new);
}

/* The mark outside the outermost frame of a stack that is cut off. *ret is 0 if the stack is
 * complete. False: no room. */
static inline bool end_mark(struct lane *lane, unsigned end, uint32_t first_new, uint32_t *ret)
{
	*ret = 0;
	if (likely(end == UNWIND_COMPLETE))
		return true;
	*ret = child_of(lane, 0, 0, KEY_MARK | end, first_new);
	return *ret != 0;
}

/* Prefetches the ids of the leaves that are likely to be called from a stack that has just been
 * named. */
static inline void expect_leaves(const struct lane *lane, uint32_t stack_hash)
{
	stack_id_cache_prefetch(&lane->stack_ids, stack_hash_edge_key(stack_hash, lane->leaf));
	stack_id_cache_prefetch(&lane->stack_ids,
				stack_hash_edge_key(stack_hash, *lane->after_leaf));
}

/* Gives ids to the cached frames that have none, then to the frames that are not cached. 0: no
 * room. */
static uint32_t intern_cached(struct lane *lane, const struct unwind_start *at,
			      const struct stack_cache_stack *stack)
{
	struct unwind_thread *ut = lane_unwinder(lane);
	size_t i = stack->n_kept;
	uint32_t first_new = lane->enc.next_stack;
	uint32_t stack_hash, id;

	limit_ids(lane, stack->n_kept + stack->n_fresh);
	for (; i && !stack->stack_id[i - 1].id; i--)
		stack_id_cache_prefetch(
			&lane->stack_ids,
			stack_hash_edge_key(stack_cache_hash(ut, i - 1), stack->entry[i - 1].addr));
	stack_hash = stack_cache_hash(ut, stack->n_kept);
	if (stack->n_fresh)
		stack_id_cache_prefetch(
			&lane->stack_ids,
			stack_hash_edge_key(stack_hash,
					    stack_cache_fresh_addr(ut, stack->n_fresh - 1)));
	id = i ? stack->stack_id[i - 1].id : 0;
	if (!i && !end_mark(lane, stack_cache_end(ut), first_new, &id))
		return 0;
	for (; i < stack->n_kept; i++) {
		id = frame_child_of(lane, id, stack_cache_hash(ut, i), stack->entry[i].addr,
				    first_new, stack_cache_is_guess(ut, i + 1));
		if (unlikely(!id))
			return 0;
		stack->stack_id[i].id = id;
		expect_leaves(lane, stack_cache_hash(ut, i + 1));
	}
	for (i = stack->n_fresh; i-- > 0;) {
		uintptr_t key = stack_cache_fresh_addr(ut, i);

		id = frame_child_of(lane, id, stack_hash, key, first_new,
				    stack_cache_is_fresh_guess(ut, i));
		if (unlikely(!id))
			return 0;
		stack_hash = stack_hash_add(stack_hash, key);
	}
	walk_memo_add(ut, at, id);
	return id;
}

/* The id of the stack that the memo's frames make of the stack outer, frame by frame. 0: no
 * room. */
static NOINLINE uint32_t join_by_frames(struct lane *lane, struct walk_memo *memo, uint32_t outer)
{
	struct unwind_thread *ut = lane_unwinder(lane);
	uintptr_t key[MEMO_SUFFIX_FRAMES];
	uint32_t stack_hash[MEMO_SUFFIX_FRAMES + 1];
	unsigned n = memo_suffix_frames(memo, key);
	uint32_t first_new = lane->enc.next_stack;
	uint32_t id = are_ids_many(lane) ? 0 : outer;
	unsigned guesses = 0;

	stack_hash[0] = stack_cache_hash(ut, memo->join_n);
	for (unsigned i = 0; i < n; i++) {
		stack_id_cache_prefetch(&lane->stack_ids,
					stack_hash_edge_key(stack_hash[i], key[i]));
		stack_hash[i + 1] = stack_hash_add(stack_hash[i], key[i]);
	}
	if (unlikely(memo->has_guess) && !memo_suffix_guesses(ut, key, n, &guesses))
		return 0;
	for (unsigned i = 0; i < n && id; i++)
		id = frame_child_of(lane, id, stack_hash[i], key[i], first_new, guesses >> i & 1);
	if (id)
		join_cache_add(ut, memo, id);
	return id;
}

NOINLINE uint32_t stack_join(struct lane *lane, struct walk_memo *memo, uintptr_t fp)
{
	uint32_t outer;
	uint32_t id = join_cache_find(lane_unwinder(lane), memo, fp, &outer);

	return likely(id || !outer) ? id : join_by_frames(lane, memo, outer);
}

NOINLINE uint32_t stack_call(struct lane *lane, uint32_t caller, uint32_t stack_hash, uintptr_t pc)
{
	uint32_t id = are_ids_many(lane) ? 0 : new_child_of(lane, caller, stack_hash, pc);

	if (id)
		stack_cache_count_hit(lane_unwinder(lane));
	return id;
}

/* Goes over the keys of lane->frames, outermost first: why the stack is cut, then each frame, after a
 * mark if the frame pointer alone led from there outwards. */
struct key_walk {
	const struct unwind_frames *f;
	size_t n_left; /* frames */
	bool is_marked; /* the mark of the next frame was given */
};

/* The next key; 0: there are no more. */
static uint64_t next_key(struct key_walk *w)
{
	if (w->n_left > w->f->n) {
		w->n_left = w->f->n;
		if (w->f->end != UNWIND_COMPLETE)
			return KEY_MARK | w->f->end;
	}
	if (!w->n_left)
		return 0;
	if (unlikely(!w->is_marked && unwind_is_guess(w->f, w->n_left - 1))) {
		w->is_marked = true;
		return KEY_GUESS;
	}
	w->is_marked = false;
	return w->f->addr[--w->n_left];
}

/* The id of lane->frames: a stack that the unwinder does not cache. 0: it is empty, or no room. */
static uint32_t intern_other(struct lane *lane)
{
	struct key_walk w = {.f = &lane->frames, .n_left = SIZE_MAX};
	uint64_t key = next_key(&w);
	uint32_t first_new = lane->enc.next_stack;
	uint32_t stack_hash = 0;
	uint32_t id;
	size_t i;

	limit_ids(lane, w.f->n);
	for (i = 0; key && i < lane->n_other && lane->other_key[i] == key; i++) {
		if (!(key & KEY_MARK))
			stack_hash = stack_hash_add(stack_hash, key);
		key = next_key(&w);
	}
	id = i ? lane->other_id[i - 1] : 0;
	for (; key; i++, key = next_key(&w)) {
		id = child_of(lane, id, stack_hash, key, first_new);
		if (!id) {
			lane->n_other = 0;
			return 0;
		}
		if (!(key & KEY_MARK))
			stack_hash = stack_hash_add(stack_hash, key);
		lane->other_key[i] = key;
		lane->other_id[i] = id;
	}
	lane->n_other = i;
	return id;
}

/* Walks in full, and names what was found. */
static COLD uint32_t capture_other(struct lane *lane, const struct unwind_start *at)
{
	do
		unwind_walk(lane_unwinder(lane), at, &lane->frames);
	while (unlikely(lane->frames.end == UNWIND_NO_ROOM) && grow_other(lane));
	return intern_other(lane);
}

/* Frame i of a stack, outermost first. */
static uintptr_t frame_addr(const struct lane *lane, const struct stack_cache_stack *stack,
			    size_t i)
{
	if (i < stack->n_kept)
		return stack->entry[i].addr;
	return stack_cache_fresh_addr(lane_unwinder(lane), stack->n_kept + stack->n_fresh - 1 - i);
}

static void audit_walk(struct lane *lane, const struct unwind_start *at)
{
	COUNT_ADD(lane->n_audited, 1);
	do
		unwind_walk(lane->auditor, at, &lane->frames);
	while (lane->frames.end == UNWIND_NO_ROOM && grow_other(lane));
}

COLD uint32_t stack_audit_known(struct lane *lane, const struct unwind_start *at, uint32_t id)
{
	audit_walk(lane, at);
	COUNT_ADD(lane->n_differing, !audit_equals(lane, id));
	return id;
}

/* CONFIG_AUDIT: counts the stack if it is not what a walk in full finds. */
static COLD void audit(struct lane *lane, const struct unwind_start *at,
		       const struct stack_cache_stack *stack)
{
	const struct unwind_frames *f = &lane->frames;
	size_t n = stack->n_kept + stack->n_fresh;
	size_t i = 0;

	audit_walk(lane, at);
	while (i < f->n && i < n && f->addr[f->n - 1 - i] == frame_addr(lane, stack, i))
		i++;
	if (i != f->n || i != n || f->end != stack_cache_end(lane_unwinder(lane)))
		COUNT_ADD(lane->n_differing, 1);
}

/* Walks as far as the cached stack does not hold, and names what was found. */
static NOINLINE uint32_t capture_new(struct lane *lane, const struct unwind_start *at)
{
	uint32_t generation = unwind_generation();
	struct stack_cache_stack stack;
	enum stack_cache_status status;

	if (unlikely(generation != lane->generation || (generation & 1)))
		change_generation(lane, generation);
	if (unlikely(lane->n_walks < LANE_SETTLES) && ++lane->n_walks == LANE_SETTLES)
		lane_touch_tables(lane);
	do
		status = stack_cache_walk(lane_unwinder(lane), at, generation, &stack);
	while (unlikely(status == STACK_CACHE_NO_ROOM) && grow_cache(lane));
	if (unlikely(status != STACK_CACHE_OK))
		return capture_other(lane, at);
	if (CONFIG_AUDIT)
		audit(lane, at, &stack);
	return intern_cached(lane, at, &stack);
}

uint32_t stack_capture_slow(struct lane *lane, const struct unwind_start *at)
{
	uint32_t id = stack_cache_find(lane_unwinder(lane), at);

	if (CONFIG_AUDIT && id)
		return stack_audit_known(lane, at, id);
	return id ? id : capture_new(lane, at);
}
