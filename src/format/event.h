/* format/event.h - decoded events, and the decoder of a block (docs/FORMAT.md section 5).
 *
 * event_decode() decodes any event. Nearly all events are calls with nothing special or definitions
 * of stacks; event_decode_calls() and event_decode_stacks() decode runs of these faster. A reader
 * asks all three in turn: each decodes what it can and leaves the rest to the others.
 *
 * Threads: a decoder belongs to one thread. Nothing allocates. The bytes are not trusted.
 */
#ifndef FORMAT_EVENT_H
#define FORMAT_EVENT_H

#include "base/cursor.h"
#include "format/block.h"

/* The kinds, as their byte in a recording. A rare kind has bit 7 set and at least one of the three
 * low bits; a byte whose three low bits are 0 begins a call in the short form. */
enum event_kind {
	EVENT_MALLOC = 1,
	EVENT_CALLOC = 2,
	EVENT_ALIGNED = 3,
	EVENT_REALLOC_BEGIN = 4,
	EVENT_REALLOC_END = 5,
	EVENT_FREE = 6,
	EVENT_STACK = 7,

	EVENT_RARE = 0x80,
	EVENT_TIME = 0x81,
	EVENT_REALLOC_CANCEL = 0x82,
	EVENT_REALLOC_FREED = 0x83,
	EVENT_REALLOC_UNTRACKED = 0x84,
	EVENT_STACK_END = 0x85,
	EVENT_STACK_GUESS = 0x86,
	EVENT_GENERATION = 0x87,
	EVENT_MUNMAP = 0x89,
	EVENT_MREMAP = 0x8a,
	EVENT_BRK = 0x8b,
	EVENT_MALLOPT = 0x8c,
	EVENT_MALLOC_TRIM = 0x8d,
	EVENT_MARKER = 0x8e,
	EVENT_TIMESTAMP_OVERRIDE = 0x8f,
	EVENT_SWITCH = 0x91,
	EVENT_PROCESS_END = 0x92,
	EVENT_EXEC_FAILED = 0x93,
	EVENT_FORK = 0x94,
	EVENT_MMAP = 0x95,
	EVENT_LOST = 0x96,
	EVENT_FORGET = 0x97,
	EVENT_ALLOCATOR = 0x99,
	EVENT_CULLED = 0x9a,
	EVENT_CULLED_REALLOCS = 0x9b,
};

/* Allocators have numbers. 0 is the C library's, or whichever allocator the program calls by the names
 * of the C library. The others are inside the program: docs/FORMAT.md 5.6. */
#define EVENT_N_ALLOCATORS 32u

/* Bits of the extras byte of a call in the long form. */
#define EVENT_EXTRA_UNALIGNED 1u
#define EVENT_EXTRA_USABLE 2u
#define EVENT_EXTRA_ALIGNMENT 4u

/* The short form of calls. Its first byte: bits 0-2 are 0, bits 3-5 the kind, or
 * EVENT_SHORT_IN_PLACE: a whole realloc that left its block where it was, two events in one
 * record. */
#define EVENT_SHORT_IN_PLACE 7u
#define EVENT_SHORT_WIDE 0x40u /* size and stack have two bytes each, not one */
#define EVENT_SHORT_KNOWN 0x80u /* a slot of the recent addresses stands for the address */
#define EVENT_SHORT_ADDR_BYTES 4u /* unless the address is known: arenas lie far apart */
#define EVENT_SHORT_ADDR_BIAS (1ull << 35)

/* Most calls are about an address that the lane named not long ago. So encoder and decoder keep a
 * table of recent addresses: each slot has the last address that belongs there, and the short form
 * of a call about such an address has the number of the slot. */
#define EVENT_N_RECENT 256

static inline unsigned event_recent_slot(uint64_t addr)
{
	return addr / 16 % EVENT_N_RECENT;
}

#define EVENT_MAX_FIELDS 7
#define EVENT_MAX_BYTES 96 /* no record is longer, so this much room is always enough */

struct event {
	uint8_t kind; /* enum event_kind, or a rare kind that this version does not know */
	uint8_t allocator; /* of calls: its number */
	uint64_t ticks;
	uint64_t addr; /* block, or return address of EVENT_STACK */
	uint64_t size_bytes;
	uint32_t stack; /* id in this lane; of definitions: the id that is defined */
	uint32_t parent; /* definitions: id of the stack that the new one extends, 0 = none */
	uint64_t usable_extra_bytes; /* usable beyond size_bytes */
	uint64_t alignment; /* 0: not known */
	uint64_t field[EVENT_MAX_FIELDS]; /* rare kinds: as in docs/FORMAT.md, zigzag undone */
};

struct event_decoder {
	struct cursor in;
	uint64_t ticks;
	uint64_t addr[2]; /* of the last block allocated, of the last block released */
	uint64_t code; /* return address of the last definition */
	uint32_t stack[2]; /* of the last call that allocated, of the last that released */
	uint32_t next_stack; /* the id that the next definition gets */
	uint32_t generation; /* of the code that stacks are defined in: unwind/unwind.h */
	uint32_t lane; /* for the user to set: copied into each struct event_compact */
	uint8_t allocator; /* of the calls that follow */
	bool is_in_place; /* the second event of a realloc in place comes next ... */
	uint32_t in_place_bytes; /* ... with this size */
	uint64_t recent[EVENT_N_RECENT]; /* addresses by event_recent_slot(); 0: none yet */
};

