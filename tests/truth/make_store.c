/* make_store RECORDING - makes the store of a recording where it belongs and prints its path. */
#include <stdio.h>

#include "ingest/build.h"
#include "store/store_cache.h"

int main(int argc, char **argv)
{
	struct store_paths paths = {0};
	struct recording *r = NULL;
	struct err err = {0};
	int n;

	if (argc != 2)
		return 2;
	n = recording_open(argv[1], &r, &err);
	if (n == 0)
		n = store_cache_paths(argv[1], r->header.recording_id, &paths, &err);
	if (n == 0)
		n = build_store(r, paths.store, NULL, &err);
	if (n == 0)
		puts(paths.store);
	else
		fprintf(stderr, "%s\n", err.text);
	store_paths_fini(&paths);
	recording_close(r);
	return n < 0;
}
