/* The validated path against a walk in full: programs whose stacks change in every way that could
 * make an old entry look right. */
#include "harness/test.h"
#include "unwind/unwind_i.h"

#include <alloca.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

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

static struct unwind_thread *ut;
static uint64_t n_checked, n_quick, n_joined, n_rejoined, n_known, n_leaves, n_other;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void start(void)
{
	if (!ut) {
		nodes = map(MAX_NODES * sizeof(*nodes));
		chains = map(MAX_NODES * sizeof(*chains));
		n_nodes = 1;
		CHECK_EQ(unwind_init(), 0);
		ut = map(unwind_thread_bytes);
		unwind_thread_init(ut, true);
		unwind_path_set_memory(ut, map(UNWIND_PATH_BYTES(MAX_FRAMES)), MAX_FRAMES);
	}
	n_checked = n_quick = n_joined = n_rejoined = n_known = n_leaves = n_other = 0;
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

static uint32_t intern(const struct unwind_start *at, const struct unwind_path *path)
{
	uint32_t context = 0;
	uint32_t id = 0;

	for (size_t i = 0; i < path->n_kept; i++) {
		CHECK_EQ(unwind_path_context(ut, i), context);
		context = unwind_context(context, path->entry[i].addr);
		id = child_of(id, path->entry[i].addr);
		CHECK(!path->name[i].id || path->name[i].id == id);
		path->name[i].id = id;
	}
	for (size_t i = path->n_fresh; i-- > 0;)
		id = child_of(id, unwind_path_fresh(ut, i));
	unwind_path_remember(ut, at, id);
	return id;
}

static void check_id(uint32_t id, const struct unwind_frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		CHECK_EQ(nodes[id].addr, f->addr[i]);
		id = nodes[id].parent;
	}
	CHECK_EQ(id, 0);
}

/* A memo that holds, whatever it joins. */
static uint32_t join(struct path_memo *memo, const struct unwind_start *at)
{
	uintptr_t addr[PATH_BRANCH_FRAMES];
	uint32_t outer;
	uint32_t id = unwind_path_join(ut, memo, at->fp, &outer);
	unsigned n = unwind_path_branch(memo, addr);

	n_joined += outer != 0;
	n_rejoined += id != 0;
	if (id || !outer)
		return id;
	id = outer;
	for (unsigned i = 0; i < n; i++)
		id = child_of(id, addr[i]);
	unwind_path_joined(ut, memo, id);
	return id;
}

/* The stack that is known without a walk, or 0. */
static uint32_t known(const struct unwind_start *at)
{
	struct path_memo *memo = unwind_path_look_for(ut, at);
	uint32_t caller = 0, context = 0, id = 0;

	if (unwind_path_is_leaf(ut, at)) {
		caller = unwind_path_caller(ut, at, &context);
		n_leaves += caller != 0;
	} else if (unwind_path_is_of(ut, memo, at) && unwind_path_is_as_before(ut, memo)) {
		id = unwind_path_id(ut, memo, at);
		n_quick += id != 0;
	} else if (unwind_path_is_of(ut, memo, at)) {
		id = join(memo, at);
	}
	if (caller)
		return child_of(caller, at->pc);
	return id ? id : unwind_path_known(ut, at);
}

/* What a hook does, and the whole truth beside it. */
NOINLINE static void hook(void)
{
	uintptr_t *frame = __builtin_frame_address(0);
	struct unwind_start at = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				  frame[0]};
	uintptr_t addr[MAX_FRAMES];
	struct unwind_frames f = {.addr = addr, .capacity = MAX_FRAMES};
	uint32_t id = known(&at);
	struct unwind_path path;

	n_checked++;
	n_known += id != 0;
	if (!id) {
		if (unwind_path_walk(ut, &at, unwind_generation(), &path) != UNWIND_PATH_OK) {
			n_other++;
			unwind_walk(ut, &at, &f); /* teaches it the extent of the stack */
			return;
		}
		id = intern(&at, &path);
	}
	unwind_walk(ut, &at, &f);
	CHECK_EQ(f.end, UNWIND_COMPLETE);
	check_id(id, &f);
}

