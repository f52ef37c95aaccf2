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
 * same frames again and again, so a short fresh part is not put onto the path but remembered in a
 * memo together with every word that its walk read. The same start and the same words give the
 * same walk: then even the rules need not be looked at. Where several stacks have one start, the
 * words in which they were seen to differ choose among their memos.
 *
 * Only stacks of the common kind are handled: on the thread's own stack, by simple rules, to the
 * end. Everything else is left to unwind_walk().
 */
#include "unwind/unwind_i.h"

#define TRY_WINDOWS 16 /* in one of so many the way that seems worse is tried again */
#define FORGET_FORK 512 /* one of so many stacks not found forgets what told it from others */
#define MANY_WALKS 8 /* one of so many events: then it pays to tell stacks with one start apart */
#define WALK_COST 4 /* of a walk apart from its frames, in frames */

/* Fresh frames that are not put onto the path but remembered in a memo. A program that goes to and
 * fro between branches of its stack wants many, one that wanders wants few. */
static const uint32_t max_short[PATH_TUNER_MODES] = {4, 8};

void unwind_path_set_memory(struct unwind_thread *ut, void *memory, size_t capacity)
{
	struct path *p = &ut->path;

	_Static_assert(sizeof(struct unwind_path_entry) + sizeof(struct path_cold) +
				       2 * sizeof(struct path_extra) + sizeof(struct path_fresh) +
				       sizeof(uint32_t) <=
			       UNWIND_PATH_BYTES(1),
		       "UNWIND_PATH_BYTES");
	p->entry = memory;
	p->cold = (struct path_cold *)(p->entry + capacity);
	p->extra = (struct path_extra *)(p->cold + capacity);
	p->fresh = (struct path_fresh *)(p->extra + 2 * capacity);
	p->id = (uint32_t *)(p->fresh + capacity);
	p->capacity = capacity;
	p->n = p->n_here = p->n_valid = 0;
	p->epoch++;
}

void unwind_path_forget_ids(struct unwind_thread *ut)
{
	ut->path.epoch++;
	for (size_t k = 0; k < ut->path.n; k++)
		ut->path.id[k] = 0;
}

uintptr_t unwind_path_fresh(const struct unwind_thread *ut, size_t i)
{
	return ut->path.fresh[i].at.addr;
}

