/* Packing blocks of numbers. */
#include "harness/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/pack.h"

static uint64_t random_state = 1;

static uint64_t random_u64(void)
{
	return hash_mix64(random_state++ * 0x9e3779b97f4a7c15ull);
}

/* Packs, checks the head, unpacks from a buffer that ends at an unreadable page, compares.
 * Returns the length. */
static size_t round_trip(const uint64_t *value, uint32_t n, bool is_sorted, struct pack_head *head)
{
	static _Alignas(64) uint8_t packed[PACK_MAX_BYTES];
	static uint64_t out[PACK_MAX_VALUES];
	size_t len, size_bytes = 1;
	uint64_t min = UINT64_MAX, max = 0;
	uint8_t *in;

	memset(packed, 0xa5, sizeof(packed));
	len = pack_encode(value, n, is_sorted, head, packed);
	CHECK(len <= PACK_MAX_BYTES);
	CHECK_EQ(len % 8, 0);
	CHECK(pack_check(head, &size_bytes));
	CHECK_EQ(size_bytes, len);
	for (uint32_t i = 0; i < n; i++) {
		min = value[i] < min ? value[i] : min;
		max = value[i] > max ? value[i] : max;
	}
	CHECK_EQ(head->min, min);
	CHECK_EQ(head->max, max);
	CHECK_EQ(head->last, n - 1);
	in = guard_buf_create(packed, len);
	pack_decode(head, in, out);
	CHECK_MEM_EQ(out, value, n * sizeof(*value));
	guard_buf_destroy(in, len);
	return len;
}

TEST(every_width_and_shift_comes_back)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	for (unsigned width = 0; width <= 64; width++) {
		uint64_t mask = width ? UINT64_MAX >> (64 - width) : 0;

		for (unsigned shift = 0; shift + width <= 64 && shift < 64; shift += 5) {
			for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
				value[i] = (random_u64() & mask) << shift;
			value[7] = mask << shift;
			value[8] = 0;
			value[9] = width ? 1ull << shift : 0; /* so that the shift is known */
			round_trip(value, PACK_MAX_VALUES, false, &head);
			CHECK_EQ(head.encoding, PACK_PLAIN);
			CHECK(head.width <= width);
			CHECK(width == 0 || head.shift == shift);
		}
	}
}

TEST(every_count_comes_back)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	for (uint32_t n = 1; n <= PACK_MAX_VALUES; n += n < 70 ? 1 : 97) {
		for (uint32_t i = 0; i < n; i++)
			value[i] = 1000000 + (random_u64() & 0x1fff);
		round_trip(value, n, false, &head);
		for (uint32_t i = 1; i < n; i++)
			value[i] = value[i - 1] + (random_u64() & 0xff);
		round_trip(value, n, true, &head);
		CHECK(n == 1 || head.encoding == PACK_DELTA || value[0] == value[n - 1]);
	}
}

TEST(equal_values_take_no_bytes)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
		value[i] = UINT64_MAX;
	CHECK_EQ(round_trip(value, PACK_MAX_VALUES, false, &head), 0);
	CHECK_EQ(round_trip(value, PACK_MAX_VALUES, true, &head), 0);
	CHECK_EQ(round_trip(value, 1, true, &head), 0);
	CHECK_EQ(head.width, 0);
}

TEST(few_great_values_do_not_widen_the_block)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;
	size_t len;

	for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
		value[i] = random_u64() & 0xff;
	value[0] = UINT64_MAX;
	value[1000] = 1ull << 40;
	value[PACK_MAX_VALUES - 1] = 1ull << 63;
	len = round_trip(value, PACK_MAX_VALUES, false, &head);
	CHECK_EQ(head.n_exceptions, 3);
	CHECK_EQ(head.width, 8);
	CHECK(len < PACK_MAX_VALUES + 64);
}

TEST(all_but_one_equal_is_an_exception)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	value[77] = 5;
	CHECK(round_trip(value, PACK_MAX_VALUES, false, &head) <= 24);
	CHECK_EQ(head.width, 0);
	CHECK_EQ(head.n_exceptions, 1);
}

