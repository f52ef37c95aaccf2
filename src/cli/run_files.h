/* cli/run_files.h - which recordings a run has written. */
#ifndef CLI_RUN_FILES_H
#define CLI_RUN_FILES_H

#include "util/err.h"

struct run_file {
	char *path; /* owned */
	uint64_t file_bytes;
	uint64_t start_ns; /* wall clock */
	uint64_t ppid; /* 0: not known */
	uint64_t parent_pid; /* of a forked child whose parent was recorded, too; else 0 */
	uint64_t event_bytes; /* how much the process did, roughly; of files that are ours */
	uint32_t pid;
	bool is_ours; /* written by the program that was run, or by a descendant */
};

struct run_files {
	struct run_file *file; /* is_ours first, then by start_ns */
	size_t n, cap;
	size_t n_ours;
};

/* Searches the folder of the pattern (the recorder's output pattern) for recordings of pid and its
 * descendants that began at since_ns of the wall clock or later. If pid and its children have none
 * (sudo is not recorded), all recordings since then are taken for descendants. Returns 0 or -ERR_x;
 * the caller frees *ret with run_files_fini(). */
int run_files_find(const char *pattern, uint32_t pid, uint64_t since_ns, struct run_files *ret,
		   struct err *err);

/* The number of the recording to look at first: of the files that are ours, the one with the most
 * events; without is_wrapper, of those of pid only (it may have become another program by exec). The
 * first one if none fits. */
size_t run_files_main(const struct run_files *f, uint32_t pid, bool is_wrapper);

void run_files_fini(struct run_files *f); /* a zeroed struct is empty */

#endif
