/* open/jit_files.c - see jit_files.h. */
#include "open/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "util/vec.h"

#define MAX_FILE_BYTES (256u << 20) /* larger files are not read */
#define STEP_BYTES (256u << 10)

static int read_whole(int fd, uint8_t **ret, size_t *len, struct err *err)
{
	uint8_t *data = NULL;
	size_t n = 0, cap = 0;
	ssize_t got = 1;
	int r = 0;

	while (got != 0 && r == 0) {
		r = n > MAX_FILE_BYTES ? err_set(err, ERR_LIMIT, "the file is too great")
				       : vec_reserve(&data, &cap, n + STEP_BYTES, 1, err);
		if (r < 0)
			break;
		got = pread(fd, data + n, cap - n, (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			r = err_set_errno(err, errno, "cannot read");
		else
			n += (size_t)got;
	}
	if (r < 0) {
		free(data);
		return r;
	}
	*ret = data;
	*len = n;
	return 0;
}

/* Adds the functions of the file fd, and closes it. */
static int add_fd(struct perf_map *m, int fd, bool is_dump, struct err *err)
{
	struct err why = {0};
	uint8_t *data = NULL;
	size_t len = 0;
	int n = read_whole(fd, &data, &len, &why);

	if (n == 0)
		n = is_dump ? perf_map_add_jitdump(m, data, len, &why)
			    : perf_map_add_text(m, (const char *)data, len, &why);
	free(data);
	close(fd);
	if (n != -ERR_MEMORY)
		return 0;
	if (err)
		*err = why;
	return n;
}

static int add_local(struct perf_map *m, const struct store *store, const char *path, bool is_dump,
		     struct err *err)
{
	uint64_t start_s = store_facts(store)->start_realtime_ns / NS_PER_S;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_mtime + 1 < start_s) {
		close(fd);
		return 0;
	}
	return add_fd(m, fd, is_dump, err);
}

static int load_local(struct perf_map *m, const struct store *store, const char *map_name,
		      const char *dump_name, struct err *err)
{
	const char *cwd = store_string(store, store_facts(store)->cwd, NULL);
	size_t n_regions;
	const struct store_region *region = store_table(store, STORE_REGIONS, &n_regions);
	char path[4096];
	int n;

	snprintf(path, sizeof(path), "/tmp/%s", map_name);
	n = add_local(m, store, path, false, err);
	/* a process maps the jitdump that it writes, so that perf sees it */
	for (size_t i = 0; i < n_regions && n == 0; i++) {
		const char *mapped = store_string(store, region[i].name, NULL);

		if (strcmp(text_basename(mapped), dump_name) == 0)
			return add_local(m, store, mapped, true, err);
	}
	snprintf(path, sizeof(path), "%s/%s", cwd, dump_name);
	return n == 0 && cwd[0] == '/' ? add_local(m, store, path, true, err) : n;
}

int jit_files_load(struct perf_map *m, const struct store *store, const struct jit_files_options *o,
		   struct err *err)
{
	char map_name[64], dump_name[64];
	uint64_t pid = store_facts(store)->pid;
	bool is_embedded = false;
	int n = 0;

	snprintf(map_name, sizeof(map_name), "perf-%" PRIu64 ".map", pid);
	snprintf(dump_name, sizeof(dump_name), "jit-%" PRIu64 ".dump", pid);
	for (size_t i = 0; o->embedded && i < embedded_count(o->embedded) && n == 0; i++) {
		const struct metadata_file *f = embedded_get(o->embedded, i);
		const char *path = f->path.bytes ? f->path.bytes : "";
		bool is_dump = strcmp(text_basename(path), dump_name) == 0;
		struct err ignored = {0};
		int fd;

		if ((!is_dump && strcmp(text_basename(path), map_name) != 0) ||
		    embedded_extract(o->embedded, f, o->temp_folder, &fd, &ignored) < 0)
			continue;
		is_embedded = true;
		n = add_fd(m, fd, is_dump, err);
	}
	if (n == 0 && !is_embedded && o->use_local_files)
		n = load_local(m, store, map_name, dump_name, err);
	return n;
}
