/* The proof in record/address_owner.h as a model: a few lanes use a few addresses in every possible
 * order, up to a number of steps, and no lane ever takes an address for its own that another lane
 * used since.
 *
 * The model calls the real functions of address_owner.h, as the hooks do. A step is one of
 *   - the allocator gives a free address to a lane; the lane's event follows in a later step,
 *   - the lane's event of that allocation,
 *   - a lane decides about the release of any live block, whichever lane allocated it, and
 *     publishes it,
 *   - the allocator gets that block back; or realloc keeps it where it is,
 *   - time passes, by more than the margin of clocks that differ.
 * Each step of one lane may come between any two steps of the others. Every address has the same
 * stamp.
 */
#include "record/address_owner.h"

#include "harness/test.h"

enum {
	MAX_LANES = 3,
	MAX_ADDRESSES = 2,
};

/* What a lane is in the middle of, and at which address. */
enum doing {
	IDLE,
	ALLOCATING, /* has the address, not yet the event */
	RELEASING, /* has the event, still the address */
};

/* All that differs between two orders of steps. Lanes keep their tags in encoders; only the slots
 * of the model's addresses are ever used, so these are saved and restored. */
struct world {
	uint64_t stamp;
	uint64_t now_ticks;
	struct event_recent tag[MAX_LANES][MAX_ADDRESSES];
	enum doing doing[MAX_LANES];
	unsigned at[MAX_LANES]; /* index of the address of doing */
	bool is_free[MAX_ADDRESSES]; /* the allocator has it */
	bool is_busy[MAX_ADDRESSES]; /* a lane is in the middle of something there */
	unsigned last[MAX_ADDRESSES]; /* the lane of the last event, or MAX_LANES */
};

static struct event_encoder encoder[MAX_LANES];
static void *address[MAX_ADDRESSES];
static int64_t skew_ticks[MAX_LANES]; /* of the clock that a lane reads */
static unsigned n_lanes, n_addresses;
static uint64_t n_own, n_foreign, n_steps;

static struct event_recent *slot_of(unsigned lane, unsigned k)
{
	return &encoder[lane].recent[event_recent_slot((uintptr_t)address[k])];
}

static void load(const struct world *w)
{
	atomic_store_explicit(address_owner_stamp_slot(address[0]), w->stamp, memory_order_relaxed);
	for (unsigned i = 0; i < n_lanes; i++) {
		for (unsigned k = 0; k < n_addresses; k++)
			*slot_of(i, k) = w->tag[i][k];
	}
}

static void save(struct world *w)
{
	w->stamp = atomic_load_explicit(address_owner_stamp_slot(address[0]), memory_order_relaxed);
	for (unsigned i = 0; i < n_lanes; i++) {
		for (unsigned k = 0; k < n_addresses; k++)
			w->tag[i][k] = *slot_of(i, k);
	}
}

static uint64_t read_clock(const struct world *w, unsigned lane)
{
	return w->now_ticks + (uint64_t)skew_ticks[lane];
}

/* The claim. */
static void check_answer(const struct world *w, unsigned lane, unsigned k, bool is_own)
{
	CHECK(!is_own || w->last[k] == lane);
	n_own += is_own;
	n_foreign += !is_own && w->last[k] != lane;
}

static void put_event(struct world *w, unsigned lane, unsigned k, unsigned kind, uint64_t tag)
{
	struct event_call call = {.addr = (uintptr_t)address[k], .owner_tag = tag};

	event_remember_call(&encoder[lane], kind, &call);
	w->last[k] = lane;
}

static void allocate(struct world *w, unsigned lane, unsigned k)
{
	uint64_t tag = address_owner_on_alloc(&encoder[lane], address[k]);

	check_answer(w, lane, k, tag);
	put_event(w, lane, k, EVENT_MALLOC,
		  tag ? tag : address_owner_alloc_tag(read_clock(w, lane)));
}

static void release(struct world *w, unsigned lane, unsigned k)
{
	uint64_t tag = address_owner_on_release(&encoder[lane], address[k]);

	check_answer(w, lane, k, tag);
	if (!tag)
		tag = address_owner_publish_free(address[k], read_clock(w, lane));
	put_event(w, lane, k, EVENT_FREE, tag);
}

