/* record/stack.h - the stack of an event: walk it, and name it by an id of the lane.
 *
 * An event does not hold its stack but an id. The lane's block defines each id before its first
 * use: id = (id of the caller's stack, return address). Ids count up from 1 in each lane. Three
 * caches, asked in this order, find the id without a definition:
 *   1. the unwinder's memos and caller hints (unwind/): a stack that was seen before, without a
 *      walk;
 *   2. the unwinder's cached stack: ids of the frames that have not changed since the last event;
 *   3. stack_id_cache.h: the id of one more frame.
 *
 * Ids belong to a generation of loaded code. The lane and its unwinder change their generation
 * together, in stack_capture_slow() only, so ids in the caches are never of another generation.
 *
 * Threads: the lane's own.
 */
#ifndef RECORD_STACK_H
#define RECORD_STACK_H

#include "record/lane.h"
#include "unwind/caller_hint.h"
#include "unwind/join_cache.h"
#include "unwind/stack_hash.h"
#include "unwind/walk_memo.h"

/* The rest of stack_capture(), for a stack that stack_find_fast() did not find. Walks if it must.
 * 0: as stack_capture(). */
uint32_t stack_capture_slow(struct lane *lane, const struct unwind_start *at);

/* Parts of stack_find_fast(), returning an id or 0. stack_join(): the memo of this start joins
 * another stack than the last time. stack_call(): the caller's stack is known, and this call from
 * there is new. */
uint32_t stack_join(struct lane *lane, struct walk_memo *memo, uintptr_t fp);
uint32_t stack_call(struct lane *lane, uint32_t caller, uint32_t stack_hash, uintptr_t pc);

/* CONFIG_AUDIT: compares a stack that was found without a walk with a walk in full, and counts it.
 * Returns id. */
uint32_t stack_audit_known(struct lane *lane, const struct unwind_start *at, uint32_t id);

/* Predicts the next leaf (the address that calls a hook) and prefetches its stack id. The same few
 * leaves follow one another below all callers: a string's block, then its node's. So the lane
 * remembers for each leaf which one came after it. The entry to be prefetched is one of tens of
 * thousands, mostly out of the CPU's caches. */
static ALWAYS_INLINE void stack_expect(struct lane *lane, uint32_t stack_hash, uintptr_t leaf)
{
	*lane->after_leaf = leaf;
	lane->leaf = leaf;
	lane->after_leaf =
		&lane->after[leaf * 0x9e3779b97f4a7c15ull / (UINT64_MAX / LANE_LEAVES + 1)];
	stack_id_cache_prefetch(&lane->stack_ids,
				stack_hash_edge_key(stack_hash, *lane->after_leaf));
}

/* The id of the stack, if a memo or the caller's stack shows it without a walk; else 0: then call
 * stack_capture_slow(). memo: the memo's slot for this start if it is known already, or NULL. */
static ALWAYS_INLINE uint32_t stack_find_fast(struct lane *lane, struct walk_memo *memo,
					      const struct unwind_start *at)
{
	struct unwind_thread *ut = lane_unwinder(lane);
	uint32_t caller, stack_hash, id;

	if (caller_hint_exists(ut, at)) {
		caller = caller_hint_find(ut, at, &stack_hash);
		if (!caller)
			return 0;
		stack_expect(lane, stack_hash, at->pc);
		id = stack_id_cache_find(&lane->stack_ids, caller,
					 stack_hash_edge_key(stack_hash, at->pc));
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

/* The id of the stack that begins at `at`. Walks the stack if it must, and defines in the lane's
 * block what is new of it. 0: the stack is empty, or there was no room to define it. */
static ALWAYS_INLINE uint32_t stack_capture(struct lane *lane, const struct unwind_start *at)
{
	uint32_t id = stack_find_fast(lane, NULL, at);

	if (CONFIG_AUDIT && id)
		return stack_audit_known(lane, at, id);
	return likely(id) ? id : stack_capture_slow(lane, at);
}

/* Forgets all ids of the lane: code was replaced, or a block with definitions was lost. Stacks are
 * defined again from here on. */
void stack_forget(struct lane *lane);

#endif
