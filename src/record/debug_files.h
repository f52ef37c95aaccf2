/* record/debug_files.h - finds the file with the symbols of a stripped file.
 *
 * Places, in this order. The build ids of both files are the same, or the file is not taken:
 *	1. by build id below /usr/lib/debug
 *	2. by the name in .gnu_debuglink: beside the stripped file, in .debug there, below /usr/lib/debug
 *	3. by build id in the cache of debuginfod clients, where gdb and others leave what they
 *	   downloaded: $DEBUGINFOD_CACHE_PATH, or else debuginfod_client in $XDG_CACHE_HOME or
 *	   ~/.cache, or ~/.debuginfod_client_cache. Nothing is downloaded here.
 *
 * Threads: debug_files_init() first, once; afterwards any. Nothing here allocates from the heap or
 * changes errno.
 */
#ifndef RECORD_DEBUG_FILES_H
#define RECORD_DEBUG_FILES_H

#include "record/module_symbols.h"

/* Reads the environment: strings "NAME=value", each ended by a 0, n_bytes in all. */
void debug_files_init(const char *env, size_t n_bytes);

/* Opens the file with the symbols of the stripped file at path. False: there is none. */
bool debug_files_open(const struct module_file *stripped, const char *path,
		      struct module_file *ret);

#endif
