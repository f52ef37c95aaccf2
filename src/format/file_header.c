/* format/file_header.c - see file_header.h. */
#include "format/file_header.h"

#include <string.h>

#include "base/bytes.h"
#include "format/checksum.h"

static const uint8_t MAGIC[8] = {0x89, 'M', 'P', 'R', 'O', 'F', '\n', 0x1a};

_Static_assert(FILE_STATUS_BYTES == (STATUS_N_FIELDS + 2) * 8, "status slot size");

void file_header_encode(const struct file_header *h, uint8_t *page)
{
	memset(page, 0, FILE_HEADER_FIXED_BYTES);
	memcpy(page, MAGIC, sizeof(MAGIC));
	store_le16(page + 8, h->version_major);
	store_le16(page + 10, h->version_minor);
	store_le32(page + 12, h->header_bytes);
	store_le64(page + 16, h->features_required);
	store_le64(page + 24, h->features_optional);
	page[32] = 1;
	page[33] = h->pointer_bytes;
	store_le16(page + 34, h->machine);
	store_le32(page + 36, h->page_bytes);
	memcpy(page + 40, h->recording_id, sizeof(h->recording_id));
	store_le64(page + 56, h->start_ticks);
	store_le64(page + 64, h->start_monotonic_ns);
	store_le64(page + 72, h->start_realtime_ns);
	store_le32(page + 80, h->clock_source);
	store_le32(page + 84, h->pid);
	store_le32(page + 88, h->block_bytes);
	store_le32(page + 92, h->flags);
	memcpy(page + 96, h->run_id, sizeof(h->run_id));
	store_le32(page + 112, h->piece);
	store_le32(page + 124, checksum_bytes(page, 124));
}

enum file_header_result file_header_decode(const uint8_t *data, size_t len, struct file_header *ret)
{
	struct file_header h;

	if (len >= sizeof(MAGIC) && memcmp(data, MAGIC, sizeof(MAGIC)) != 0)
		return FILE_HEADER_FOREIGN;
	if (len < FILE_HEADER_FIXED_BYTES)
		return FILE_HEADER_SHORT;
	if (load_le32(data + 124) != checksum_bytes(data, 124))
		return FILE_HEADER_DAMAGED;
	h.version_major = load_le16(data + 8);
	h.version_minor = load_le16(data + 10);
	h.header_bytes = load_le32(data + 12);
	h.features_required = load_le64(data + 16);
	h.features_optional = load_le64(data + 24);
	h.pointer_bytes = data[33];
	h.machine = load_le16(data + 34);
	h.page_bytes = load_le32(data + 36);
	memcpy(h.recording_id, data + 40, sizeof(h.recording_id));
	h.start_ticks = load_le64(data + 56);
	h.start_monotonic_ns = load_le64(data + 64);
	h.start_realtime_ns = load_le64(data + 72);
	h.clock_source = load_le32(data + 80);
	h.pid = load_le32(data + 84);
	h.block_bytes = load_le32(data + 88);
	h.flags = load_le32(data + 92);
	memcpy(h.run_id, data + 96, sizeof(h.run_id));
	h.piece = load_le32(data + 112);
	*ret = h;
	if (h.version_major < FORMAT_VERSION_MAJOR)
		return FILE_HEADER_OLDER;
	if (h.version_major > FORMAT_VERSION_MAJOR || data[32] != 1 ||
	    (h.features_required & ~FORMAT_FEATURES_KNOWN) || h.block_bytes != FORMAT_BLOCK_BYTES)
		return FILE_HEADER_NEWER;
	return FILE_HEADER_OK;
}

bool file_header_is_same_run(const struct file_header *a, const struct file_header *b)
{
	return a->piece && b->piece && memcmp(a->run_id, b->run_id, sizeof(a->run_id)) == 0;
}

void file_status_encode(const struct file_status *s, uint8_t *page)
{
	uint8_t *slot = page + FILE_STATUS_OFFSET + (s->sequence & 1) * FILE_STATUS_BYTES;

	for (size_t i = 0; i < STATUS_N_FIELDS; i++)
		store_le64(slot + i * 8, s->field[i]);
	store_le64(slot + STATUS_N_FIELDS * 8, s->sequence);
	store_le64(slot + FILE_STATUS_BYTES - 8, checksum_bytes(slot, FILE_STATUS_BYTES - 8));
}

static bool is_valid_slot(const uint8_t *slot)
{
	return load_le64(slot + FILE_STATUS_BYTES - 8) ==
	       checksum_bytes(slot, FILE_STATUS_BYTES - 8);
}

bool file_status_decode(const uint8_t *data, size_t len, struct file_status *ret)
{
	bool found = false;

	for (size_t n = 0; n < 2; n++) {
		const uint8_t *slot = data + FILE_STATUS_OFFSET + n * FILE_STATUS_BYTES;
		uint64_t sequence;

		if (len < FILE_STATUS_OFFSET + (n + 1) * FILE_STATUS_BYTES)
			break;
		sequence = load_le64(slot + STATUS_N_FIELDS * 8);
		if (sequence == 0 || (found && sequence < ret->sequence))
			continue;
		if (!is_valid_slot(slot))
			continue;
		for (size_t i = 0; i < STATUS_N_FIELDS; i++)
			ret->field[i] = load_le64(slot + i * 8);
		ret->sequence = sequence;
		found = true;
	}
	return found;
}

void file_status_set_field(uint8_t *slots, unsigned field, uint64_t value)
{
	for (size_t n = 0; n < 2; n++) {
		uint8_t *slot = slots + n * FILE_STATUS_BYTES;

		if (!is_valid_slot(slot))
			continue;
		store_le64(slot + field * 8, value);
		store_le64(slot + FILE_STATUS_BYTES - 8,
			   checksum_bytes(slot, FILE_STATUS_BYTES - 8));
	}
}