static uint32_t seed = 1;

static uint32_t next_random(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* At the end of a function: its calls are none that the compiler may turn into jumps, and it is not the
 * same as another one with the same calls, which the compiler would make one of. */
#define STAY(name) __asm__ volatile("# " name)

static jmp_buf escape[4];
static unsigned n_escapes;

static void wander(unsigned depth);

/* Twins: the same frame size and, below them, the same return addresses. */
NOINLINE static void twin_a(unsigned depth)
{
	wander(depth);
	STAY("twin_a");
}

NOINLINE static void twin_b(unsigned depth)
{
	wander(depth);
	STAY("twin_b");
}

/* Moves the stack pointer by a varying amount and has its CFA in the frame pointer. */
NOINLINE static void with_alloca(unsigned depth)
{
	volatile char *p = alloca(16 + next_random(8) * 16);

	p[0] = 1;
	wander(depth);
	__asm__ volatile("" : : "r"(p));
}

/* An aligned frame: the CFA is kept in memory on some compilers. */
NOINLINE static void aligned(unsigned depth)
{
	_Alignas(64) volatile char buf[64];

	buf[next_random(64)] = 1;
	hook();
	wander(depth);
	__asm__ volatile("" : : "r"(buf));
}

NOINLINE static void jumps_back(unsigned depth)
{
	if (n_escapes == ARRAY_LEN(escape)) {
		hook();
		return;
	}
	if (setjmp(escape[n_escapes]) == 0) {
		n_escapes++;
		wander(depth);
		n_escapes--;
	}
	hook();
}

NOINLINE static void leaf(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++)
		hook();
}

NOINLINE static void wander(unsigned depth)
{
	for (unsigned n = 1 + next_random(3); n > 0; n--) {
		if (depth == 0 || n_checked > 200000) {
			leaf(1 + next_random(3));
			continue;
		}
		switch (next_random(8)) {
		case 0:
		case 1:
			twin_a(depth - 1);
			break;
		case 2:
		case 3:
			twin_b(depth - 1);
			break;
		case 4:
			with_alloca(depth - 1);
			break;
		case 5:
			aligned(depth - 1);
			break;
		case 6:
			jumps_back(depth - 1);
			break;
		default:
			hook();
			if (n_escapes && next_random(16) == 0) {
				n_escapes = next_random(n_escapes);
				longjmp(escape[n_escapes], 1);
			}
		}
	}
}

TEST(path_gives_what_a_walk_in_full_gives)
{
	start();
	for (unsigned i = 0; n_checked < 100000; i++) {
		n_escapes = 0;
		wander(i % 24);
	}
	CHECK(n_known > n_checked / 10); /* else it was not tried */
	CHECK(n_leaves > n_checked / 100);
	CHECK(n_joined > 0);
	CHECK(n_other < n_checked / 10);
}

/* A tree that is taken apart: many stacks, all of which begin in a few places. */
NOINLINE static void take_apart(unsigned depth);

NOINLINE static void take_left(unsigned depth)
{
	take_apart(depth);
	hook();
	STAY("take_left");
}

NOINLINE static void take_right(unsigned depth)
{
	hook();
	take_apart(depth);
	hook();
	STAY("take_right");
}

NOINLINE static void take_apart(unsigned depth)
{
	for (unsigned n = next_random(4); depth > 0 && n > 0; n--) {
		if (next_random(2))
			take_left(depth - 1);
		else
			take_right(depth - 1);
	}
	hook();
	hook();
	hook();
	hook();
	hook();
	__asm__ volatile("");
}

static void take_many_apart(uint64_t n)
{
	for (n += n_checked; n_checked < n;)
		take_apart(10);
}