/* Number of entries of [0, n) whose return-address slots all hold what they held. */
static ALWAYS_INLINE size_t count_equal(const struct unwind_path_entry *e, size_t n)
{
	size_t k = 0;

	for (; k + 4 <= n; k += 4) {
		uintptr_t differ = (memory_load_own(e[k].slot) ^ e[k].addr) |
				   (memory_load_own(e[k + 1].slot) ^ e[k + 1].addr) |
				   (memory_load_own(e[k + 2].slot) ^ e[k + 2].addr) |
				   (memory_load_own(e[k + 3].slot) ^ e[k + 3].addr);

		if (unlikely(differ))
			break;
	}
	while (k < n && memory_load_own(e[k].slot) == e[k].addr)
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

/* Several stacks have the same start. The place of a memo comes from its start, from the words in
 * which stacks with that start were seen to differ, and from the valid part of the path. A place
 * is no more than a guess where to look: a memo is compared with everything that it stands for. */
static inline uint64_t start_hash(const struct unwind_start *start)
{
	return start->pc + start->sp * 0xff51afd7ed558ccdull;
}

static inline struct path_fork *fork_of(struct path *p, const struct unwind_start *start)
{
	uint64_t h = (start->pc ^ start->sp << 16) * 0x9e3779b97f4a7c15ull;

	return &p->fork[h >> (64 - PATH_FORK_BITS)];
}

/* What another start has left here may lead out of the stack. */
static inline uintptr_t fork_word(const struct memory *m, uintptr_t sp, uint16_t at)
{
	uintptr_t addr = (sp + at * sizeof(uintptr_t)) & -sizeof(uintptr_t);

	return at && memory_is_own(m, addr) ? memory_load_own(addr) : 0;
}

static inline uint64_t fork_hash(struct unwind_thread *ut, const struct unwind_start *start)
{
	const struct path_fork *fork = fork_of(&ut->path, start);

	return (fork_word(&ut->memory, start->sp, fork->at[0]) * 0xc4ceb9fe1a85ec53ull) ^
	       (fork_word(&ut->memory, start->sp, fork->at[1]) * 0x94d049bb133111ebull);
}

static inline struct path_memo *memo_of(struct path *p, uint64_t hash, size_t n_valid)
{
	return &p->memo[(hash + p->id[n_valid - 1]) * 0x9e3779b97f4a7c15ull >>
			(64 - PATH_MEMO_BITS)];
}

/* Two stacks with this start differ in this word. */
static NOINLINE void learn_fork(struct unwind_thread *ut, const struct unwind_start *start,
				size_t n_valid, uint16_t at)
{
	struct path *p = &ut->path;
	struct path_fork *fork = fork_of(p, start);

	if (at == fork->at[0] || at == fork->at[1])
		return;
	fork->at[1] = fork->at[0];
	fork->at[0] = at;
	p->place = memo_of(p, start_hash(start) + fork_hash(ut, start), n_valid);
}

/* Id of the stack if the memo's walk would be made again, else 0. */
static NOINLINE uint32_t memo_id(struct unwind_thread *ut, const struct unwind_start *start,
				 uint64_t hash, size_t n_valid)
{
	struct path *p = &ut->path;
	struct path_memo *m = memo_of(p, hash, n_valid);
	uint32_t n = m->join_n;

	p->place = m;
	if (m->pc != start->pc || m->sp != start->sp || m->epoch != p->epoch || n > n_valid ||
	    p->entry[n - 1].slot - m->sp != (uintptr_t)m->join_at * sizeof(uintptr_t) ||
	    p->id[n - 1] != m->join_id || (m->uses_fp && m->fp != start->fp)) {
		if (p->tuner.n_walks % FORGET_FORK == 0)
			*fork_of(p, start) = (struct path_fork){0};
		return 0;
	}
	for (uint32_t i = 0; i < m->n_words; i++) {
		if (memory_load_own(m->sp + m->word_at[i] * sizeof(uintptr_t)) != m->word[i]) {
			if (p->tuner.has_forks)
				learn_fork(ut, start, n_valid, m->word_at[i]);
			return 0;
		}
	}
	COUNT_ADD(p->n_known, 1);
	return m->id;
}

/* Puts the fresh frames on top of the n_kept entries. */
static void push_fresh(struct path *p, size_t n_kept, size_t n_fresh)
{
	size_t k = n_kept;

	for (size_t i = n_fresh; i-- > 0; k++) {
		const struct path_fresh *f = &p->fresh[i];
		const struct path_cold *out = k ? &p->cold[k - 1] : NULL;
		uint32_t n_extra = out ? out->n_extra : 0;

		if (f->cfa_at && out)
			p->extra[n_extra++] = (struct path_extra){
				f->cfa_at, p->entry[k - 1].slot - (uintptr_t)ARCH_RA_OFFSET};
		if (f->fp_at && out && out->uses_fp)
			p->extra[n_extra++] = (struct path_extra){f->fp_at, out->fp};
		p->entry[k] = f->at;
		p->id[k] = 0;
		p->cold[k] = (struct path_cold){
			.fp = f->fp,
			.n_extra = n_extra,
			.uses_fp = f->uses_fp || (!f->fp_at && out && out->uses_fp),
		};
	}
	p->n = p->n_here = (uint32_t)k;
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

/* That the start lies in memory.own need not be asked: all slots and words that are read do, and
 * so do the starts that they are compared with. */
uint32_t unwind_path_known(struct unwind_thread *ut, const struct unwind_start *start)
{
	struct path *p = &ut->path;
	struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	uintptr_t slot = start->sp + (uintptr_t)ARCH_RA_OFFSET;
	uint32_t n = p->n_here;
	uint64_t hash = start_hash(start);
	bool is_top;
	size_t n_valid;

	p->n_valid = 0;
	if (unlikely(p->generation != generation_now()))
		return 0;
	while (n < p->n && p->entry[n].slot >= slot)
		n++;
	while (n && p->entry[n - 1].slot < slot)
		n--;
	p->n_here = n;
	is_top = n && is_at(p, n - 1, &f);
	if (!is_top && p->tuner.has_forks) /* now: its loads need not wait for what follows */
		hash += fork_hash(ut, start);
	n_valid = count_equal(p->entry, n);
	if (n_valid && p->cold[n_valid - 1].n_extra)
		n_valid = count_extra_equal(p, n_valid);
	if (unlikely(!n_valid))
		return 0;
	p->n_valid = (uint32_t)n_valid;
	if (is_top && n_valid != n && p->tuner.has_forks)
		hash += fork_hash(ut, start);
	if (!is_top || n_valid != n)
		return memo_id(ut, start, hash, n_valid);
	COUNT_ADD(p->n_known, p->id[n - 1] != 0);
	return p->id[n - 1];
}

/* Counts a walk and decides at the end of a window how to go on. */
static inline void tune(struct path *p)
{
	struct path_tuner *t = &p->tuner;
	uint64_t n_events;

	t->cost += p->n_fresh + WALK_COST;
	if (likely(++t->n_walks < PATH_WINDOW))
		return;
	n_events = p->n_known - t->n_known_before + t->n_walks;
	t->cost_per_event[t->mode] = (t->cost << 16) / n_events;
	t->has_forks |= n_events < MANY_WALKS * (uint64_t)t->n_walks;
	t->best = t->cost_per_event[1] < t->cost_per_event[0];
	t->mode = ++t->n_windows % TRY_WINDOWS == 1 ? !t->best : t->best;
	t->n_known_before = p->n_known;
	t->n_walks = 0;
	t->cost = 0;
}

enum unwind_path_result unwind_path_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 uint32_t generation, struct unwind_path *ret)
{
	struct path *p = &ut->path;
	enum unwind_path_result result;

	if (unlikely(generation & 1 || !ut->use_cache ||
		     !memory_is_own(&ut->memory, start->sp + (uintptr_t)ARCH_RA_OFFSET)))
		return UNWIND_PATH_OTHER;
	if (unlikely(generation != p->generation)) {
		p->generation = generation;
		p->n = p->n_here = p->n_valid = 0;
		p->epoch++;
	}
	ut->generation = generation;
	result = walk_fresh(ut, start, p->n_valid);
	if (unlikely(result != UNWIND_PATH_OK))
		return result;
	COUNT_ADD(ut->stats.n_path_walks, 1);
	COUNT_ADD(ut->stats.n_fresh_frames, p->n_fresh);
	tune(p);
	if (p->n_fresh > max_short[p->tuner.mode] || p->n_kept == 0) {
		push_fresh(p, p->n_kept, p->n_fresh);
		p->n_kept = p->n;
		p->n_fresh = 0;
	}
	ret->entry = p->entry;
	ret->id = p->id;
	ret->n_kept = p->n_kept;
	ret->n_fresh = p->n_fresh;
	return UNWIND_PATH_OK;
}

/* Adds a word to the memo; false when it cannot be. */
static inline bool memo_add(struct path_memo *m, uintptr_t addr, uintptr_t value)
{
	uintptr_t offset = addr - m->sp;

	if (unlikely(m->n_words == PATH_MEMO_WORDS || offset % sizeof(uintptr_t) ||
		     offset / sizeof(uintptr_t) > UINT16_MAX))
		return false;
	m->word_at[m->n_words] = (uint16_t)(offset / sizeof(uintptr_t));
	m->word[m->n_words++] = value;
	return true;
}

/* All words that the walk over the fresh frames read, outermost first; the return address at which
 * it joined the path is checked with the path. */
static bool memo_add_words(const struct path *p, struct path_memo *m)
{
	const struct path_cold *join = &p->cold[p->n_kept - 1];
	struct unwind_path_entry out = p->entry[p->n_kept - 1];
	uintptr_t out_fp = join->fp;
	bool uses_fp = join->uses_fp;

	for (size_t i = p->n_fresh; i-- > 0;) {
		const struct path_fresh *f = &p->fresh[i];

		if (i + 1 < p->n_fresh && !memo_add(m, out.slot, out.addr))
			return false;
		if (f->cfa_at && !memo_add(m, f->cfa_at, out.slot - (uintptr_t)ARCH_RA_OFFSET))
			return false;
		if (f->fp_at && uses_fp && !memo_add(m, f->fp_at, out_fp))
			return false;
		uses_fp = f->uses_fp || (!f->fp_at && uses_fp);
		out = f->at;
		out_fp = f->fp;
	}
	m->uses_fp = uses_fp;
	return true;
}

void unwind_path_remember(struct unwind_thread *ut, const struct unwind_start *start, uint32_t id)
{
	struct path *p = &ut->path;
	struct path_memo *m = p->place;
	uintptr_t join;

	if (!p->n_fresh || !p->n_kept)
		return;
	join = p->entry[p->n_kept - 1].slot - start->sp;
	m->epoch = 0;
	m->n_words = 0;
	m->sp = start->sp;
	if (join % sizeof(uintptr_t) || join / sizeof(uintptr_t) > UINT32_MAX ||
	    !memo_add_words(p, m))
		return;
	m->pc = start->pc;
	m->fp = start->fp;
	m->join_n = p->n_kept;
	m->join_at = (uint32_t)(join / sizeof(uintptr_t));
	m->join_id = p->id[p->n_kept - 1];
	m->id = id;
	m->epoch = p->epoch;
}
