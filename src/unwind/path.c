/* unwind/path.c - the validated path: see unwind.h for why it is exact.
 *
 * A call of malloc comes from nearly the same stack as the one before it. So: leave out the entries
 * of frames that are certainly gone (below the stack pointer); compare every other entry with
 * memory, outermost first, independent loads that cost a third of a nanosecond each; walk from
 * the innermost frame by rules until the walk arrives at a valid entry; join.
 *
 * Entries that were left out stay. If the program comes back to where they were, they are compared
 * like all others, and either they are what a walk would find, or they differ.
 *
 * A program that goes to and fro between a few callers at the end of a long path would walk the
 * same frames again and again. So what a walk found on its way to the path is remembered in a memo,
 * together with every word that it read. The same start and the same words give the same walk: then
 * even the rules need not be looked at. What was walked also goes onto the path, for other
 * starts to join; the memo does not depend on that. Where several branches have one start, the
 * words in which they were seen to differ choose among their memos. path_leaf.c is about stacks that
 * are too many for memos.
 *
 * Only stacks of the common kind are handled: on the thread's own stack, by simple rules, to the
 * end. Everything else is left to unwind_walk().
 */
#include "unwind/unwind_i.h"

_Static_assert(offsetof(struct unwind_thread, path) == 0, "path.h takes one for the other");

#define LEARN_FORK 64 /* one of so many may displace a word that tells stacks apart */
#define FORGET_FORK 512 /* one of so many stacks not found forgets what told it from others */
#define MANY_WALKS 8 /* one of so many events: then it pays to tell stacks with one start apart */
#define SWAP_MEMOS 4 /* one of so many memos found in the second place moves to the first */

static const uintptr_t sentinel_word = 1; /* see path_any_differs() */

void unwind_path_set_memory(struct unwind_thread *ut, void *memory, size_t capacity)
{
	struct path *p = &ut->path;

	_Static_assert(sizeof(struct unwind_path_entry) + sizeof(struct path_cold) +
				       2 * sizeof(struct path_extra) + sizeof(struct path_fresh) +
				       sizeof(struct unwind_path_name) <=
			       UNWIND_PATH_BYTES(1) - UNWIND_PATH_BYTES(0),
		       "UNWIND_PATH_BYTES");
	_Static_assert(PATH_SENTINELS * sizeof(struct unwind_path_entry) +
				       sizeof(struct unwind_path_name) <=
			       UNWIND_PATH_BYTES(0),
		       "UNWIND_PATH_BYTES");
	p->entry = memory;
	for (unsigned i = 0; i < PATH_SENTINELS; i++)
		*p->entry++ = (struct unwind_path_entry){(uintptr_t)&sentinel_word, sentinel_word};
	p->cold = (struct path_cold *)(p->entry + capacity);
	p->extra = (struct path_extra *)(p->cold + capacity);
	p->fresh = (struct path_fresh *)(p->extra + 2 * capacity);
	p->name = (struct unwind_path_name *)(p->fresh + capacity) + 1;
	p->capacity = capacity;
	p->n = p->n_here = 0;
	p->epoch++;
}

void unwind_path_forget_ids(struct unwind_thread *ut)
{
	ut->path.epoch++;
	for (size_t k = 0; k < ut->path.n; k++)
		ut->path.name[k].id = 0;
}

uintptr_t unwind_path_fresh(const struct unwind_thread *ut, size_t i)
{
	return ut->path.fresh[i].at.addr;
}

/* Number of entries of [0, n) that hold what they held. */
static size_t count_equal(const struct unwind_path_entry *e, size_t n)
{
	size_t k = 0;

	while (k + 4 <= n && !(path_differs(&e[k]) | path_differs(&e[k + 1]) |
			       path_differs(&e[k + 2]) | path_differs(&e[k + 3])))
		k += 4;
	while (k < n && !path_differs(&e[k]))
		k++;
	return k;
}

/* Of the first n entries, those whose extra words are unchanged as well. */
static NOINLINE size_t count_extra_equal(const struct path *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < p->cold[n - 1].n_extra; i++) {
		if (memory_load_own(p->extra[i].addr) == p->extra[i].value)
			continue;
		while (p->cold[k].n_extra <= i)
			k++;
		return k;
	}
	return n;
}

static inline bool is_at(const struct path *p, size_t k, const struct frame *f)
{
	return p->entry[k].slot == f->sp + (uintptr_t)ARCH_RA_OFFSET &&
	       p->entry[k].addr == f->key && (!p->cold[k].uses_fp || p->cold[k].fp == f->fp);
}

