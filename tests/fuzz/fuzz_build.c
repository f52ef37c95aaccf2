/* Any bytes as a recording (harness/recording_fuzz.h says how), made into a store: what every report
 * and the server begin with. The store must be sound and agree with the recording's own totals.
 */
#include "harness/fuzz.h"

#include "harness/recording_fuzz.h"
#include "ingest/build.h"
#include "ingest/overview.h"
#include "recording/proc_maps.h"
#include "store/store.h"

static char store_path[64];

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void read_store(const struct replay_totals *totals)
{
	static uint64_t out[STORE_BLOCK_ROWS];
	struct err err = {0};
	struct store *s = NULL;
	uint64_t n_bytes = 0;

	check(store_open(store_path, &s, &err) == 0);
	for (uint64_t b = 0; b < store_n_blocks(s); b++) {
		for (unsigned c = 0; c < STORE_N_COLUMNS; c++) {
			store_read_block(s, c, b, out);
			for (uint32_t i = 0; c == STORE_SIZE_BYTES && i < store_block_rows(s, b);
			     i++)
				n_bytes += out[i];
		}
	}
	check(store_n_rows(s) == totals->allocations + totals->reallocations);
	check(n_bytes == totals->bytes_allocated);
	for (uint32_t i = 0; i < store_n_stacks(s); i++) {
		uint32_t node = store_stack(s, i)->node;

		for (; node; node = store_node(s, node)->parent)
			store_code(s, store_node(s, node)->code);
	}
	store_close(s);
}

static void read_maps(const uint8_t *data, size_t size_bytes)
{
	const char *text = (const char *)data, *end = text + size_bytes;
	struct proc_map map;

	while (proc_maps_next(&text, end, &map))
		check(map.name >= (const char *)data && map.name + map.name_len <= end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	const char *path = recording_of(data, size_bytes);
	struct recording *r = NULL;
	struct overview o = {0};
	struct err err = {0};

	read_maps(data, size_bytes);
	if (!store_path[0])
		snprintf(store_path, sizeof(store_path), "/tmp/fuzz_build.%d", (int)getpid());
	if (!path || recording_open(path, &r, &err) < 0)
		return 0;
	if (overview_make(r, &o, &err) == 0) {
		if (build_store(r, store_path, NULL, &err) == 0)
			read_store(&o.totals);
		else
			check(err.text[0] != 0);
	}
	unlink(store_path);
	overview_fini(&o);
	recording_close(r);
	return 0;
}
