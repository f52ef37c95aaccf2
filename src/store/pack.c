/* store/pack.c - see pack.h.
 *
 * Loops over stripes have a fixed count and no branches: gcc and clang vectorise them at -O2.
 */
#include "store/pack.h"

#include <string.h>

#include "base/bits.h"

_Static_assert(sizeof(struct pack_head) == 24, "lies in the file");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "blocks are used as they lie in the file");
_Static_assert(PACK_TILE == PACK_STRIPES * 64, "a row of a tile is one word of each stripe");

#define TILE_ROWS (PACK_TILE / PACK_STRIPES)
#define N_WIDTHS 65
#define POSITION_BITS 16
#define EXCEPTIONS_FIXED_BITS (2 * 64) /* rounding, when there are any */

static unsigned bit_width(uint64_t value)
{
	return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

static uint64_t width_mask(unsigned width)
{
	return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

static uint32_t padded(uint32_t n)
{
	return (uint32_t)align_up(n, PACK_TILE);
}

static size_t tiles_bytes(uint32_t n, unsigned width)
{
	return (size_t)padded(n) / 8 * width;
}

static size_t positions_bytes(uint32_t n_exceptions)
{
	return align_up((size_t)n_exceptions * 2, 8);
}

/* With 8 bytes at the end, so that 8 bytes can be loaded at the last value. */
static size_t exceptions_bytes(uint32_t n_exceptions, unsigned exception_bytes)
{
	if (n_exceptions == 0)
		return 0;
	return positions_bytes(n_exceptions) + align_up((size_t)n_exceptions * exception_bytes, 8) +
	       8;
}

/* ---- encoding ---- */

/* What the values of a block have in common. */
struct survey {
	uint64_t min;
	uint64_t max;
	bool is_sorted;
};

static void survey_values(const uint64_t *value, uint32_t n, struct survey *s)
{
	uint64_t min = value[0], max = value[0];
	bool is_sorted = true;

	for (uint32_t i = 1; i < n; i++) {
		min = value[i] < min ? value[i] : min;
		max = value[i] > max ? value[i] : max;
		is_sorted &= value[i] >= value[i - 1];
	}
	*s = (struct survey){min, max, is_sorted};
}

/* Step 1 of pack.h. Pads with zeroes up to whole tiles. Returns the OR of all results. */
static uint64_t reduce(const uint64_t *restrict value, uint32_t n, const struct pack_head *head,
		       uint64_t *restrict reduced)
{
	uint64_t bits = 0;

	if (head->encoding == PACK_DELTA) {
		reduced[0] = 0;
		for (uint32_t i = 1; i < n; i++) {
			reduced[i] = value[i] - value[i - 1];
			bits |= reduced[i];
		}
	} else {
		for (uint32_t i = 0; i < n; i++) {
			reduced[i] = value[i] - head->min;
			bits |= reduced[i];
		}
	}
	memset(reduced + n, 0, (padded(n) - n) * sizeof(*reduced));
	return bits;
}

/* Step 2 of pack.h. Counts how many values need how many bits. */
static void count_widths(uint64_t *reduced, uint32_t n, unsigned shift, uint32_t count[N_WIDTHS])
{
	uint32_t part[4][N_WIDTHS] = {
		0}; /* four counters, so that an increment need not wait for the one before */
	uint32_t n_padded = padded(n);

	for (uint32_t i = 0; i < n_padded; i += 4) {
		for (unsigned k = 0; k < 4; k++) {
			reduced[i + k] >>= shift;
			part[k][bit_width(reduced[i + k])]++;
		}
	}
	for (unsigned w = 0; w < N_WIDTHS; w++)
		count[w] = part[0][w] + part[1][w] + part[2][w] + part[3][w];
}

static void choose_width(const uint32_t count[N_WIDTHS], uint32_t n, unsigned greatest,
			 struct pack_head *head)
{
	unsigned exception_bytes = (greatest + 7) / 8;
	uint64_t best_bits = (uint64_t)padded(n) * greatest;
	uint32_t n_exceptions = 0;

	*head = (struct pack_head){.min = head->min,
				   .max = head->max,
				   .last = head->last,
				   .encoding = head->encoding,
				   .shift = head->shift,
				   .width = (uint8_t)greatest};
	for (unsigned w = greatest; w-- > 0;) {
		uint64_t bits;

		n_exceptions += count[w + 1];
		bits = (uint64_t)padded(n) * w + EXCEPTIONS_FIXED_BITS +
		       (uint64_t)n_exceptions * (POSITION_BITS + 8 * exception_bytes);
		if (bits < best_bits) {
			best_bits = bits;
			head->width = (uint8_t)w;
			head->n_exceptions = (uint16_t)n_exceptions;
			head->exception_bytes = (uint8_t)exception_bytes;
		}
	}
}

/* Moves values that need more bits than the width to out, as exceptions. */
static void take_exceptions(uint64_t *reduced, uint32_t n, const struct pack_head *head,
			    uint8_t *out)
{
	uint64_t greatest = width_mask(head->width);
	uint8_t *position = out, *value = out + positions_bytes(head->n_exceptions);
	size_t size_bytes = exceptions_bytes(head->n_exceptions, head->exception_bytes);

	memset(out, 0, size_bytes);
	for (uint32_t i = 0; i < n; i++) {
		uint16_t at = (uint16_t)i;

		if (likely(reduced[i] <= greatest))
			continue;
		memcpy(position, &at, sizeof(at));
		position += sizeof(at);
		memcpy(value, &reduced[i], head->exception_bytes);
		value += head->exception_bytes;
		reduced[i] = 0;
	}
}

static void pack_tile(const uint64_t *restrict in, unsigned width, uint64_t *restrict out)
{
	memset(out, 0, (size_t)width * PACK_STRIPES * sizeof(*out));
	for (unsigned row = 0; row < TILE_ROWS; row++) {
		unsigned bit = row * width, at = bit & 63;
		const uint64_t *v = in + (size_t)row * PACK_STRIPES;
		uint64_t *word = out + (size_t)(bit >> 6) * PACK_STRIPES;

		for (unsigned l = 0; l < PACK_STRIPES; l++)
			word[l] |= v[l] << at;
		if (at + width <= 64)
			continue;
		for (unsigned l = 0; l < PACK_STRIPES; l++)
			word[l + PACK_STRIPES] |= v[l] >> (64 - at);
	}
}

size_t pack_encode(const uint64_t *value, uint32_t n, bool is_sorted, struct pack_head *head,
		   uint8_t *out)
{
	uint64_t reduced[PACK_MAX_VALUES];
	uint32_t count[N_WIDTHS];
	struct survey survey;
	uint64_t bits;
	size_t at;

	ASSERT(n >= 1 && n <= PACK_MAX_VALUES);
	survey_values(value, n, &survey);
	*head = (struct pack_head){.min = survey.min,
				   .max = survey.max,
				   .last = (uint16_t)(n - 1),
				   .encoding = PACK_PLAIN};
	if (survey.min == survey.max)
		return 0;
	if (is_sorted && survey.is_sorted)
		head->encoding = PACK_DELTA;
	bits = reduce(value, n, head, reduced);
	head->shift = (uint8_t)__builtin_ctzll(bits);
	count_widths(reduced, n, head->shift, count);
	choose_width(count, n, bit_width(bits >> head->shift), head);
	at = tiles_bytes(n, head->width);
	if (head->n_exceptions)
		take_exceptions(reduced, n, head, out + at);
	for (uint32_t i = 0; head->width > 0 && i < n; i += PACK_TILE)
		pack_tile(reduced + i, head->width,
			  (uint64_t *)(void *)(out + tiles_bytes(i, head->width)));
	return at + exceptions_bytes(head->n_exceptions, head->exception_bytes);
}

/* ---- decoding ---- */

bool pack_check(const struct pack_head *head, size_t *size_bytes)
{
	uint32_t n = (uint32_t)head->last + 1;

	if (head->encoding != PACK_PLAIN && head->encoding != PACK_DELTA)
		return false;
	if (n > PACK_MAX_VALUES || head->width > 64 || head->shift > 63 || head->min > head->max)
		return false;
	if (head->n_exceptions > n || head->exception_bytes > 8 ||
	    (head->n_exceptions > 0) != (head->exception_bytes > 0))
		return false;
	*size_bytes = tiles_bytes(n, head->width) +
		      exceptions_bytes(head->n_exceptions, head->exception_bytes);
	return true;
}

/* How the bits of a block become values: value = base + (bits << shift). */
struct scale {
	uint64_t base;
	uint64_t range; /* the greatest bits << shift that is allowed */
	unsigned width;
	unsigned shift;
};

/* Unpacks a tile. If range and all values are below 2^63, the result has its top bit set exactly
 * when a value lies beyond the range: range - x is negative then. */
static uint64_t unpack_tile(const uint64_t *restrict in, const struct scale *scale,
			    uint64_t *restrict out)
{
	const uint64_t mask = width_mask(scale->width), base = scale->base, range = scale->range;
	const unsigned width = scale->width, shift = scale->shift;
	uint64_t beyond[PACK_STRIPES] = {0}, any = 0;

	for (unsigned row = 0; row < TILE_ROWS; row++) {
		unsigned bit = row * width, at = bit & 63;
		const uint64_t *word = in + (size_t)(bit >> 6) * PACK_STRIPES;
		uint64_t *v = out + (size_t)row * PACK_STRIPES;

		if (at + width <= 64) {
			for (unsigned l = 0; l < PACK_STRIPES; l++) {
				uint64_t x = ((word[l] >> at) & mask) << shift;

				beyond[l] |= range - x;
				v[l] = base + x;
			}
		} else {
			for (unsigned l = 0; l < PACK_STRIPES; l++) {
				uint64_t x = (word[l] >> at | word[l + PACK_STRIPES] << (64 - at)) &
					     mask;

				x <<= shift;
				beyond[l] |= range - x;
				v[l] = base + x;
			}
		}
	}
	for (unsigned l = 0; l < PACK_STRIPES; l++)
		any |= beyond[l];
	return any;
}

static uint64_t unpack_tiles(const struct scale *scale, const uint8_t *in, uint32_t n,
			     uint64_t *out)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i += PACK_TILE)
		any |= unpack_tile(
			(const uint64_t *)(const void *)(in + tiles_bytes(i, scale->width)), scale,
			out + i);
	return any;
}