static bool memo_fp_holds(struct path_memo *m, const struct path_cold *join, uintptr_t fp)
{
	uintptr_t join_fp =
		m->join_fp_from < m->n_words ? *path_memo_word(m, m->join_fp_from) : m->fp;

	return (!m->uses_fp || m->fp == fp) &&
	       (!join->uses_fp || (m->join_uses_fp && join_fp == join->fp));
}

static ALWAYS_INLINE uintptr_t extra_differs(const struct path_extra *x)
{
	return memory_load_own(x->addr) ^ x->value;
}

/* As path_any_differs(), without sentinels. */
bool path_extras_hold(const struct path *p, size_t n)
{
	size_t n_extra = p->cold[n - 1].n_extra;
	const struct path_extra *x = p->extra, *end = x + n_extra;
	uintptr_t differ = 0;

	for (; end - x >= 4; x += 4)
		differ |= extra_differs(x) | extra_differs(x + 1) | extra_differs(x + 2) |
			  extra_differs(x + 3);
	if (n_extra >= 4)
		x = end - 4;
	for (; x < end; x++)
		differ |= extra_differs(x);
	return !differ;
}

NOINLINE bool path_rest_holds(const struct path *p, struct path_memo *m, uintptr_t fp)
{
	const struct path_cold *join = &p->cold[m->join_n - 1];

	return memo_fp_holds(m, join, fp) && (!join->n_extra || path_extras_hold(p, m->join_n));
}

/* Would the walk be the memo's, given that the first n_valid entries of the path hold? */
static bool memo_holds(struct unwind_thread *ut, struct path_memo *m,
		       const struct unwind_start *start)
{
	const struct path *p = &ut->path;

	return unwind_path_is_of(ut, m, start) && unwind_path_is_as_before(ut, m) &&
	       m->join_n <= p->n_valid && !path_memo_differs(m, start->sp) &&
	       (!m->has_rest || memo_fp_holds(m, &p->cold[m->join_n - 1], start->fp));
}

/* The second place for a memo, in threads without forks. */
static inline struct path_memo *memo_beside(struct path *p, const struct path_memo *m)
{
	return &p->memo[(size_t)(m - p->memo) ^ 1];
}

static void swap_memos(struct path_memo *a, struct path_memo *b)
{
	struct path_memo m = *a;

	*a = *b;
	*b = m;
}

/* The memo of this start's place does not hold. If two stacks differ in a word there, it tells them
 * apart from now on. */
static NOINLINE void learn_fork(struct path *p, const struct unwind_start *start)
{
	struct path_fork *fork = path_fork_of(p, start);
	struct path_memo *m = p->place;
	uint16_t at = 0;

	if (m->pc != start->pc || m->sp != start->sp || m->epoch != p->epoch) {
		if (p->n_walks % FORGET_FORK == 0)
			fork->at[0] = fork->at[1] = 0;
		return;
	}
	for (unsigned i = 0; i < m->n_words && !at; i++) {
		uint16_t word_at = *path_memo_word_at(m, i);

		if (memory_load_own(path_place(m->sp, word_at)) != *path_memo_word(m, i))
			at = word_at;
	}
	if (!at || at == fork->at[0] || at == fork->at[1])
		return;
	if (fork->at[1] && p->n_walks % LEARN_FORK)
		return; /* the memos of all these stacks would be looked for elsewhere */
	fork->at[1] = fork->at[0];
	fork->at[0] = at;
	p->place = unwind_path_look_for((struct unwind_thread *)p, start);
}

/* Entries that are not below the stack pointer; mostly as many as the last time. */
static inline uint32_t count_here(struct path *p, const struct unwind_start *start)
{
	uintptr_t slot = path_place(start->sp, 0);
	uint32_t n = p->n_here;

	while (n < p->n && p->entry[n].slot >= slot)
		n++;
	while (n && p->entry[n - 1].slot < slot)
		n--;
	p->n_here = n;
	return n;
}

/* Of two memos side by side the one that is wanted often comes first, sooner or later. */
static uint32_t known_by_memo(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct path *p = &ut->path;
	struct path_memo *m = p->place = unwind_path_look_for(ut, start);

	if (!memo_holds(ut, m, start)) {
		m = memo_beside(p, m);
		if (!memo_holds(ut, m, start))
			return 0;
		if (p->n_known % SWAP_MEMOS == 0) {
			swap_memos(p->place, m);
			m = p->place;
		}
	}
	return m->id;
}

