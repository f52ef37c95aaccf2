/* record/stack.h - the stack of an event: walk it, name it by an id of the lane. */
#ifndef RECORD_STACK_H
#define RECORD_STACK_H

#include "record/thread.h"
#include "unwind/caller_hint.h"
#include "unwind/join_cache.h"
#include "unwind/stack_hash.h"
#include "unwind/walk_memo.h"

/* The rest of stack_capture(), for when stack_quick() did not know the stack. */
uint32_t stack_capture_behind(struct lane *lane, const struct unwind_start *at);

/* The rest of stack_quick(): a memo of this start that joins another stack than before, and a leaf that was
 * not called from there before. */
uint32_t stack_join(struct lane *lane, struct walk_memo *memo, uintptr_t fp);
uint32_t stack_call(struct lane *lane, uint32_t caller, uint32_t stack_hash, uintptr_t pc);
uint32_t stack_audit_known(struct lane *lane, const struct unwind_start *at, uint32_t id);

/* A caller was seen, and this leaf. The same few leaves follow one another below all callers (a string's
 * block, then its node's), so the edge that is wanted next is fetched now: it is one of tens of
 * thousands, and far from the CPU. */
static ALWAYS_INLINE void stack_expect(struct lane *lane, uint32_t stack_hash, uintptr_t leaf)
{
	*lane->after_leaf = leaf;
	lane->leaf = leaf;
	lane->after_leaf =
		&lane->after[leaf * 0x9e3779b97f4a7c15ull / (UINT64_MAX / LANE_LEAVES + 1)];
	edges_fetch(&lane->edges, stack_hash_edge_key(stack_hash, *lane->after_leaf));
}

/* The id of the stack, if a look at a memo or at the caller's stack is enough; else 0: then
 * stack_capture_behind() must be asked. memo: what walk_memo_slot() gave, or NULL. */
static ALWAYS_INLINE uint32_t stack_quick(struct lane *lane, struct walk_memo *memo,
					  const struct unwind_start *at)
{
	struct unwind_thread *ut = lane_unwinder(lane);
	uint32_t caller, stack_hash, id;

	if (caller_hint_exists(ut, at)) {
		caller = caller_hint_find(ut, at, &stack_hash);
		if (!caller)
			return 0;
		stack_expect(lane, stack_hash, at->pc);
		id = edges_find(&lane->edges, caller, stack_hash_edge_key(stack_hash, at->pc));
		if (unlikely(!id))
			return stack_call(lane, caller, stack_hash, at->pc);
		stack_cache_count_hit(ut);
		return id;
	}
	if (!memo)
		memo = walk_memo_slot(ut, at);
	if (!walk_memo_is_of(ut, memo, at))
		return 0;
	return walk_memo_joins_same(ut, memo) ? walk_memo_stack_id(ut, memo, at)
					      : stack_join(lane, memo, at->fp);
}

/* Walks the stack from at, defines in the lane's block what is new of it, and returns its id.
 * 0 only when the stack is empty or there was no room to define it.
 *
 * Ids that the path knows are of its generation, which is the lane's: both change in
 * stack_capture_behind() only, together. */
static ALWAYS_INLINE uint32_t stack_capture(struct lane *lane, const struct unwind_start *at)
{
	uint32_t id = stack_quick(lane, NULL, at);

	if (CONFIG_AUDIT && id)
		return stack_audit_known(lane, at, id);
	return likely(id) ? id : stack_capture_behind(lane, at);
}

/* Forgets all ids: code was replaced, or a block with definitions was lost. Stacks are defined anew
 * from here on. */
void stack_forget(struct lane *lane);

#endif
