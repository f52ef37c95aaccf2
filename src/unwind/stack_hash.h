/* unwind/stack_hash.h - a hash of a stack, made of the addresses of its frames and nothing else.
 *
 * The recorder keeps a table of edges (stack id, called address) -> stack id. A hash of the calling
 * stack is at hand before the id of that stack is: the memory of all edges of a new stack can be
 * fetched at once, before the first edge is waited for.
 */
#ifndef UNWIND_STACK_HASH_H
#define UNWIND_STACK_HASH_H

#include "base/compiler.h"

/* The hash of a stack: outer is the hash of its caller's stack (0 = no caller), addr the address of
 * its innermost frame. */
static ALWAYS_INLINE uint32_t stack_hash_add(uint32_t outer, uintptr_t addr)
{
	return ((outer << 15 | outer >> 17) ^ (uint32_t)addr) * 0x9e3779b1u;
}

/* The edge from the stack with this hash to a frame at addr, as one word. Two edges from one stack
 * have the same key only if their addresses are the same. Edges from different stacks hardly ever
 * have the same key, so a table must compare the id of the calling stack as well. */
static ALWAYS_INLINE uint64_t stack_hash_edge_key(uint32_t hash, uintptr_t addr)
{
	return addr ^ (uint64_t)hash << 32;
}

#endif
