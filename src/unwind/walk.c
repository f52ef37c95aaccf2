/* unwind/walk.c - the fast walk: pc, stack pointer and frame pointer, by cached rules.
 *
 * It stops at the first frame that needs more registers and leaves the stack to slow_walk.c, which
 * begins again from the innermost frame: only there the missing registers can be read.
 */
#include "unwind/generation.h"
#include "unwind/learned_i.h"
#include "unwind/maps_i.h"
#include "unwind/unwind_thread_i.h"
#include "unwind/walk_i.h"

#include <string.h>

#define RECONSIDER_WALKS 256 /* in one of so many walks learned_reconsider() is called */

const size_t unwind_thread_bytes = sizeof(struct unwind_thread);

void unwind_init(void)
{
	generation_init();
	memory_init();
	modules_init();
	image_set_init();
	registered_init();
	code_areas_init();
	lookup_init();
}

void unwind_use_no_copies(void)
{
	memory_refuse_copies(true);
}

void unwind_use_no_files(void)
{
	maps_keep();
}

void unwind_thread_init(struct unwind_thread *ut, bool use_cache)
{
	ut->use_cache = use_cache;
	memory_forget(&ut->memory);
	/* The slots lie in a stack that may be unmapped by now. */
	ut->stack_cache.n = ut->stack_cache.n_here = 0;
	ut->stack_cache.own_lo = ut->stack_cache.own_hi = 0;
	ut->stack_cache.epoch++;
}

void unwind_thread_stats(const struct unwind_thread *ut, struct unwind_stats *ret)
{
	*ret = (struct unwind_stats){
		.n_walks = COUNT_READ(ut->stats.n_walks),
		.n_slow_walks = COUNT_READ(ut->stats.n_slow_walks),
		.n_rule_misses = COUNT_READ(ut->stats.n_rule_misses),
		.n_cached_walks =
			COUNT_READ(ut->stats.n_cached_walks) + COUNT_READ(ut->stack_cache.n_known),
		.n_known_stacks = COUNT_READ(ut->stack_cache.n_known),
		.n_fresh_frames = COUNT_READ(ut->stats.n_fresh_frames),
	};
}

/* Builds the rule of key and keeps it. RULE_NONE: there is no rule, and *ret_what says why. */
COLD static struct rule build_rule(struct unwind_thread *ut, uintptr_t key, enum lookup *ret_what)
{
	struct rule rule = {0};

	if (key == lookup_context_return()) {
		rule = rule_make(RULE_START, ut->generation);
		rule_cache_add(&ut->rules, key, rule);
		return rule;
	}
	*ret_what = lookup_find(ut, key, ut->is_uncertain);
	if (*ret_what == LOOKUP_NO_IMAGE)
		return rule;
	COUNT_ADD(ut->stats.n_rule_misses, 1);
	if (*ret_what != LOOKUP_FDE)
		return rule;
	if (!cfi_run(&ut->cfi, &ut->fde, key)) {
		*ret_what = LOOKUP_BAD;
		return rule;
	}
	rule = rule_pack(&ut->cfi.row, ut->fde.is_signal, ut->generation);
	if (rule_kind(rule) != RULE_END && !ut->fde.is_signal && !lookup_is_after_call(ut, key))
		return rule_make(RULE_SLOW, ut->generation); /* suspicious; the slow walk judges */
	if (!modules_is_loader(key)) /* these are never cached: unwind_walk() has to see them */
		rule_cache_add(&ut->rules, key, rule);
	return rule;
}

/* The caller of the frame f, by the rule of f. Its key is 0 when three registers are not enough. */
static ALWAYS_INLINE struct frame step(struct memory *m, struct rule rule, struct frame f)
{
	struct frame stuck = {0};
	uintptr_t cfa = (rule_kind(rule) == RULE_SP ? f.sp : f.fp) + (uintptr_t)rule_cfa_off(rule);
	uintptr_t fp_at = cfa + (uintptr_t)rule_fp_off(rule);
	uintptr_t key;

	if (unlikely(rule_kind(rule) == RULE_FP_DEREF)) {
		fp_at = f.fp + (uintptr_t)rule_fp_off(rule);
		if (!memory_word(m, cfa, &cfa))
			return stuck;
	}
	if (unlikely(cfa <= f.sp || cfa % ARCH_STACK_ALIGN) ||
	    unlikely(!memory_word(m, cfa + (uintptr_t)ARCH_RA_OFFSET, &key)))
		return stuck;
	if (rule_has_fp(rule) && unlikely(!memory_word(m, fp_at, &f.fp)))
		return stuck;
	f.key = key;
	f.sp = cfa;
	return f;
}

/* Keeps what is known of code without unwind information as a rule, so that the stack cache can walk
 * over it. */
