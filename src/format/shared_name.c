/* format/shared_name.c - see shared_name.h. */
#include "format/shared_name.h"

bool shared_name_put(struct text *out, const uint8_t *build_id, size_t build_id_bytes,
		     uint64_t size_bytes)
{
	if (build_id_bytes < SHARED_NAME_MIN_ID_BYTES || build_id_bytes > SHARED_NAME_MAX_ID_BYTES)
		return false;
	for (size_t i = 0; i < build_id_bytes; i++)
		text_put_hex(out, build_id[i], 2);
	text_put_char(out, '.');
	text_put_u64(out, size_bytes);
	return !out->was_cut;
}