TEST(sorted_values_are_stored_as_differences)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	value[0] = 1ull << 60;
	for (uint32_t i = 1; i < PACK_MAX_VALUES; i++)
		value[i] = value[i - 1] + 100 + (random_u64() & 63);
	value[PACK_MAX_VALUES - 1] += 1ull << 59; /* a long pause */
	CHECK(round_trip(value, PACK_MAX_VALUES, true, &head) < PACK_MAX_VALUES * 9 / 8);
	CHECK_EQ(head.encoding, PACK_DELTA);
	CHECK(round_trip(value, PACK_MAX_VALUES, false, &head) > PACK_MAX_VALUES * 9 / 8);
	value[5] = value[4] - 1; /* the hint is wrong: plain, and right */
	round_trip(value, PACK_MAX_VALUES, true, &head);
	CHECK_EQ(head.encoding, PACK_PLAIN);
}

TEST(the_whole_range_of_numbers_comes_back)
{
	static uint64_t value[PACK_MAX_VALUES];
	struct pack_head head;

	for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
		value[i] = random_u64() >> (random_u64() & 63);
	value[0] = 0;
	value[1] = UINT64_MAX;
	round_trip(value, PACK_MAX_VALUES, false, &head);
	for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
		value[i] = i < 100 ? 0 : UINT64_MAX - (PACK_MAX_VALUES - i);
	round_trip(value, PACK_MAX_VALUES, true, &head);
	CHECK_EQ(head.encoding, PACK_DELTA);
	for (uint32_t i = 0; i < PACK_MAX_VALUES; i++)
		value[i] = i * (UINT64_MAX / PACK_MAX_VALUES);
	round_trip(value, PACK_MAX_VALUES, true, &head);
}

/* Fills a head with anything that pack_check() lets through. */
static bool random_head(struct pack_head *head, size_t *size_bytes)
{
	uint64_t a = random_u64() >> (random_u64() & 63), b = random_u64() >> (random_u64() & 63);

	*head = (struct pack_head){
		.min = a < b ? a : b,
		.max = a < b ? b : a,
		.n_exceptions = (uint16_t)(random_u64() % 20),
		.last = (uint16_t)(random_u64() % 4200),
		.encoding = (uint8_t)(random_u64() % 4),
		.width = (uint8_t)(random_u64() % 67),
		.shift = (uint8_t)(random_u64() % 66),
		.exception_bytes = (uint8_t)(random_u64() % 10),
	};
	return pack_check(head, size_bytes);
}

TEST(any_bytes_give_values_within_the_bounds)
{
	static uint64_t out[PACK_MAX_VALUES];
	unsigned n_good = 0;

	for (unsigned i = 0; i < 3000; i++) {
		struct pack_head head;
		size_t size_bytes = 0, n_outside = 0;
		uint8_t *in;

		if (!random_head(&head, &size_bytes))
			continue;
		n_good++;
		in = guard_buf_create(NULL, size_bytes);
		for (size_t k = 0; k < size_bytes; k++)
			in[k] = (uint8_t)random_u64();
		pack_decode(&head, in, out);
		for (uint32_t k = 0; k <= head.last; k++)
			n_outside += out[k] < head.min || out[k] > head.max;
		CHECK_EQ(n_outside, 0);
		guard_buf_destroy(in, size_bytes);
	}
	CHECK(n_good > 500);
}

TEST(impossible_heads_are_refused)
{
	const struct pack_head good = {
		.min = 1, .max = 2, .last = 4095, .encoding = 1, .width = 64};
	struct pack_head h = good;
	size_t size_bytes;

	CHECK(pack_check(&h, &size_bytes));
	h.encoding = PACK_NONE;
	CHECK(!pack_check(&h, &size_bytes));
	h.encoding = PACK_DELTA + 1;
	CHECK(!pack_check(&h, &size_bytes));
	h = good;
	h.width = 65;
	CHECK(!pack_check(&h, &size_bytes));
	h = good;
	h.last = 4096;
	CHECK(!pack_check(&h, &size_bytes));
	h = good;
	h.min = 3;
	CHECK(!pack_check(&h, &size_bytes));
	h = good;
	h.shift = 64;
	CHECK(!pack_check(&h, &size_bytes));
	h = good;
	h.n_exceptions = 1;
	CHECK(!pack_check(&h, &size_bytes));
	h.exception_bytes = 9;
	CHECK(!pack_check(&h, &size_bytes));
	h.exception_bytes = 8;
	CHECK(pack_check(&h, &size_bytes));
	h.n_exceptions = 4097;
	CHECK(!pack_check(&h, &size_bytes));
}
