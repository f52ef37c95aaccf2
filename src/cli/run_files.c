/* cli/run_files.c - see run_files.h. */
#include "cli/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output_name.h"
#include "recording/peek.h"
#include "recording/recording.h"
#include "util/vec.h"

#define MAX_MEASURED 1000 /* recordings that are opened to see how much is in them */

void run_files_fini(struct run_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->file[i].path);
	free(f->file);
	*f = (struct run_files){0};
}

/* Adds the file if it is a recording that began at since_ns or later. */
static int consider(struct run_files *f, const char *path, uint64_t since_ns, struct err *err)
{
	struct peek p;
	char *copy;
	int r;

	if (peek_recording(path, &p, NULL) < 0 || p.header.start_realtime_ns < since_ns)
		return 0;
	r = vec_reserve(&f->file, &f->cap, f->n + 1, sizeof(*f->file), err);
	if (r < 0)
		return r;
	copy = strdup(path);
	if (!copy)
		return err_set_memory(err, strlen(path));
	f->file[f->n++] = (struct run_file){
		.path = copy,
		.file_bytes = p.file_bytes,
		.start_ns = p.header.start_realtime_ns,
		.pid = p.header.pid,
		.ppid = p.ppid,
		.parent_pid = p.parent_pid,
	};
	return 0;
}

static int compare_files(const void *x, const void *y)
{
	const struct run_file *a = x, *b = y;

	if (a->is_ours != b->is_ours)
		return a->is_ours ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Sets is_ours for pid and, until nothing changes, for children of processes that have it. */
static void mark_ours(struct run_files *f, uint32_t pid)
{
	bool has_changed = true;

	for (size_t i = 0; i < f->n; i++)
		f->file[i].is_ours = f->file[i].pid == pid;
	while (has_changed) {
		has_changed = false;
		for (size_t i = 0; i < f->n; i++) {
			struct run_file *child = &f->file[i];

			for (size_t k = 0; !child->is_ours && k < f->n; k++) {
				const struct run_file *parent = &f->file[k];

				if (parent->is_ours && (child->ppid == parent->pid ||
							child->parent_pid == parent->pid))
					child->is_ours = has_changed = true;
			}
		}
	}
	for (size_t i = 0; i < f->n; i++)
		f->n_ours += f->file[i].is_ours;
	for (size_t i = 0; f->n_ours == 0 && i < f->n; i++)
		f->file[i].is_ours = true;
	if (f->n_ours == 0)
		f->n_ours = f->n;
}

static void measure(struct run_files *f)
{
	for (size_t i = 0; i < f->n_ours && i < MAX_MEASURED; i++) {
		struct recording *r = NULL;

		if (recording_open(f->file[i].path, &r, NULL) == 0) {
			f->file[i].event_bytes = r->event_bytes;
			f->file[i].file_bytes = r->file_bytes; /* its writer has finished by now */
		}
		recording_close(r);
	}
}

size_t run_files_main(const struct run_files *f, uint32_t pid, bool is_wrapper)
{
	uint64_t most = 0;
	size_t ret = 0;

	for (size_t i = 0; i < f->n_ours; i++) {
		const struct run_file *file = &f->file[i];

		if ((is_wrapper || file->pid == pid) && file->event_bytes > most) {
			most = file->event_bytes;
			ret = i;
		}
	}
	return ret;
}

int run_files_find(const char *pattern, uint32_t pid, uint64_t since_ns, struct run_files *ret,
		   struct err *err)
{
	const char *slash = strrchr(pattern, '/');
	const char *name = slash ? slash + 1 : pattern;
	char dir[PATH_MAX], path[PATH_MAX + 256];
	struct run_files f = {0};
	struct dirent *e;
	DIR *d;
	int r = 0;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - pattern) : 1,
		 slash ? pattern : ".");
	if (output_name_has_placeholder(dir))
		return err_set(err, ERR_REFUSED, "the folder has placeholders");
	output_name_unquote(dir);
	d = opendir(dir[0] ? dir : "/");
	if (!d)
		return err_set_errno(err, errno, "%s", dir);
	while (r == 0 && (e = readdir(d))) {
		if (!output_name_matches(name, e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		r = consider(&f, path, since_ns, err);
	}
	closedir(d);
	if (r < 0) {
		run_files_fini(&f);
		return r;
	}
	mark_ours(&f, pid);
	if (f.n)
		qsort(f.file, f.n, sizeof(*f.file), compare_files);
	measure(&f);
	*ret = f;
	return 0;
}
