/* unwind/path.c - the validated path: see unwind.h for why it is exact.
 *
 * A call of malloc comes from nearly the same stack as the one before it. So: drop the entries of
 * frames that are certainly gone (below the stack pointer); compare every remaining entry with
 * memory, outermost first, independent loads that cost a third of a nanosecond each; walk from
 * the innermost frame by rules until the walk arrives at a valid entry; join.
 *
 * Only stacks of the common kind are handled: on the thread's own stack, by simple rules, to the
 * end. Everything else is left to unwind_walk().
 */
#include "unwind/unwind_i.h"

void unwind_path_set_memory(struct unwind_thread *ut, void *memory, size_t capacity)
{
	struct path *p = &ut->path;

	_Static_assert(sizeof(struct unwind_path_entry) + sizeof(struct path_cold) +
					2 * sizeof(struct path_extra) + sizeof(struct path_fresh) <=
				UNWIND_PATH_BYTES(1),
		       "UNWIND_PATH_BYTES");
	p->entry = memory;
	p->cold = (struct path_cold *)(p->entry + capacity);
	p->extra = (struct path_extra *)(p->cold + capacity);
	p->fresh = (struct path_fresh *)(p->extra + 2 * capacity);
	p->capacity = capacity;
	p->n = 0;
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
static COLD size_t count_extra_equal(const struct path *p, size_t n)
{
	size_t i = 0, k = 0;

	for (; i < p->cold[n - 1].n_extra; i++) {
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
	return p->entry[k].slot == f->sp + (uintptr_t)ARCH_RA_OFFSET && p->entry[k].addr == f->key &&
	       (!p->cold[k].uses_fp || p->cold[k].fp == f->fp);
}

/* Puts the n fresh frames (innermost first) on top of the n_kept entries. */
static void add_fresh(struct path *p, size_t n_kept, size_t n_fresh)
{
	size_t k = n_kept;

	for (size_t i = n_fresh; i-- > 0; k++) {
		const struct path_fresh *f = &p->fresh[i];
		const struct path_cold *out = k ? &p->cold[k - 1] : NULL;
		uint32_t n_extra = out ? out->n_extra : 0;

		if (f->cfa_at && out)
			p->extra[n_extra++] =
				(struct path_extra){f->cfa_at, p->entry[k - 1].slot - (uintptr_t)ARCH_RA_OFFSET};
		if (f->fp_at && out && out->uses_fp)
			p->extra[n_extra++] = (struct path_extra){f->fp_at, out->fp};
		p->entry[k] = f->at;
		p->cold[k] = (struct path_cold){
			.fp = f->fp,
			.n_extra = n_extra,
			.uses_fp = f->uses_fp || (!f->fp_at && out && out->uses_fp),
		};
	}
	p->n = k;
}

/* One step by a simple rule, noting the words it read. False: the stack is not of our kind. */
static ALWAYS_INLINE bool step_noting(const struct memory *m, struct rule rule, struct frame *f,
				      struct path_fresh *note)
{
	enum rule_kind kind = rule_kind(rule);
	uintptr_t cfa = (kind == RULE_SP ? f->sp : f->fp) + (uintptr_t)rule_cfa_off(rule);
	uintptr_t fp_at = cfa + (uintptr_t)rule_fp_off(rule);

	*note = (struct path_fresh){
		.at = {f->sp + (uintptr_t)ARCH_RA_OFFSET, f->key},
		.fp = f->fp,
		.uses_fp = kind != RULE_SP,
	};
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

/* Walks until it arrives at one of the first n_valid entries or at the end. Gives the number of
 * entries that stay in *n_kept and the number of fresh frames. */
static enum unwind_path_result walk_fresh(struct unwind_thread *ut, const struct unwind_start *start,
					  size_t n_valid, size_t *n_kept, size_t *n_fresh)
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
		if (n_valid && is_at(p, n_valid - 1, &f)) {
			*n_kept = n_valid;
			break;
		}
		rule = row_cache_find(&ut->rows, f.key, ut->generation);
		kind = rule_kind(rule);
		if (unlikely(kind == RULE_NONE || kind == RULE_SLOW || kind == RULE_START))
			return UNWIND_PATH_OTHER;
		if (unlikely(n == p->capacity))
			return UNWIND_PATH_NO_ROOM;
		if (unlikely(kind == RULE_END)) {
			p->fresh[n++] = (struct path_fresh){.at = {slot, f.key}, .fp = f.fp};
			*n_kept = 0;
			break;
		}
		if (unlikely(!step_noting(&ut->memory, rule, &f, &p->fresh[n])))
			return UNWIND_PATH_OTHER;
		n++;
	}
	*n_fresh = n;
	return *n_kept + n > p->capacity ? UNWIND_PATH_NO_ROOM : UNWIND_PATH_OK;
}

enum unwind_path_result unwind_path_walk(struct unwind_thread *ut, const struct unwind_start *start,
					 struct unwind_path *ret)
{
	struct path *p = &ut->path;
	struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	uintptr_t slot = start->sp + (uintptr_t)ARCH_RA_OFFSET;
	uint32_t generation = unwind_generation();
	size_t n = p->n, n_kept, n_fresh;
	enum unwind_path_result result;

	if (unlikely(generation & 1 || !ut->use_cache || !memory_is_own(&ut->memory, slot)))
		return UNWIND_PATH_OTHER;
	if (unlikely(generation != p->generation)) {
		p->generation = generation;
		p->n = n = 0;
	}
	ut->generation = generation;
	while (n && p->entry[n - 1].slot < slot)
		n--;
	n_kept = count_equal(p->entry, n);
	if (unlikely(n_kept && p->cold[n_kept - 1].n_extra))
		n_kept = count_extra_equal(p, n_kept);
	n_fresh = 0;
	if (!(n && n_kept == n && is_at(p, n - 1, &f))) {
		result = walk_fresh(ut, start, n_kept, &n_kept, &n_fresh);
		if (unlikely(result != UNWIND_PATH_OK))
			return result;
	}
	add_fresh(p, n_kept, n_fresh);
	ut->stats.n_path_walks++;
	ut->stats.n_fresh_frames += n_fresh;
	*ret = (struct unwind_path){p->entry, p->n, n_kept};
	return UNWIND_PATH_OK;
}