/* Puts the exceptions in, cut to the range. Returns the OR of all of them, shifted. */
static uint64_t put_exceptions(const struct pack_head *head, const uint8_t *in,
			       const struct scale *scale, uint64_t *out)
{
	const uint8_t *position = in, *value = in + positions_bytes(head->n_exceptions);
	uint64_t mask = width_mask(8u * head->exception_bytes), all = 0;

	for (uint32_t i = 0; i < head->n_exceptions; i++) {
		uint16_t at;
		uint64_t x;

		memcpy(&at, position + 2 * (size_t)i, sizeof(at));
		memcpy(&x, value + (size_t)i * head->exception_bytes, sizeof(x));
		x = (x & mask) << scale->shift;
		all |= x;
		out[at % PACK_MAX_VALUES] = scale->base + (x <= scale->range ? x : scale->range);
	}
	return all;
}

static void fill(uint64_t value, uint32_t n, uint64_t *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = value;
}

static void decode_plain(const struct pack_head *head, const uint8_t *in, uint64_t *out)
{
	uint32_t n = (uint32_t)head->last + 1;
	struct scale scale = {head->min, head->max - head->min, head->width, head->shift};
	uint64_t beyond = 0;

	if (head->width == 0)
		fill(head->min, n, out);
	else
		beyond = unpack_tiles(&scale, in, n, out);
	/* damaged, or too wide for the test of unpack_tile(): check each value */
	if (unlikely(beyond >> 63) || head->width + head->shift > 63 || scale.range >> 63) {
		for (uint32_t i = 0; i < n; i++) {
			uint64_t x = out[i] - head->min;

			out[i] = x <= scale.range ? out[i] : head->max;
		}
	}
	if (head->n_exceptions > 0)
		put_exceptions(head, in + tiles_bytes(n, head->width), &scale, out);
}