/* With forks a second place does not pay: more memory is looked at than it saves walks. But there are
 * starts that are on the path themselves. */
static uint32_t known_with_forks(struct unwind_thread *ut, const struct unwind_start *start)
{
	const struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	struct path *p = &ut->path;
	uint32_t n = p->n_valid;

	if (n == p->n_here && is_at(p, n - 1, &f))
		return p->name[n - 1].id;
	if (unwind_path_is_leaf(ut, start))
		return 0;
	p->place = unwind_path_look_for(ut, start);
	learn_fork(p, start);
	return 0;
}

uint32_t unwind_path_known(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct path *p = &ut->path;
	uint32_t n, id;

	p->n_valid = 0;
	p->place = NULL;
	if (unlikely(p->generation != generation_now()))
		return 0;
	n = (uint32_t)count_equal(p->entry, count_here(p, start));
	if (n && p->cold[n - 1].n_extra && !path_extras_hold(p, n))
		n = (uint32_t)count_extra_equal(p, n);
	if (unlikely(!n))
		return 0;
	p->n_valid = n;
	id = p->has_forks ? known_with_forks(ut, start) : known_by_memo(ut, start);
	COUNT_ADD(p->n_known, id != 0);
	return id;
}

/* Puts the fresh frames, but for the n_left innermost ones, on top of those that were kept. */
static void push_fresh(struct path *p, uint32_t n_left)
{
	size_t k = p->n_kept;

	for (size_t i = p->n_fresh; i-- > n_left; k++) {
		const struct path_fresh *f = &p->fresh[i];
		const struct path_cold *out = k ? &p->cold[k - 1] : NULL;
		uint32_t n_extra = out ? out->n_extra : 0;

		if (f->cfa_at && out)
			p->extra[n_extra++] = (struct path_extra){
				f->cfa_at, p->entry[k - 1].slot - (uintptr_t)ARCH_RA_OFFSET};
		if (f->fp_at && out && out->uses_fp)
			p->extra[n_extra++] = (struct path_extra){f->fp_at, out->fp};
		p->entry[k] = f->at;
		*path_level_of(p, f->at.slot) = (uint16_t)(k + 1);
		p->name[k] = (struct unwind_path_name){.slot = (uint32_t)f->at.slot};
		p->cold[k] = (struct path_cold){
			.fp = f->fp,
			.n_extra = n_extra,
			.uses_fp = f->uses_fp || (!f->fp_at && out && out->uses_fp),
			.context = unwind_context(out ? out->context : 0, f->at.addr),
		};
	}
	for (size_t old = k; old < p->n; old++)
		p->name[old] = (struct unwind_path_name){0};
	p->n = p->n_here = p->n_kept = (uint32_t)k;
	p->n_fresh = n_left;
}

/* One step by a simple rule, noting the words it read. False: the stack is not of our kind. */
static ALWAYS_INLINE bool step_noting(const struct memory *m, struct rule rule, struct frame *f,
				      struct path_fresh *note)
{
	enum rule_kind kind = rule_kind(rule);
	uintptr_t cfa = (kind == RULE_SP ? f->sp : f->fp) + (uintptr_t)rule_cfa_off(rule);
	uintptr_t fp_at = cfa + (uintptr_t)rule_fp_off(rule);

	note->at.slot = f->sp + (uintptr_t)ARCH_RA_OFFSET;
	note->at.addr = f->key;
	note->fp = f->fp;
	note->fp_at = 0;
	note->cfa_at = 0;
	note->uses_fp = kind != RULE_SP;
	if (unlikely(kind == RULE_FP_DEREF)) {
		if (!memory_is_own(m, cfa) || cfa % ARCH_STACK_ALIGN)
			return false;
		note->cfa_at = cfa;
		fp_at = f->fp + (uintptr_t)rule_fp_off(rule);
		cfa = memory_load_own(cfa);
	}
	if (unlikely(cfa <= f->sp || cfa % ARCH_STACK_ALIGN ||
		     !memory_is_own(m, cfa + (uintptr_t)ARCH_RA_OFFSET)))
		return false;
	if (rule_has_fp(rule)) {
		if (unlikely(!memory_is_own(m, fp_at) || fp_at % ARCH_STACK_ALIGN))
			return false;
		note->fp_at = fp_at;
		f->fp = memory_load_own(fp_at);
	}
	f->key = memory_load_own(cfa + (uintptr_t)ARCH_RA_OFFSET);
	f->sp = cfa;
	return true;
}

