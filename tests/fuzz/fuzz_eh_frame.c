/* fuzz/fuzz_eh_frame.c - .eh_frame_hdr and .eh_frame of any kind.
 *
 * Input: 1 byte what to do, 2 bytes pc as distance from the table, 2 bytes where in the table to
 * begin; then the table. It lies at a fixed address, so that absolute pointers in it mean the same
 * every time, and ends at an unreadable page.
 */
#include "harness/fuzz.h"
#include "unwind/rule_i.h"
#include "unwind/tables_i.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"

#define HEAD_BYTES 5
#define AREA 0x20000000ull
#define AREA_BYTES 0x4000u

/* The table at the end of the area, everything before it unreadable as far as possible. */
static uintptr_t place(const uint8_t *data, size_t n)
{
	static uint8_t *area;

	if (!area) {
		area = mmap((void *)AREA, AREA_BYTES + 4096, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (area == MAP_FAILED || mprotect(area, AREA_BYTES, PROT_READ | PROT_WRITE))
			abort();
	}
	memset(area, 0xff, AREA_BYTES - n);
	memcpy(area + AREA_BYTES - n, data, n);
	return (uintptr_t)area + AREA_BYTES - n;
}

static void check(const struct eh_fde *fde, uintptr_t pc)
{
	static struct cfi_machine m;

	if (pc < fde->start || pc >= fde->end)
		abort();
	if (cfi_run(&m, fde, pc + 1))
		rule_pack(&m.row, fde->is_signal, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct eh_copy copy;
	struct image_segment segment = {.is_readable = true};
	struct eh_reader r = {&segment, 1, NULL};
	struct memory_range range;
	struct eh_fde fde;
	uintptr_t table;
	uintptr_t pc;
	uintptr_t at;

	if (size_bytes < HEAD_BYTES || size_bytes > AREA_BYTES)
		return 0;
	table = place(data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	segment.at = (struct memory_range){table, AREA + AREA_BYTES};
	pc = table + load_le16(data + 1);
	at = table + load_le16(data + 3);
	copy.search = (struct memory_range){0, 0};
	if (data[0] & 4)
		r.copy = &copy;
	switch (data[0] & 3) {
	case 0:
		if (eh_frame_find(&r, at, pc, &fde) == EH_FOUND)
			check(&fde, pc);
		break;
	case 1:
		if (eh_frame_scan(&r, at, pc, &fde) == EH_FOUND)
			check(&fde, pc);
		break;
	case 2:
		eh_frame_extent(&r, at, &range);
		break;
	default:
		eh_frame_gap(&r, at, pc, &range);
	}
	return 0;
}