TEST(path_finds_the_callers_of_many_stacks_with_few_starts)
{
	uint64_t n_before = 0;

	start();
	for (volatile unsigned round = 0; round < 3; round++) {
		n_before = n_leaves;
		if (round == 2)
			unwind_code_changing();
		take_many_apart(100000);
		if (round == 1)
			CHECK(n_leaves - n_before > 50000);
	}
	CHECK_EQ(n_leaves - n_before, 0u);
	unwind_code_changed();
	hook();
	CHECK_EQ(ut->path.n_leaves, 0u); /* their rules may be others */
}

/* To and fro between two branches: what was left out comes back, or something else does. */
NOINLINE static void branch(unsigned depth, unsigned turn)
{
	if (depth == 0)
		leaf(1);
	else if ((turn >> depth & 1) == 0)
		branch(depth - 1, turn);
	else
		twin_a(0);
	__asm__ volatile("");
}

TEST(path_entries_that_were_left_out_are_compared_when_they_come_back)
{
	start();
	for (unsigned turn = 0; turn < 4096; turn++) {
		branch(10, turn);
		hook(); /* far up: everything below is gone */
		branch(10, turn % 16);
	}
	CHECK(n_known > n_checked / 2);
}

NOINLINE static void same_start(void)
{
	hook();
	__asm__ volatile("");
}

NOINLINE static void caller_a(void)
{
	same_start();
	STAY("caller_a");
}

NOINLINE static void caller_b(void)
{
	same_start();
	STAY("caller_b");
}

NOINLINE static void caller_c(bool is_first)
{
	if (is_first)
		caller_a();
	else
		caller_b();
	STAY("caller_c");
}

NOINLINE static void caller_d(bool is_first)
{
	if (is_first)
		caller_a();
	else
		caller_b();
	STAY("caller_d");
}

/* Four stacks with one start in turn: once they were walked often, each has a memo of its own. */
TEST(path_remembers_several_stacks_with_the_same_start)
{
	uint64_t n_first = 0;

	start();
	for (volatile unsigned turn = 0; turn < 8192; turn++) {
		if (turn == 4096)
			n_first = n_known;
		if (turn & 2)
			caller_c(turn & 1);
		else
			caller_d(turn & 1);
	}
	CHECK(n_known - n_first > 4000);
}

/* The same before anything was learnt about what tells them apart. */
TEST(path_remembers_two_stacks_with_the_same_start_at_once)
{
	start();
	ut->path.has_forks = false;
	for (volatile unsigned turn = 0; turn < 64; turn++)
		caller_c(turn & 1);
	CHECK(n_known > 56);
}

/* Two branches of seven frames, by turns. */
NOINLINE static void branch_a(unsigned depth)
{
	if (depth == 0)
		hook();
	else
		branch_a(depth - 1);
	STAY("branch_a");
}

NOINLINE static void branch_b(unsigned depth)
{
	if (depth == 0)
		hook();
	else
		branch_b(depth - 1);
	STAY("branch_b");
}

TEST(path_remembers_branches_of_seven_frames)
{
	uint64_t n_first = 0;

	start();
	for (volatile unsigned turn = 0; turn < 65536; turn++) {
		if (turn == 61440)
			n_first = n_known;
		if (turn & 1)
			branch_a(6);
		else
			branch_b(6);
	}
	if (!ut->path.fresh[0].uses_fp) /* a memo has no room for so many with frame pointers */
		CHECK(n_known - n_first > 3800);
}

/* Two branches below an outer part that changes: what the one shows of it, the other joins. */
NOINLINE static void visit_a(void)
{
	hook();
	STAY("visit_a");
}

NOINLINE static void visit_b(void)
{
	hook();
	STAY("visit_b");
}

static bool is_a_first;

