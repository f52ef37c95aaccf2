/* record/allocator_layer.c - see allocator_layer.h. */
#include "record/allocator_layer.h"

#include "record/allocator_numbers.h"

#define MAX_LAYERS 8u

/* What the bits of allocator_layer.state mean. */
struct state {
	enum allocator_layer_kind kind;
	uint32_t number; /* of the allocator below, or of an own layer's events */
	uint32_t n_passed; /* allocations that were passed on */
};

static struct allocator_layer layers[MAX_LAYERS];
static unsigned n_layers;
_Thread_local uint32_t allocator_layer_entered;

static uint32_t pack(struct state s)
{
	return (uint32_t)s.kind << ALLOCATOR_LAYER_KIND_SHIFT | s.number << 16 | s.n_passed;
}

static struct state unpack(uint32_t state)
{
	return (struct state){
		.kind = (enum allocator_layer_kind)(state >> ALLOCATOR_LAYER_KIND_SHIFT),
		.number = state >> 16 & 0xff,
		.n_passed = state & 0xffff,
	};
}

struct allocator_layer *allocator_layer_create(uint32_t number)
{
	struct allocator_layer *layer;

	if (n_layers == MAX_LAYERS)
		return NULL;
	layer = &layers[n_layers++];
	layer->number = number;
	return layer;
}

/* The state after an allocation that entered the allocator entered - 1, or none. */
static struct state after_alloc(const struct allocator_layer *layer, struct state s,
				uint32_t entered)
{
	if (!entered || (s.n_passed && s.number != entered - 1))
		return (struct state){.kind = ALLOCATOR_LAYER_OWN,
				      .number = s.n_passed ? s.number : layer->number};
	s.number = entered - 1;
	s.n_passed++;
	s.kind = s.n_passed == ALLOCATOR_LAYER_TRIALS ? ALLOCATOR_LAYER_ASIDE
						      : ALLOCATOR_LAYER_TRYING;
	return s;
}

uint32_t allocator_layer_on_alloc(struct allocator_layer *layer)
{
	uint32_t old = atomic_load(&layer->state);
	struct state next;

	do {
		next = unpack(old);
		if (next.kind != ALLOCATOR_LAYER_TRYING)
			return next.number;
		next = after_alloc(layer, next, allocator_layer_entered);
	} while (!atomic_compare_exchange_weak(&layer->state, &old, pack(next)));
	if (next.kind == ALLOCATOR_LAYER_OWN && next.number == layer->number)
		allocator_numbers_publish(layer->number, layer->n_functions);
	return next.number;
}

uint32_t allocator_layer_number(const struct allocator_layer *layer)
{
	struct state s = unpack(atomic_load(&layer->state));

	return s.kind == ALLOCATOR_LAYER_TRYING && !s.n_passed ? layer->number : s.number;
}