/* Starts at the beginning of a block: data are the event bytes of the block that h describes,
 * borrowed while decoding. */
void event_decoder_init(struct event_decoder *d, const struct block_header *h, const uint8_t *data,
			size_t len);

/* Decodes the next event. 1: *ret is the event. 0: end of the block. -1: malformed at d->in.pos,
 * and *ret is untouched. */
int event_decode(struct event_decoder *d, struct event *ret);

/* Where event_compact.flags holds the number of the allocator. */
#define EVENT_ALLOCATOR_SHIFT 3

/* A call of the malloc family in 32 bytes. The reader of a recording (ingest/stream.h) does not
 * copy it: it replaces fields of the decoder by its own, in the same memory. */
struct event_compact {
	union {
		uint64_t ticks; /* decoder */
		uint64_t at_ns; /* reader: time since the start of the recording */
	};
	uint64_t addr;
	uint32_t size_bytes; /* 0 in releases */
	union {
		uint32_t stack_id; /* decoder: id in this lane */
		uint32_t stack; /* reader: number of the stack in struct stacks */
	};
	uint32_t lane; /* event_decoder.lane */
	uint16_t extra_bytes; /* usable beyond size_bytes */
	uint8_t kind; /* decoder: EVENT_MALLOC to EVENT_FREE; reader: any kind */
	uint8_t flags; /* decoder: the allocator << EVENT_ALLOCATOR_SHIFT; reader: its bits below */
};

_Static_assert(sizeof(struct event_compact) == 32, "two to a cache line");

/* Decodes calls that have nothing special, as long as they come, into ret[max]; max is at least 2.
 * Returns how many. What comes next, if anything, is for event_decode(): for example a call with a
 * size that does not fit into struct event_compact. */
size_t event_decode_calls(struct event_decoder *d, struct event_compact *ret, size_t max);

/* EVENT_STACK in 16 bytes: the definition of a stack. */
struct event_stack {
	uint64_t addr; /* return address */
	uint32_t stack; /* the id that is defined */
	uint32_t parent; /* id of the stack that the new one extends, 0 = none */
};

/* Decodes definitions as long as they come, into ret[max]. Returns how many. Their time is
 * d->ticks. */
size_t event_decode_stacks(struct event_decoder *d, struct event_stack *ret, size_t max);

/* The number of the allocator that the call is about. */
static inline uint8_t event_compact_allocator(const struct event_compact *c)
{
	return c->flags >> EVENT_ALLOCATOR_SHIFT;
}

_Static_assert(EVENT_N_ALLOCATORS << EVENT_ALLOCATOR_SHIFT == 256, "the numbers fill the flags");

/* Converts a call (EVENT_MALLOC to EVENT_FREE) that event_decode() gave. False: its size does not
 * fit. */
static inline bool event_to_compact(const struct event *ev, uint32_t lane,
				    struct event_compact *ret)
{
	if (ev->size_bytes > UINT32_MAX || ev->usable_extra_bytes > UINT16_MAX)
		return false;
	*ret = (struct event_compact){
		.ticks = ev->ticks,
		.addr = ev->addr,
		.size_bytes = (uint32_t)ev->size_bytes,
		.stack_id = ev->stack,
		.lane = lane,
		.extra_bytes = (uint16_t)ev->usable_extra_bytes,
		.kind = ev->kind,
		.flags = (uint8_t)(ev->allocator << EVENT_ALLOCATOR_SHIFT),
	};
	return true;
}

/* The chunk that glibc takes for a request, and the usable bytes in it. An event carries its usable
 * size only when it differs from this. */
static inline uint64_t event_usual_chunk(uint64_t size_bytes)
{
	uint64_t chunk = (size_bytes + 23) & ~15ull;

	return chunk < 32 ? 32 : chunk;
}

static inline uint64_t event_usual_usable(uint64_t size_bytes)
{
	return event_usual_chunk(size_bytes) - 8;
}

/* Whether a call of this kind (1 to 6) releases a block: frees it or hands it to realloc. Also the
 * index into addr[] and stack[] of encoder and decoder. */
static inline bool event_is_release(unsigned kind)
{
	return kind == EVENT_FREE || kind == EVENT_REALLOC_BEGIN;
}

/* Sums of calls that the recorder left out (docs/FORMAT.md 5.7): the fields. */
enum event_culled_field {
	CULLED_N,
	CULLED_BYTES,
	CULLED_N_TEMPORARY,
	CULLED_TEMPORARY_BYTES,
	CULLED_MIN_BYTES,
	CULLED_MAX_BYTES,
	CULLED_STACK,
};

static inline bool event_is_culled(unsigned kind)
{
	return kind == EVENT_CULLED || kind == EVENT_CULLED_REALLOCS;
}

/* Whether a call of the program made the event, not the recorder itself (a definition, a mark). */
bool event_is_call(unsigned kind);

#endif