NOINLINE static void visit_both(void)
{
	if (is_a_first)
		visit_a();
	visit_b();
	if (!is_a_first)
		visit_a();
	__asm__ volatile("");
}

NOINLINE static void visit_from_c(void)
{
	visit_both();
	STAY("visit_from_c");
}

NOINLINE static void visit_from_d(void)
{
	visit_both();
	STAY("visit_from_d");
}

NOINLINE static void visit_from_e(void)
{
	visit_both();
	STAY("visit_from_e");
}

/* Three outer parts, since each start has two memos. */
static void visit(unsigned n_turns, bool a_first)
{
	is_a_first = a_first;
	ut->path.has_forks = false;
	ut->path.n_walks = 0; /* the window does not end while this goes on */
	for (volatile unsigned turn = 0; turn < n_turns; turn++) {
		if (turn % 3 == 0)
			visit_from_c();
		else if (turn % 3 == 1)
			visit_from_d();
		else
			visit_from_e();
	}
}

TEST(path_joins_a_branch_to_an_outer_part_that_it_did_not_have)
{
	start();
	visit(256, true);
	CHECK_EQ(n_checked, 512);
	CHECK(n_joined > 100);
	CHECK(n_rejoined > 100 && n_rejoined < n_joined);
}

/* Makes everything that branches made of stacks something that others made, which is wrong here. */
static void falsify_joined(uint32_t branch_off, uint32_t outer_off)
{
	for (size_t i = 0; i < ARRAY_LEN(ut->path.joined); i++) {
		struct path_joined *j = &ut->path.joined[i];

		if (j->branch)
			*j = (struct path_joined){j->branch + branch_off, j->outer + outer_off, 1};
	}
}

TEST(path_compares_branch_and_stack_before_it_takes_what_they_made)
{
	start();
	for (volatile unsigned phase = 0; phase < 3; phase++) { /* one caller: the same stacks */
		if (phase > 0)
			falsify_joined(phase == 1 ? 1000 : 0, phase == 2 ? 1000 : 0);
		n_rejoined = 0;
		visit(64, true); /* hook() compares */
		CHECK(n_rejoined > 0);
	}
}

/* Ids begin anew and are given to other stacks than before. */
TEST(path_joins_nothing_by_ids_of_another_epoch)
{
	for (unsigned shift = 0; shift < 16; shift++) {
		start();
		unwind_path_forget_ids(ut);
		memset(chains, 0, MAX_NODES * sizeof(*chains));
		n_nodes = 1 + shift;
		visit(64, true);
		CHECK(n_rejoined > 0);
	}
}

TEST(path_forgets_what_branches_made_before_it_gives_their_numbers_again)
{
	uint32_t epoch;

	start();
	falsify_joined(0, 0);
	epoch = ut->path.epoch;
	ut->path.last_branch = PATH_MAX_BRANCH;
	visit(64, false);
	CHECK_NE(ut->path.epoch, epoch); /* memos have numbers */
	CHECK(n_rejoined > 0);
	for (size_t i = 0; i < ARRAY_LEN(ut->path.joined); i++) {
		CHECK_NE(ut->path.joined[i].id, 1);
		CHECK(ut->path.joined[i].branch <= ut->path.last_branch);
	}
}

/* A memo that joined a stack of return addresses alone comes to join one that depends on other words. */
TEST(path_asks_for_all_words_of_a_stack_that_a_memo_has_come_to_join)
{
	struct path *p = &ut->path;
	struct path_memo m = {.join_n = 1, .branch = 1};
	struct path_cold kept = p->cold[0];

	start();
	for (unsigned i = 0; i < 4; i++) {
		p->cold[0] = (struct path_cold){.n_extra = i & 1, .uses_fp = i >> 1};
		unwind_path_joined(ut, &m, 7);
		CHECK_EQ(m.has_rest, i > 0);
	}
	m.uses_fp = true;
	p->cold[0] = (struct path_cold){0};
	unwind_path_joined(ut, &m, 7);
	CHECK(m.has_rest);
	p->cold[0] = kept;
	unwind_path_forget_ids(ut);
}

