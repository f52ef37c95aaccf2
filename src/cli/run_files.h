/* cli/run_files.h - which recordings a run has left behind. */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include "util/err.h"

struct run_file {
	char *path; /* owned */
	uint64_t file_bytes;
	uint64_t start_ns; /* wall clock */
	uint64_t ppid;
	uint64_t parent_pid;
	uint32_t pid;
	bool is_ours; /* of the program that was run, or of a descendant */
};

struct run_files {
	struct run_file *file; /* in order of their start; those that are ours first */
	size_t n, cap;
	size_t n_ours;
};

/* Searches the folder of the pattern (which the recorder was given) for recordings of pid and its
 * descendants that began at since_ns of the wall clock or later. */
int run_files_find(const char *pattern, uint32_t pid, uint64_t since_ns, struct run_files *ret,
		   struct err *err);
void run_files_fini(struct run_files *f); /* a zeroed struct is empty */

#endif
