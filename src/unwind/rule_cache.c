/* unwind/rule_cache.c - the second level of the rule cache, shared by all threads.
 *
 * Lock-free: an entry is two words, the rule and (key xor a hash of the rule). A reader that meets
 * halves of two entries computes a key that is not its own: a miss. The hash is there because rules
 * and keys often differ in few bits: without it, two such differences could cancel out.
 */
#include "unwind/rule_cache_i.h"

#include <stdatomic.h>

#include "base/hash.h"

#define SHARED_ENTRIES 65536u /* 1 MiB, of which the used pages exist */

struct shared_entry {
	_Atomic uint64_t rule;
	_Atomic uint64_t check;
};

static struct shared_entry shared[SHARED_ENTRIES];

static struct shared_entry *shared_at(uintptr_t key)
{
	return &shared[(key * 0x9e3779b97f4a7c15ull >> 20) % SHARED_ENTRIES];
}

static void add_private(struct rule_cache *c, uintptr_t key, struct rule rule)
{
	struct rule_cache_entry *set = c->set[rule_cache_hash(key) % RULE_CACHE_SETS];

	if (set[0].key != key)
		set[1] = set[0]; /* the newest is looked at first */
	set[0] = (struct rule_cache_entry){key, rule};
}

struct rule rule_cache_find_shared(struct rule_cache *c, uintptr_t key, uint32_t generation)
{
	struct shared_entry *e = shared_at(key);
	struct rule rule = {atomic_load_explicit(&e->rule, memory_order_relaxed)};
	uint64_t check = atomic_load_explicit(&e->check, memory_order_relaxed);

	if (!rule.v || (check ^ hash_mix64(rule.v)) != key || !rule_is_of(rule, generation))
		return (struct rule){0};
	add_private(c, key, rule);
	return rule;
}

void rule_cache_add(struct rule_cache *c, uintptr_t key, struct rule rule)
{
	struct shared_entry *e = shared_at(key);

	atomic_store_explicit(&e->rule, rule.v, memory_order_relaxed);
	atomic_store_explicit(&e->check, key ^ hash_mix64(rule.v), memory_order_relaxed);
	add_private(c, key, rule);
}
