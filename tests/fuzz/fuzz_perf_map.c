/* Any bytes as a perf map, as a jitdump file and as an ELF image. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/perf_map.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void ask(struct perf_map *m, const uint8_t *data, size_t size_bytes)
{
	struct symbol_frame f;
	uint64_t addr = 0;

	for (size_t i = 0; i + 8 <= size_bytes && i < 256; i += 8) {
		memcpy(&addr, data + i, 8);
		if (perf_map_resolve(m, addr, i, &f))
			check(f.function && f.raw_function && strlen(f.raw_function) <= size_bytes);
	}
	for (addr = 0; addr < 0x4000; addr += 0x100) {
		if (perf_map_resolve(m, addr, addr, &f))
			check(f.function);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct perf_map *m = NULL;
	struct err err = {0};

	if (perf_map_create(&m, &err) < 0)
		return 0;
	perf_map_add_jitdump(m, data, size_bytes, &err);
	ask(m, data, size_bytes);
	perf_map_add_elf(m, data, size_bytes, 0, &err);
	ask(m, data, size_bytes);
	perf_map_add_text(m, (const char *)data, size_bytes, &err);
	ask(m, data, size_bytes);
	check(perf_map_n_functions(m) <= 2 * size_bytes);
	perf_map_destroy(m);
	return 0;
}
