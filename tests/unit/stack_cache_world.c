/* See stack_cache_world.h. */
#include "stack_cache_world.h"

#include <string.h>
#include <sys/mman.h>

#include "unwind/caller_hint.h"
#include "unwind/join_cache.h"
#include "unwind/stack_hash.h"
#include "unwind/walk_memo.h"

#define MAX_FRAMES 512
#define MAX_NODES (1u << 20)

/* Stacks by id, exactly: a node is (parent, address). */
static struct node {
	uintptr_t addr;
	uint32_t parent;
	uint32_t next; /* in its chain */
} * nodes;
static uint32_t *chains;
static uint32_t n_nodes;

struct stack_cache_world world;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

void stack_cache_world_start(void)
{
	if (!world.ut) {
		nodes = map(MAX_NODES * sizeof(*nodes));
		chains = map(MAX_NODES * sizeof(*chains));
		n_nodes = 1;
		unwind_init();
		world.ut = map(unwind_thread_bytes);
		unwind_thread_init(world.ut, true);
		stack_cache_set_memory(world.ut, map(STACK_CACHE_BYTES(MAX_FRAMES)), MAX_FRAMES);
	}
	world = (struct stack_cache_world){.ut = world.ut};
}

void stack_cache_world_forget_ids(uint32_t n_left_out)
{
	stack_cache_forget_ids(world.ut);
	memset(chains, 0, MAX_NODES * sizeof(*chains));
	n_nodes = 1 + n_left_out;
}

static uint32_t child_of(uint32_t parent, uintptr_t addr)
{
	uint32_t *chain =
		&chains[(addr * 0x9e3779b97f4a7c15ull ^ parent * 0xff51afd7ed558ccdull) >> 44];

	for (uint32_t i = *chain; i; i = nodes[i].next)
		if (nodes[i].addr == addr && nodes[i].parent == parent)
			return i;
	CHECK(n_nodes < MAX_NODES);
	nodes[n_nodes] = (struct node){addr, parent, *chain};
	return *chain = n_nodes++;
}

/* Marks beside the frames, as the recorder puts them: why a stack ends, and a guess. */
#define GUESS 1
#define END(why) (uintptr_t)(2 + (why))

static uint32_t frame_child_of(uint32_t parent, uintptr_t addr, bool is_guess)
{
	return child_of(is_guess ? child_of(parent, GUESS) : parent, addr);
}

static uint32_t intern(const struct unwind_start *at, const struct stack_cache_stack *stack)
{
	uint32_t stack_hash = 0;
	unsigned end = stack_cache_end(world.ut);
	uint32_t id = end ? child_of(0, END(end)) : 0;

	for (size_t i = 0; i < stack->n_kept; i++) {
		CHECK_EQ(stack_cache_hash(world.ut, i), stack_hash);
		stack_hash = stack_hash_add(stack_hash, stack->entry[i].addr);
		id = frame_child_of(id, stack->entry[i].addr,
				    stack_cache_is_guess(world.ut, i + 1));
		CHECK(!stack->stack_id[i].id || stack->stack_id[i].id == id);
		stack->stack_id[i].id = id;
	}
	for (size_t i = stack->n_fresh; i-- > 0;)
		id = frame_child_of(id, stack_cache_fresh_addr(world.ut, i),
				    stack_cache_is_fresh_guess(world.ut, i));
	walk_memo_add(world.ut, at, id);
	return id;
}

static void check_id(uint32_t id, const struct unwind_frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		CHECK_EQ(nodes[id].addr, f->addr[i]);
		id = nodes[id].parent;
		if (!unwind_is_guess(f, i))
			continue;
		CHECK_EQ(nodes[id].addr, GUESS);
		id = nodes[id].parent;
	}
	if (f->end != UNWIND_COMPLETE) {
		CHECK_EQ(nodes[id].addr, END(f->end));
		id = nodes[id].parent;
	}
	CHECK_EQ(id, 0);
}

/* A memo that holds, whatever it joins. */
static uint32_t join(struct walk_memo *memo, const struct unwind_start *at)
{
	uintptr_t addr[MEMO_SUFFIX_FRAMES];
	uint32_t outer;
	unsigned guesses = 0;
	uint32_t id = join_cache_find(world.ut, memo, at->fp, &outer);
	unsigned n = memo_suffix_frames(memo, addr);

	world.n_joined += outer != 0;
	world.n_rejoined += id != 0;
	if (id || !outer)
		return id;
	if (memo->has_guess && !memo_suffix_guesses(world.ut, addr, n, &guesses))
		return 0;
	id = outer;
	for (unsigned i = 0; i < n; i++)
		id = frame_child_of(id, addr[i], guesses >> i & 1);
	join_cache_add(world.ut, memo, id);
	return id;
}

/* The stack that is known without a walk, or 0. */
static uint32_t known(const struct unwind_start *at)
{
	struct walk_memo *memo = walk_memo_slot(world.ut, at);
	uint32_t caller = 0, stack_hash = 0, id = 0;

	if (caller_hint_exists(world.ut, at)) {
		caller = caller_hint_find(world.ut, at, &stack_hash);
		world.n_hints += caller != 0;
	} else if (walk_memo_is_of(world.ut, memo, at) && walk_memo_joins_same(world.ut, memo)) {
		id = walk_memo_stack_id(world.ut, memo, at);
		world.n_fast += id != 0;
	} else if (walk_memo_is_of(world.ut, memo, at)) {
		id = join(memo, at);
	}
	if (caller)
		return child_of(caller, at->pc);
	return id ? id : stack_cache_find(world.ut, at);
}

/* What a stack_cache_world_hook does, and the whole truth beside it. */
NOINLINE void stack_cache_world_hook(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_start at = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				  frame[0]};
	static uintptr_t addr[MAX_FRAMES];
	static uint64_t guess[UNWIND_GUESS_WORDS(MAX_FRAMES)];
	struct unwind_frames *f = &world.frames;
	uint32_t id = known(&at);
	struct stack_cache_stack stack;

	*f = (struct unwind_frames){.addr = addr, .guess = guess, .capacity = MAX_FRAMES};

	world.n_checked++;
	world.n_known += id != 0;
	if (!id) {
		if (stack_cache_walk(world.ut, &at, unwind_generation(), &stack) !=
		    STACK_CACHE_OK) {
			world.n_other++;
			unwind_walk(world.ut, &at, f); /* teaches it the extent of the stack */
			return;
		}
		id = intern(&at, &stack);
	}
	unwind_walk(world.ut, &at, f);
	check_id(id, f);
}
