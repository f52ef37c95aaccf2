/* make_store RECORDING - makes the store of a recording where it belongs and prints its path. */
#include <stdio.h>

#include "ingest/build.h"
#include "store/store_cache.h"

int main(int argc, char **argv)
{
	struct store_place place = {0};
	struct recording *r = NULL;
	struct err err = {0};
	int n;

	if (argc != 2)
		return 2;
	n = recording_open(argv[1], &r, &err);
	if (n == 0)
		n = store_cache_place(argv[1], r->header.recording_id, &place, &err);
	if (n == 0)
		n = build_store(r, place.store, NULL, &err);
	if (n == 0)
		puts(place.store);
	else
		fprintf(stderr, "%s\n", err.text);
	store_place_fini(&place);
	recording_close(r);
	return n < 0;
}