COLD static void keep_verdict(struct unwind_thread *ut, enum lookup what, uintptr_t key)
{
	enum learned learned = learned_find(key, ut->generation);
	struct rule rule = {0};

	if (what == LOOKUP_BAD)
		rule = rule_make_end(UNWIND_BAD_INFO, ut->generation);
	else if (learned == LEARNED_CUT)
		rule = rule_make_end(UNWIND_NO_INFO, ut->generation);
	else if (learned != LEARNED_NOTHING)
		rule = rule_make(RULE_GUESS, ut->generation);
	if (rule.v && !modules_is_loader(key))
		rule_cache_add(&ut->rules, key, rule);
}

/* A frame without a rule. *end is WALK_ON and the result is the caller of f, or *end is why the
 * stack ends. */
COLD static struct frame step_without_rule(struct unwind_thread *ut, enum lookup what,
					   struct frame f, struct unwind_frames *out,
					   enum unwind_end *end)
{
	uintptr_t key = f.key;
	size_t n = out->n;

	*end = fp_walk_step(ut, what, &f, out);
	if (out->n > n)
		keep_verdict(ut, what, key);
	else if (*end == UNWIND_BAD_INFO)
		fp_walk_keep_not_called(ut, key);
	return f;
}

/* A frame by RULE_GUESS. */
COLD static struct frame step_by_guess(struct unwind_thread *ut, struct frame f,
				       struct unwind_frames *out, enum unwind_end *end)
{
	*end = walk_add(out, f.key) ? fp_walk_guess(ut, &f, out) : UNWIND_NO_ROOM;
	return f;
}

/* Walks by rules. Returns why the stack ends, or WALK_ON: the slow walk must walk this stack. f is
 * passed by value everywhere, so that it stays in registers. */
static enum unwind_end walk_fast(struct unwind_thread *ut, const struct unwind_start *start,
				 struct unwind_frames *out)
{
	struct frame f = {.key = start->pc, .sp = start->sp, .fp = start->fp};
	uint32_t generation = ut->generation;
	enum lookup what;
	enum unwind_end end;

	for (;;) {
		struct rule rule = rule_cache_find(&ut->rules, f.key, generation);
		enum rule_kind kind = rule_kind(rule);

		if (unlikely(kind == RULE_END && rule_end(rule) == RULE_NOT_CALLED)) {
			if (out->n)
				return UNWIND_BAD_INFO;
			rule.v = 0;
		}
		if (unlikely(!rule.v)) {
			rule = build_rule(ut, f.key, &what);
			kind = rule_kind(rule);
		}
		if (unlikely(kind == RULE_NONE || kind == RULE_GUESS)) {
			f = kind == RULE_NONE ? step_without_rule(ut, what, f, out, &end)
					      : step_by_guess(ut, f, out, &end);
			if (end != WALK_ON)
				return end;
			continue;
		}
		if (unlikely(kind == RULE_SLOW))
			return WALK_ON;
		if (unlikely(!walk_add(out, f.key + (kind == RULE_START))))
			return UNWIND_NO_ROOM;
		if (unlikely(kind == RULE_END || kind == RULE_START))
			return (enum unwind_end)rule_end(rule);
		f = step(&ut->memory, rule, f);
		if (unlikely(!f.key))
			return WALK_ON;
	}
}

static void begin(struct unwind_thread *ut, const struct unwind_start *start,
		  struct unwind_frames *out)
{
	out->n = 0;
	out->n_certain = SIZE_MAX;
	out->n_guess_words = 0;
	out->crossed_signal = false;
	out->signal_sp = 0;
	ut->is_uncertain = false;
	memory_begin(&ut->memory, start->sp + (uintptr_t)ARCH_RA_OFFSET); /* its lowest word */
}

static enum unwind_end walk(struct unwind_thread *ut, const struct unwind_start *start,
			    struct unwind_frames *out)
{
	enum unwind_end end = WALK_ON;

	ut->generation = unwind_generation();
	begin(ut, start, out);
	if (ut->use_cache && !(ut->generation & 1))
		end = walk_fast(ut, start, out);
	if (end == WALK_ON) {
		COUNT_ADD(ut->stats.n_slow_walks, 1);
		begin(ut, start, out);
		end = slow_walk_run(ut, start, out);
	}
	return end;
}

void unwind_walk(struct unwind_thread *ut, const struct unwind_start *start,
		 struct unwind_frames *out)
{
	if (unlikely(ut->stats.n_walks % RECONSIDER_WALKS == RECONSIDER_WALKS - 1))
		learned_reconsider();
	COUNT_ADD(ut->stats.n_walks, 1);
	if (unlikely(modules_is_loader(start->pc)) && image_set_lost()) {
		unwind_code_changing();
		unwind_code_changed();
	}
	out->end = walk(ut, start, out);
	if (unlikely(unwind_generation() != ut->generation))
		out->end =
			walk(ut, start, out); /* the walk found that its rules were out of date */
	if (out->n_certain > out->n)
		out->n_certain = out->n;
}