/* Walks until it arrives at one of the first n_valid entries or at the end; p->n_kept entries stay
 * and p->n_fresh frames are new. */
static enum unwind_path_result walk_fresh(struct unwind_thread *ut,
					  const struct unwind_start *start, size_t n_valid)
{
	struct path *p = &ut->path;
	struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	size_t n = 0;

	for (;;) {
		uintptr_t slot = f.sp + (uintptr_t)ARCH_RA_OFFSET;
		struct rule rule;
		enum rule_kind kind;

		while (n_valid && p->entry[n_valid - 1].slot < slot)
			n_valid--;
		if (n_valid && is_at(p, n_valid - 1, &f))
			break;
		rule = row_cache_find(&ut->rows, f.key, ut->generation);
		kind = rule_kind(rule);
		if (unlikely(kind == RULE_NONE || kind > RULE_END))
			return UNWIND_PATH_OTHER;
		if (unlikely(n == p->capacity))
			return UNWIND_PATH_NO_ROOM;
		if (unlikely(kind == RULE_END)) {
			p->fresh[n++] = (struct path_fresh){.at = {slot, f.key}, .fp = f.fp};
			n_valid = 0;
			break;
		}
		if (unlikely(!step_noting(&ut->memory, rule, &f, &p->fresh[n])))
			return UNWIND_PATH_OTHER;
		n++;
	}
	p->n_kept = (uint32_t)n_valid;
	p->n_fresh = (uint32_t)n;
	return n_valid + n > p->capacity ? UNWIND_PATH_NO_ROOM : UNWIND_PATH_OK;
}

/* Counts a walk. Too many of them: stacks with one start must be told apart. */
static inline void count_walk(struct path *p)
{
	uint64_t n_events;

	if (likely(++p->n_walks % PATH_WINDOW))
		return;
	n_events = p->n_known - p->n_known_before + PATH_WINDOW;
	p->has_forks |= n_events < MANY_WALKS * (uint64_t)PATH_WINDOW;
	p->n_known_before = p->n_known;
}

/* Would all that the walk over the fresh frames read have room in a memo? memo_add_words() adds it. */
static inline bool fits_memo(const struct path *p, const struct unwind_start *start)
{
	const uint32_t always_fit = (PATH_MEMO_WORDS + 1) / 3;
	uintptr_t reach_bytes = p->entry[p->n_kept - 1].slot - path_place(start->sp, 0);
	bool uses_fp = p->cold[p->n_kept - 1].uses_fp;
	uint32_t n = p->n_fresh;

	if (unlikely(reach_bytes > UINT16_MAX * sizeof(uintptr_t)))
		return false;
	for (size_t i = p->n_fresh; p->n_fresh > always_fit && i-- > 0;) {
		const struct path_fresh *f = &p->fresh[i];

		n += (f->cfa_at != 0) + (f->fp_at && uses_fp);
		uses_fp = f->uses_fp || (!f->fp_at && uses_fp);
	}
	return n <= PATH_MEMO_WORDS + 1; /* the outermost return address is checked with the path */
}

/* Puts the fresh frames onto the path, where other starts will join them; but, once there are forks,
 * not the start itself: a memo or, for a leaf, its caller tells it at once. The memo of this stack
 * joins what was there before, if that is not too far. That part will hold for longer. */
static inline void push_and_join(struct path *p, const struct unwind_start *start)
{
	bool is_near = p->n_kept && fits_memo(p, start);

	p->n_joined = p->n_kept;
	p->n_branch = p->n_fresh;
	if (p->has_forks)
		path_leaf_learn(p, start);
	push_fresh(p, p->has_forks && p->n_fresh > 1);
	if (is_near)
		return;
	p->n_joined = p->n_kept;
	p->n_branch = p->n_fresh;
}

enum unwind_path_result unwind_path_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct unwind_path *ret)
{
	struct path *p = &ut->path;
	enum unwind_path_result result;

	if (unlikely(generation & 1 || !ut->use_cache ||
		     !memory_is_own(&ut->memory, start->sp + (uintptr_t)ARCH_RA_OFFSET) ||
		     ut->memory.own.hi - ut->memory.own.lo > UINT32_MAX))
		return UNWIND_PATH_OTHER;
	if (unlikely(generation != p->generation)) {
		p->generation = generation;
		p->n = p->n_here = p->n_valid = 0;
		p->epoch++;
		path_leaf_forget(p);
	}
	ut->generation = generation;
	p->own_lo = ut->memory.own.lo;
	p->own_hi = ut->memory.own.hi;
	result = walk_fresh(ut, start, p->n_valid);
	if (unlikely(result != UNWIND_PATH_OK))
		return result;
	COUNT_ADD(ut->stats.n_path_walks, 1);
	COUNT_ADD(ut->stats.n_fresh_frames, p->n_fresh);
	count_walk(p);
	push_and_join(p, start);
	ret->entry = p->entry;
	ret->name = p->name;
	ret->n_kept = p->n_kept;
	ret->n_fresh = p->n_fresh;
	return UNWIND_PATH_OK;
}