/* Also where there are more frames than are compared at a time, and fewer. */
NOINLINE static void deeper(unsigned depth)
{
	if (depth == 0)
		for (volatile unsigned turn = 0; turn < 64; turn++)
			hook();
	else
		deeper(depth - 1);
	__asm__ volatile("");
}

TEST(path_needs_no_more_than_a_look_at_a_stack_that_comes_again)
{
	for (unsigned depth = 0; depth < 12; depth++) {
		start();
		ut->path.has_forks = false;
		deeper(depth);
		CHECK(n_quick > 56);
	}
}

NOINLINE static void hook_below(size_t bytes)
{
	volatile char *pad = alloca(bytes);

	pad[0] = 0;
	for (volatile unsigned turn = 0; turn < 4; turn++)
		hook();
}

/* Its own return address is the lowest word of a stack, and may be the only one in its page. */
TEST(path_takes_stacks_that_begin_anywhere_in_a_page)
{
	start();
	ut->path.has_forks = false;
	for (size_t bytes = 16; bytes <= PAGE_BYTES; bytes += 16) {
		uint64_t n_before = n_known;

		memory_forget(&ut->memory);
		hook_below(bytes);
		CHECK(n_known - n_before >= 2);
	}
}

/* The same stack again and again: first its rules are read, then the path learns it, then it is
 * known. Before the round of this number something happens; returns whether it is known then. */
NOINLINE static bool is_known_after(void (*happens)(void))
{
	uint64_t before = 0;

	for (volatile unsigned round = 0; round < 4; round++) {
		before = n_known;
		if (round == 3)
			happens();
		hook();
		CHECK_EQ(n_known - before, round == 2 || (round == 3 && n_known > before));
	}
	return n_known > before;
}

static void nothing(void)
{
}

static void code_changes(void)
{
	unwind_code_changing();
	unwind_code_changed();
}

static void ids_are_forgotten(void)
{
	unwind_path_forget_ids(ut);
}

static void code_begins_to_change(void)
{
	unwind_code_changing();
}

TEST(path_knows_a_stack_until_its_code_or_its_ids_change)
{
	start();
	CHECK(is_known_after(nothing));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(code_changes));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(ids_are_forgotten));
	unwind_code_changing();
	unwind_code_changed();
	CHECK(!is_known_after(code_begins_to_change));
	unwind_code_changed();
}

/* Stacks that have the same return addresses in the same places, but for a frame more in the middle:
 * only a frame pointer, saved or in its register, tells them apart.
 *
 *	0:  by_pointer ->                     variable(n0) -> fixed -> ... -> hook
 *	1:  by_pointer -> between ->          variable(n1) -> fixed -> ... -> hook
 *	2:  by_pointer -> between -> extra -> variable(n2) -> fixed -> ... -> hook
 *
 * variable() finds its caller by the frame pointer. It takes as much stack as to let what it calls
 * begin at the same place each time. */
#define PLAIN_STACK __attribute__((noinline, no_sanitize("address")))
#define N_SHAPES 3

static struct {
	void (*next)(size_t n); /* what between() calls */
	uintptr_t variable, fixed; /* frame addresses */
	unsigned n_inside; /* frames inside of fixed() */
	bool calls_fixed; /* else the frame pointer is still in its register */
	bool is_saved; /* but for this: saved by a leaf, which has another in it */
	bool is_measured; /* else nothing is walked yet */
} shape;

PLAIN_STACK static void inside(unsigned n)
{
	if (n > 0)
		inside(n - 1);
	else
		hook();
	__asm__ volatile("");
}

/* Calls fn with something else in the frame pointer's register. */
void saves_fp(void (*fn)(void));
#ifdef __x86_64__
__asm__(".text\n"
	"saves_fp:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"mov $4, %ebp\n"
	"call *%rdi\n"
	"pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n");