/* A lane begins something at an address: false if nothing is possible there. */
static bool begin(struct world *w, unsigned lane, unsigned k)
{
	if (w->is_busy[k])
		return false;
	w->doing[lane] = w->is_free[k] ? ALLOCATING : RELEASING;
	if (w->is_free[k])
		w->is_free[k] = false;
	else
		release(w, lane, k);
	w->at[lane] = k;
	w->is_busy[k] = true;
	return true;
}

/* A lane ends what it is in the middle of. */
static void end(struct world *w, unsigned lane, bool is_kept_in_place)
{
	unsigned k = w->at[lane];

	if (w->doing[lane] == ALLOCATING)
		allocate(w, lane, k);
	else if (is_kept_in_place)
		address_owner_on_resize_in_place(&encoder[lane], address[k]);
	else
		w->is_free[k] = true;
	w->doing[lane] = IDLE;
	w->is_busy[k] = false;
}

static void explore(const struct world *w, unsigned n_left);

static void go_on(struct world *w, unsigned n_left)
{
	save(w);
	n_steps++;
	if (n_left > 0)
		explore(w, n_left);
}

static void explore_lane(const struct world *w, unsigned lane, unsigned n_left)
{
	struct world next;

	for (unsigned k = 0; w->doing[lane] == IDLE && k < n_addresses; k++) {
		load(w);
		next = *w;
		if (begin(&next, lane, k))
			go_on(&next, n_left);
	}
	for (unsigned i = 0; w->doing[lane] != IDLE && i < 1u + (w->doing[lane] == RELEASING);
	     i++) {
		load(w);
		next = *w;
		end(&next, lane, i);
		go_on(&next, n_left);
	}
}

/* Every step that is possible now, and everything that may follow. */
static void explore(const struct world *w, unsigned n_left)
{
	struct world next = *w;

	for (unsigned lane = 0; lane < n_lanes; lane++)
		explore_lane(w, lane, n_left - 1);
	next.now_ticks += ADDRESS_OWNER_MARGIN_TICKS + 2;
	load(w);
	go_on(&next, n_left - 1);
}

/* Addresses with one stamp. In one slot of the encoder they push each other out. */
static void choose_addresses(bool share_encoder_slot)
{
	uintptr_t addr = 0x10000;

	address[0] = (void *)addr;
	do
		addr += 16;
	while (address_owner_stamp_slot((void *)addr) != address_owner_stamp_slot(address[0]) ||
	       (event_recent_slot(addr) == event_recent_slot(0x10000)) != share_encoder_slot);
	address[1] = (void *)addr;
}

static void run(unsigned lanes, unsigned addresses, unsigned n_left)
{
	struct world w = {.now_ticks = 1000};

	n_lanes = lanes;
	n_addresses = addresses;
	n_own = n_foreign = n_steps = 0;
	for (unsigned k = 0; k < MAX_ADDRESSES; k++) {
		w.is_free[k] = true;
		w.last[k] = MAX_LANES;
	}
	explore(&w, n_left);
	CHECK(n_own > n_steps / 100); /* the rule is of use ... */
	CHECK(n_foreign > n_steps / 100); /* ... and is put to the test */
}

static void set_skew(int64_t first, int64_t second, int64_t third)
{
	skew_ticks[0] = first;
	skew_ticks[1] = second;
	skew_ticks[2] = third;
}

TEST(address_owner_model_two_lanes_one_address)
{
	choose_addresses(false);
	set_skew(0, 0, 0);
	run(2, 1, 16);
}

TEST(address_owner_model_two_lanes_whose_clocks_differ)
{
	choose_addresses(false);
	set_skew(ADDRESS_OWNER_MARGIN_TICKS, 0, 0);
	run(2, 1, 16);
	set_skew(0, ADDRESS_OWNER_MARGIN_TICKS, 0);
	run(2, 1, 16);
}

TEST(address_owner_model_three_lanes_one_address)
{
	choose_addresses(false);
	set_skew(0, ADDRESS_OWNER_MARGIN_TICKS / 2, ADDRESS_OWNER_MARGIN_TICKS);
	run(3, 1, 13);
}

TEST(address_owner_model_two_addresses_with_one_stamp)
{
	choose_addresses(false);
	set_skew(0, 0, 0);
	run(2, 2, 11);
}

TEST(address_owner_model_two_addresses_that_push_each_other_out)
{
	choose_addresses(true);
	set_skew(0, 0, 0);
	run(2, 2, 11);
	set_skew(0, 0, ADDRESS_OWNER_MARGIN_TICKS);
	run(3, 2, 9);
}
