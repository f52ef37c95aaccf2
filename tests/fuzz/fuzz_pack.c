/* fuzz/fuzz_pack.c - packed blocks of any kind, and packing any numbers.
 *
 * Input: the 24 bytes of a head, then the bytes of the block. What lacks is zero. The values that
 * come out lie within the bounds of the head; packed again, they come back.
 */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/pack.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static uint64_t value[PACK_MAX_VALUES], again[PACK_MAX_VALUES];
	static _Alignas(8) uint8_t packed[PACK_MAX_BYTES];
	struct pack_head head;
	size_t len = 0, left;
	uint8_t *in;

	if (size_bytes < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	left = size_bytes - sizeof(head);
	if (!pack_check(&head, &len))
		return 0;
	in = calloc(1, len + 1); /* exactly so long: a byte more is noticed */
	check(in != NULL);
	in = realloc(in, len ? len : 1);
	check(in != NULL);
	if (left > 0)
		memcpy(in, data + sizeof(head), left < len ? left : len);
	pack_decode(&head, in, value);
	free(in);
	for (uint32_t i = 0; i <= head.last; i++)
		check(value[i] >= head.min && value[i] <= head.max);
	len = pack_encode(value, head.last + 1u, size_bytes & 1, &head, packed);
	check(pack_check(&head, &left) && left == len && len <= sizeof(packed));
	pack_decode(&head, packed, again);
	check(memcmp(value, again, (head.last + 1u) * sizeof(value[0])) == 0);
	return 0;
}
