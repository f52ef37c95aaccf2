/* Any frames from a recorder that knows the token: each a byte for the type, two for the length, the
 * payload. The receiver must refuse what makes no sense, and never write outside its folder. */
#include "harness/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "gather/gather_link.h"

static char folder[] = "/tmp/fuzz-gather-XXXXXX";

static void remove_folder(void)
{
	rmdir(folder);
}

static void empty_folder(void)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

static void take_frames(struct gather_link *l, const uint8_t *data, size_t len)
{
	struct err err;

	while (len >= 3) {
		size_t n = load_le16(data + 1);
		struct stream_frame f = {.type = data[0]};

		f.n_bytes = n < len - 3 ? n : len - 3;
		f.payload = malloc(f.n_bytes + 1);
		if (!f.payload)
			return;
		memcpy(f.payload, data + 3, f.n_bytes);
		l->n_out = 0; /* as if it had been sent */
		n = gather_link_take_frame(l, &f, &err) < 0;
		free(f.payload);
		if (n)
			return;
		data += 3 + f.n_bytes;
		len -= 3 + f.n_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static bool is_ready;
	const struct gather_link_options options = {.folder = folder, .token = ""};
	struct gather_link l;

	if (!is_ready) {
		if (!mkdtemp(folder))
			abort();
		atexit(remove_folder);
		is_ready = true;
	}
	if (len == 0 || gather_link_init(&l, &options, NULL) < 0)
		return 0;
	l.state = data[0] % 4 == 0 ? GATHER_LINK_GREETED : GATHER_LINK_LISTED;
	take_frames(&l, data + 1, len - 1);
	gather_link_fini(&l);
	empty_folder();
	return 0;
}