/* Turns differences into values. The sums stay within the range, whatever is added. */
static void sum_with_care(uint64_t *out, uint32_t n, const struct scale *scale)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t left = scale->range - sum;

		sum += out[i] < left ? out[i] : left;
		out[i] = scale->base + sum;
	}
}

static void decode_delta(const struct pack_head *head, const uint8_t *in, uint64_t *out)
{
	uint32_t n = (uint32_t)head->last + 1;
	struct scale scale = {head->min, head->max - head->min, head->width, head->shift};
	struct scale plain = {0, UINT64_MAX, head->width, head->shift};
	uint64_t sum = 0, all = 0;

	if (head->width == 0)
		fill(0, n, out);
	else
		unpack_tiles(&plain, in, n, out);
	if (head->n_exceptions)
		all = put_exceptions(head, in + tiles_bytes(n, head->width), &plain, out);
	/* The fast way below needs differences below 2^51: the sum of 4096 of them cannot wrap. */
	if (unlikely(all >> 51 || head->width + head->shift > 51)) {
		sum_with_care(out, n, &scale);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		sum += out[i];
		out[i] = head->min + sum;
	}
	if (unlikely(sum > scale.range)) {
		for (uint32_t i = 0; i < n; i++)
			out[i] = out[i] - head->min <= scale.range ? out[i] : head->max;
	}
}

void pack_decode(const struct pack_head *head, const uint8_t *in, uint64_t *out)
{
	if (head->encoding == PACK_DELTA)
		decode_delta(head, in, out);
	else
		decode_plain(head, in, out);
}
