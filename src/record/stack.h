/* record/stack.h - the stack of an event: walk it, and name it by an id of the lane.
 *
 * An event does not hold its stack but an id. The lane's events define each id before its first
 * use: id = (id of the caller's stack, return address). Example: main calls f, f calls malloc.
 *
 *	id 1 = (0, return address in main)
 *	id 2 = (1, return address in f)     the stack of the malloc
 *
 * Ids count up from 1 in each lane. stack_forget() makes all ids void, but the count goes on: no id
 * is defined twice. Only a lane that begins anew for another thread of the recording (lane_reset())
 * counts from 1 again.
 *
 * How the id of an event's stack is found:
 *   1. A caller hint (unwind/caller_hint.h): the caller's stack is known without a walk. The stack
 *      is one frame more; stack_id_cache.h knows its id, or the id is defined.
 *   2. If there is no hint for this call: a memo (unwind/walk_memo.h), a walk that was seen before.
 *      The memo holds the innermost frames, up to a frame of the stack that the unwinder keeps from
 *      the last event (the cached stack). If the stack outside of the memo's frames is the same as
 *      it was, the memo has the id. Otherwise stack_join() finds or defines the id.
 *   3. stack_capture_slow() asks the unwinder for other memos, then walks. Frames of the cached
 *      stack that have not changed since the last event have ids. For each frame inside these,
 *      stack_id_cache.h knows the id, or the id is defined.
 *
 * Ids belong to a generation of loaded code. The lane and its unwinder change their generation
 * together, in stack_capture_slow() only. Hints and memos of another generation than now are
 * refused. So a cache never gives an id of another generation.
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

/* Parts of stack_find_fast(), returning an id or 0. stack_join(): step 2, if the stack outside the
 * memo's frames is another one than the last time. stack_call(): step 1, if stack_id_cache.h does
 * not know the id; defines the id. */
uint32_t stack_join(struct lane *lane, struct walk_memo *memo, uintptr_t fp);
uint32_t stack_call(struct lane *lane, uint32_t caller, uint32_t stack_hash, uintptr_t pc);

/* CONFIG_AUDIT: compares a stack that was found without a walk with a walk in full. Counts
 * comparisons and differences in the lane. Returns id. */
uint32_t stack_audit_known(struct lane *lane, const struct unwind_start *at, uint32_t id);

/* Predicts the next leaf (the address that calls a hook) and prefetches the entry of
 * stack_id_cache.h for this leaf and the same caller. A wrong prediction costs time only.
 *
 * The same few leaves follow one another, whatever the caller: a map allocates a string, then the
 * node that holds the string. So the lane remembers for each leaf which leaf came after it. The
 * entry is one of tens of thousands, mostly out of the CPU's caches. lane->leaf is for stack.c. */
static ALWAYS_INLINE void stack_expect(struct lane *lane, uint32_t stack_hash, uintptr_t leaf)
{
	*lane->after_leaf = leaf;
	lane->leaf = leaf;
	lane->after_leaf =
		&lane->after[leaf * 0x9e3779b97f4a7c15ull / (UINT64_MAX / LANE_LEAVES + 1)];
	stack_id_cache_prefetch(&lane->stack_ids,
				stack_hash_edge_key(stack_hash, *lane->after_leaf));
}

/* The id of the stack, if steps 1 and 2 find the id without a walk; else 0: then call
 * stack_capture_slow(). May define ids in the lane's events. memo: walk_memo_slot() of this start
 * if the caller has it already, or NULL. */
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

/* The id of the stack that begins at `at`. Walks the stack if it must, and defines new ids in the
 * lane's events. 0: the stack is empty, or there was no room for a definition; the event then has
 * no stack. */
static ALWAYS_INLINE uint32_t stack_capture(struct lane *lane, const struct unwind_start *at)
{
	uint32_t id = stack_find_fast(lane, NULL, at);

	if (CONFIG_AUDIT && id)
		return stack_audit_known(lane, at, id);
	return likely(id) ? id : stack_capture_slow(lane, at);
}

/* Forgets all ids of the lane: loaded code has changed, events with definitions were lost, or there
 * are too many ids. Each stack is defined again, under a new id, when it is next used. */
void stack_forget(struct lane *lane);

#endif