#else
void saves_fp(void (*fn)(void))
{
	fn();
	__asm__ volatile("");
}
#endif

PLAIN_STACK static void fixed(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = 1;
	shape.fixed = (uintptr_t)__builtin_frame_address(0);
	if (shape.is_measured && shape.n_inside)
		inside(shape.n_inside - 1);
	else if (shape.is_measured)
		hook();
	__asm__ volatile("" : : "r"(p));
}

PLAIN_STACK static void variable(size_t n)
{
	volatile char *p = alloca(n);
	volatile size_t n_fixed = 16;

	p[0] = 1;
	shape.variable = (uintptr_t)__builtin_frame_address(0);
	if (shape.calls_fixed)
		fixed(n_fixed);
	else if (shape.is_saved)
		saves_fp(hook);
	else if (shape.n_inside)
		inside(shape.n_inside - 1);
	else
		hook();
	__asm__ volatile("" : : "r"(p));
}

PLAIN_STACK static void extra(size_t n)
{
	variable(n);
	__asm__ volatile("");
}

PLAIN_STACK static void between(size_t n)
{
	shape.next(n);
	__asm__ volatile("");
}

PLAIN_STACK static void by_pointer(void (*fn)(size_t), size_t n)
{
	fn(n);
	__asm__ volatile("");
}

static void take_shape(unsigned i, const size_t n[N_SHAPES])
{
	shape.next = i == 2 ? extra : variable;
	by_pointer(i ? between : variable, n[i]);
}

/* How much variable() must take in each of them. */
static void measure(size_t n[N_SHAPES])
{
	uintptr_t variable_at = 0, fixed_at = 0;

	shape.is_measured = false;
	shape.calls_fixed = true;
	for (unsigned i = 0; i < N_SHAPES; i++) {
		n[i] = 512;
		take_shape(i, n);
		variable_at = i ? variable_at : shape.variable;
		n[i] -= variable_at - shape.variable;
	}
	for (unsigned i = 0; i < N_SHAPES; i++) {
		take_shape(i, n);
		CHECK(i == 0 || shape.fixed == fixed_at);
		fixed_at = shape.fixed;
	}
	shape.is_measured = true;
}

/* forgets: memos are made void again and again, so that walks go on and leaves are learnt. */
static void tell_apart(unsigned n_inside, bool calls_fixed, bool forgets)
{
	uint64_t before = n_known;
	size_t n[N_SHAPES];

	measure(n);
	shape.n_inside = n_inside;
	shape.calls_fixed = calls_fixed;
	for (unsigned turn = 0; turn < (forgets ? 1024 : 64); turn++) {
		if (forgets && turn % 4)
			unwind_path_forget_ids(ut);
		for (unsigned again = 0; again < 6; again++)
			take_shape(turn % N_SHAPES, n); /* hook() compares */
	}
	CHECK(n_known > before + 64); /* what is never known is never taken for another */
}

TEST(path_tells_stacks_apart_that_differ_by_a_frame_pointer)
{
	start();
	tell_apart(24, true, false); /* on the path */
	tell_apart(0, true, false); /* the first on the path, the others remembered in memos */
	tell_apart(0, false, false);
	ut->path.has_forks = true;
	n_leaves = 0;
	tell_apart(0, false, true); /* leaves by their frame pointer */
	CHECK(n_leaves > 0);
	n_leaves = 0;
	tell_apart(1, true,
		   true); /* leaves whose caller needs a frame pointer: a word of the path */
	CHECK(n_leaves > 0);
	n_leaves = 0;
	tell_apart(1, false, true); /* one that the leaf has */
	CHECK(n_leaves > 0);
	n_leaves = 0;
	shape.is_saved = true;
	tell_apart(1, false, true); /* one that the leaf has saved */
	CHECK(n_leaves > 0);
}
