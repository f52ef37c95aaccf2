/* format/event.h - decoded events and the decoder of a block (docs/FORMAT.md section 5). */
#ifndef FORMAT_EVENT_H
#define FORMAT_EVENT_H

#include "base/cursor.h"
#include "format/block.h"

/* The byte that names the kind in a recording; rare kinds have bit 7 set, and not all three low bits
 * clear, which is the short form. */
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
};

/* Bits of the extras byte. */
#define EVENT_EXTRA_UNALIGNED 1u
#define EVENT_EXTRA_USABLE 2u
#define EVENT_EXTRA_ALIGNMENT 4u

/* The short form of calls (its low three bits are 0): the kind's place is taken by this one when a
 * REALLOC_BEGIN turned out to be the whole story. */
#define EVENT_SHORT_IN_PLACE 7u
#define EVENT_SHORT_WIDE 0x40u
#define EVENT_SHORT_KNOWN 0x80u
#define EVENT_SHORT_ADDR_BYTES 4u /* unless the address is known: arenas lie far apart */
#define EVENT_SHORT_ADDR_BIAS (1ull << 35)

/* Most calls are about an address that the lane named not long ago. So there is a table of places, each
 * with the last address that belongs there, and the short form of such a call names the place. */
#define EVENT_N_PLACES 256

static inline unsigned event_place(uint64_t addr)
{
	return addr / 16 % EVENT_N_PLACES;
}

#define EVENT_MAX_FIELDS 7
#define EVENT_MAX_BYTES 96 /* no record is longer, so this much room is always enough */

struct event {
	uint8_t kind; /* enum event_kind, or a rare kind that this version does not know */
	uint64_t ticks;
	uint64_t addr; /* block, or return address of EVENT_STACK */
	uint64_t size_bytes;
	uint32_t stack; /* id in this lane; of definitions: the id defined */
	uint32_t parent; /* definitions: the stack it extends, 0 = none */
	uint64_t usable_extra_bytes; /* usable beyond size_bytes */
	uint64_t alignment; /* 0: not told */
	uint64_t field[EVENT_MAX_FIELDS]; /* rare kinds: as in docs/FORMAT.md, zigzag undone */
};

struct event_decoder {
	struct cursor in;
	uint64_t ticks;
	uint64_t addr[2]; /* of the last block obtained, of the last one released */
	uint64_t code;
	uint32_t stack[2]; /* likewise */
	uint32_t next_stack;
	uint32_t generation;
	uint32_t lane; /* the user's: 0 at first, comes with each call */
	bool is_in_place; /* the second half of a realloc in place comes next: */
	uint32_t in_place_bytes; /* its size */
	uint64_t place[EVENT_N_PLACES]; /* addresses; 0: none yet */
};

/* data are the event bytes of the block that h describes; borrowed while decoding. */
void event_decoder_init(struct event_decoder *d, const struct block_header *h, const uint8_t *data,
			size_t len);

/* 1: *ret is the next event. 0: end of the block. -1: malformed at d->in.pos; *ret untouched. */
int event_decode(struct event_decoder *d, struct event *ret);

/* A call of the malloc family, in few bytes. Who reads recordings keeps it in the same place from here
 * to its end (ingest/stream.h), so some of it is for him to fill in. */
struct event_plain {
	union {
		uint64_t ticks;
		uint64_t at_ns; /* the reader's: since the start */
	};
	uint64_t addr;
	uint32_t size_bytes; /* 0 in releases */
	uint32_t stack; /* id in this lane; the reader's: number of struct stacks */
	uint32_t lane; /* event_decoder.lane */
	uint16_t extra_bytes; /* usable beyond size_bytes */
	uint8_t kind; /* EVENT_MALLOC to EVENT_FREE; the reader's: any other */
	uint8_t flags; /* 0; the reader's */
};

_Static_assert(sizeof(struct event_plain) == 32, "two to a cache line");

/* Decodes calls that have nothing special, which is nearly all events, as long as they come: as many
 * as *ret, with room for max (at least 2), was filled with. What comes next, if anything, is for
 * event_decode(): among the rest calls with so many bytes that they have no room in *ret. */
size_t event_decode_plain(struct event_decoder *d, struct event_plain *ret, size_t max);

/* EVENT_STACK, in few bytes. */
struct event_stack {
	uint64_t addr; /* return address */
	uint32_t stack; /* the id defined */
	uint32_t parent; /* the stack it extends, 0 = none */
};

/* The same for definitions: as many as follow one another, up to max. Their time is d->ticks. */
size_t event_decode_stacks(struct event_decoder *d, struct event_stack *ret, size_t max);

/* The same of an event that event_decode() gave, whose kind is one of those. False: its bytes have no
 * room there. */
static inline bool event_to_plain(const struct event *ev, uint32_t lane, struct event_plain *ret)
{
	if (ev->size_bytes > UINT32_MAX || ev->usable_extra_bytes > UINT16_MAX)
		return false;
	*ret = (struct event_plain){
		.ticks = ev->ticks,
		.addr = ev->addr,
		.size_bytes = (uint32_t)ev->size_bytes,
		.stack = ev->stack,
		.lane = lane,
		.extra_bytes = (uint16_t)ev->usable_extra_bytes,
		.kind = ev->kind,
	};
	return true;
}

/* The chunk that glibc takes for a request, and the usable bytes in it; events say so only when it was
 * otherwise. */
static inline uint64_t event_usual_chunk(uint64_t size_bytes)
{
	uint64_t chunk = (size_bytes + 23) & ~15ull;

	return chunk < 32 ? 32 : chunk;
}

static inline uint64_t event_usual_usable(uint64_t size_bytes)
{
	return event_usual_chunk(size_bytes) - 8;
}

/* Does a call of this kind (1 to 6) give a block back? Index into the addresses and
 * stacks kept. */
static inline bool event_is_release(unsigned kind)
{
	return kind == EVENT_FREE || kind == EVENT_REALLOC_BEGIN;
}

/* Is the event one that a call of the program made (not a definition or a note of ours)? */
bool event_is_call(unsigned kind);

#endif
