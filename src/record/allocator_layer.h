/* record/allocator_layer.h - functions that are an allocator, or pass each call on to one.
 *
 * The global allocator of a Rust program (__rust_alloc and its siblings) may be one that the recorder
 * does not know, or a layer above one that the recorder hooks: malloc, jemalloc. The first
 * allocations tell. A state only goes downwards:
 *
 *	TRYING	Calls of the layer are recorded, calls from inside the layer are not. So far each
 *		allocation entered the allocator below, whose number the events get.
 *	ASIDE	The layer passed on its first ALLOCATOR_LAYER_TRIALS allocations. From now on its
 *		calls go straight to the original, and the allocator below records them.
 *	OWN	An allocation was not passed on: the layer is an allocator. Its calls are recorded.
 *		The events keep the number of the allocator below if the layer passed on an allocation
 *		before, so that all of its blocks have one number; otherwise they get the layer's own.
 *
 * Threads: any, without locks. Nothing here allocates or changes errno.
 */
#ifndef RECORD_ALLOCATOR_LAYER_H
#define RECORD_ALLOCATOR_LAYER_H

#include <stdatomic.h>

#include "base/compiler.h"

#define ALLOCATOR_LAYER_TRIALS 256u

enum allocator_layer_kind {
	ALLOCATOR_LAYER_TRYING,
	ALLOCATOR_LAYER_ASIDE,
	ALLOCATOR_LAYER_OWN
};
#define ALLOCATOR_LAYER_KIND_SHIFT 24

struct allocator_layer {
	_Atomic uint32_t state; /* kind; number of the allocator; allocations that were passed on */
	uint32_t number; /* of the layer, should it be an allocator: allocator_numbers.h */
	unsigned n_functions; /* of the layer that are redirected */
};

/* A layer in state TRYING, which lives forever. NULL: there are too many. One thread at a time. */
struct allocator_layer *allocator_layer_create(uint32_t number);

/* Has the layer stepped aside? */
static inline bool allocator_layer_is_aside(const struct allocator_layer *layer)
{
	uint32_t state = atomic_load_explicit(&layer->state, memory_order_relaxed);

	return state >> ALLOCATOR_LAYER_KIND_SHIFT == ALLOCATOR_LAYER_ASIDE;
}

/* The allocator that this thread has entered since allocator_layer_begin(), plus 1; 0: none. */
extern _Thread_local uint32_t allocator_layer_entered;

/* A call of the layer begins. */
static inline void allocator_layer_begin(void)
{
	allocator_layer_entered = 0;
}

/* An allocation of the allocator with this number begins inside another call. */
static inline void allocator_layer_note(uint32_t number)
{
	if (!allocator_layer_entered)
		allocator_layer_entered = number + 1;
}

/* The layer has allocated a block. Returns the number of the allocator for the event. */
uint32_t allocator_layer_on_alloc(struct allocator_layer *layer);

/* The number of the allocator for the event of a block that the layer takes back. */
uint32_t allocator_layer_number(const struct allocator_layer *layer);

#endif