/* Place of a word of the stack, as memos count it; false: out of their reach. */
static inline bool memo_place(const struct path_memo *m, uintptr_t addr, uint16_t *ret)
{
	uintptr_t offset = addr - path_place(m->sp, 0);

	*ret = (uint16_t)(offset / sizeof(uintptr_t));
	return offset % sizeof(uintptr_t) == 0 && offset / sizeof(uintptr_t) <= UINT16_MAX;
}

/* Adds a word to the memo; false when it cannot be. */
static inline bool memo_add(struct path_memo *m, uintptr_t addr, uintptr_t value)
{
	uint16_t at;

	if (unlikely(m->n_words == PATH_MEMO_WORDS || !memo_place(m, addr, &at)))
		return false;
	*path_memo_word_at(m, m->n_words) = at;
	*path_memo_word(m, m->n_words++) = value;
	return true;
}

/* All words that the walk over the fresh frames read, outermost first; the return address at which
 * it joined the path is checked with the path. */
static bool memo_add_words(const struct path *p, struct path_memo *m)
{
	const struct path_cold *join = &p->cold[p->n_joined - 1];
	struct unwind_path_entry out = p->entry[p->n_joined - 1];
	uintptr_t out_fp = join->fp;
	bool uses_fp = join->uses_fp;
	bool is_join_fp = true; /* out_fp is the one at the join */

	m->n_words = 0;
	m->keys = 0;
	m->join_fp_from = PATH_MEMO_WORDS;
	for (size_t i = p->n_branch; i-- > 0;) {
		const struct path_fresh *f = &p->fresh[i];

		if (i + 1 < p->n_branch) {
			m->keys |= 1u << m->n_words % PATH_MEMO_WORDS;
			if (!memo_add(m, out.slot, out.addr))
				return false;
		}
		if (f->cfa_at && !memo_add(m, f->cfa_at, out.slot - (uintptr_t)ARCH_RA_OFFSET))
			return false;
		if (f->fp_at && uses_fp) {
			if (is_join_fp)
				m->join_fp_from = m->n_words;
			if (!memo_add(m, f->fp_at, out_fp))
				return false;
		}
		is_join_fp = is_join_fp && !f->fp_at;
		uses_fp = f->uses_fp || (!f->fp_at && uses_fp);
		out = f->at;
		out_fp = f->fp;
	}
	m->uses_fp = uses_fp;
	m->join_uses_fp = join->uses_fp;
	m->has_rest = uses_fp || join->uses_fp || join->n_extra;
	return true;
}

/* Near words that are missing are copies of what is compared in any case: the start. */
static void memo_fill_up(struct path_memo *m, const struct unwind_start *start)
{
	for (unsigned i = m->n_words; i < PATH_MEMO_NEAR; i++) {
		m->near_at[i] = 0;
		m->near[i] = start->pc;
	}
}

/* Of the two places for a memo the first is for the newer one. */
static struct path_memo *make_place(struct path *p, const struct unwind_start *start)
{
	struct path_memo *first =
		p->place ? p->place : unwind_path_look_for((struct unwind_thread *)p, start);

	if (first->epoch == p->epoch && !p->has_forks)
		*memo_beside(p, first) = *first;
	return first;
}

void unwind_path_remember(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id)
{
	struct path *p = &ut->path;
	struct path_memo *m;

	if (!p->n_joined || p->n_joined > UINT16_MAX ||
	    (p->has_forks && (!p->n_branch || unwind_path_is_leaf(ut, start))))
		return;
	m = make_place(p, start);
	m->epoch = 0;
	m->sp = start->sp;
	if (!memo_add_words(p, m))
		return;
	memo_fill_up(m, start);
	m->pc = start->pc;
	m->fp = start->fp;
	m->join_n = (uint16_t)p->n_joined;
	m->join = p->name[p->n_joined - 1];
	m->id = id;
	m->branch = 0;
	m->epoch = p->epoch;
}
