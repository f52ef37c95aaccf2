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

enum kind {
	KIND_MAP,
	KIND_DUMP,
	KIND_ELF
};

static int add_bytes(struct perf_map *m, const uint8_t *data, size_t len, enum kind kind,
		     uint64_t time_ns, struct err *err)
{
	if (kind == KIND_ELF)
		return perf_map_add_elf(m, data, len, time_ns, err);
	return kind == KIND_DUMP ? perf_map_add_jitdump(m, data, len, err)
				 : perf_map_add_text(m, (const char *)data, len, err);
}

/* Adds the functions of the file fd, and closes it. time_ns: since when they are there, of
 * KIND_ELF. */
static int add_fd(struct perf_map *m, int fd, enum kind kind, uint64_t time_ns, struct err *err)
{
	struct err why = {0};
	uint8_t *data = NULL;
	size_t len = 0;
	int n = read_whole(fd, &data, &len, &why);

	if (n == 0)
		n = add_bytes(m, data, len, kind, time_ns, &why);
	free(data);
	close(fd);
	if (n != -ERR_MEMORY)
		return 0;
	if (err)
		*err = why;
	return n;
}

static int add_local(struct perf_map *m, const struct store *store, const char *path,
		     enum kind kind, struct err *err)
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
	return add_fd(m, fd, kind, 0, err);
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
	n = add_local(m, store, path, KIND_MAP, err);
	/* a process maps the jitdump that it writes, so that perf sees it */
	for (size_t i = 0; i < n_regions && n == 0; i++) {
		const char *mapped = store_string(store, region[i].name, NULL);

		if (strcmp(text_basename(mapped), dump_name) == 0)
			return add_local(m, store, mapped, KIND_DUMP, err);
	}
	snprintf(path, sizeof(path), "%s/%s", cwd, dump_name);
	return n == 0 && cwd[0] == '/' ? add_local(m, store, path, KIND_DUMP, err) : n;
}

/* Which of the files that the recorder or the program wrote this is. False: another one. *ret_time_ns:
 * when the recorder copied an ELF image, which its name says. */
static bool kind_of(const char *name, const char *map_name, const char *dump_name, enum kind *ret,
		    uint64_t *ret_time_ns)
{
	unsigned long long pid, time_ns, number;

	*ret_time_ns = 0;
	*ret = KIND_MAP;
	if (strcmp(name, map_name) == 0)
		return true;
	*ret = KIND_DUMP;
	if (strcmp(name, dump_name) == 0)
		return true;
	*ret = KIND_ELF;
	if (sscanf(name, "jit-elf-%llu-%llu-%llu", &pid, &time_ns, &number) != 3)
		return false;
	*ret_time_ns = time_ns;
	return true;
}

int jit_files_load(struct perf_map *m, const struct store *store, const struct jit_files_options *o,
		   struct err *err)
{
	char map_name[64], dump_name[64];
	uint64_t pid = store_facts(store)->pid, time_ns;
	bool is_embedded = false;
	enum kind kind;
	int n = 0;

	snprintf(map_name, sizeof(map_name), "perf-%" PRIu64 ".map", pid);
	snprintf(dump_name, sizeof(dump_name), "jit-%" PRIu64 ".dump", pid);
	for (size_t i = 0; o->embedded && i < embedded_count(o->embedded) && n == 0; i++) {
		const struct metadata_file *f = embedded_get(o->embedded, i);
		const char *path = f->path.bytes ? f->path.bytes : "";
		struct err ignored = {0};
		int fd;

		if (!kind_of(text_basename(path), map_name, dump_name, &kind, &time_ns) ||
		    embedded_extract(o->embedded, f, o->temp_folder, &fd, &ignored) < 0)
			continue;
		is_embedded = is_embedded || kind != KIND_ELF;
		n = add_fd(m, fd, kind, time_ns, err);
	}
	if (n == 0 && !is_embedded && o->use_local_files)
		n = load_local(m, store, map_name, dump_name, err);
	return n;
}
