/* unwind/rule_cache_i.h - from the key of a frame to its rule, in two levels.
 *
 * The first level belongs to a thread and is looked at without any synchronisation; the second is
 * shared by all threads and lock-free (rule_cache.c). A rule carries its generation, so a rule of
 * code that is gone is never found again.
 */
#ifndef UNWIND_RULE_CACHE_I_H
#define UNWIND_RULE_CACHE_I_H

#include "unwind/rule_i.h"

#define RULE_CACHE_SETS 4096u /* per thread, two entries each */

struct rule_cache_entry {
	uintptr_t key;
	struct rule rule;
};

/* The first level. All zero is empty. */
struct rule_cache {
	struct rule_cache_entry set[RULE_CACHE_SETS][2];
};

static inline size_t rule_cache_hash(uintptr_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 40);
}

/* Looks into the second level and puts what it finds into the first. RULE_NONE: not found. */
struct rule rule_cache_find_shared(struct rule_cache *c, uintptr_t key, uint32_t generation);

/* Adds to both levels. */
void rule_cache_add(struct rule_cache *c, uintptr_t key, struct rule rule);

/* The rule of key, RULE_NONE when neither level has it. generation must be even. */
static inline struct rule rule_cache_find(struct rule_cache *c, uintptr_t key, uint32_t generation)
{
	struct rule_cache_entry *set = c->set[rule_cache_hash(key) % RULE_CACHE_SETS];

	if (likely(set[0].key == key && rule_is_of(set[0].rule, generation)))
		return set[0].rule;
	if (set[1].key == key && rule_is_of(set[1].rule, generation))
		return set[1].rule;
	return rule_cache_find_shared(c, key, generation);
}

#endif
