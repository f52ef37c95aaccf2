/* util/human.h - numbers for people. Each function writes a text into the caller's buffer and
 * returns the buffer. Programs get bare numbers (json_write.h).
 */
#ifndef UTIL_HUMAN_H
#define UTIL_HUMAN_H

#include <stdio.h>

#include "base/compiler.h"

#define HUMAN_BYTES 32 /* enough for every text made here */

char *human_count(uint64_t n, char buf[HUMAN_BYTES]); /* 1 234 567 */
char *human_rough(uint64_t n, char buf[HUMAN_BYTES]); /* 99 999, then 124 k, 1.24 M */
char *human_size(uint64_t n_bytes, char buf[HUMAN_BYTES]); /* 1.18 MiB */
char *human_duration(uint64_t ns, char buf[HUMAN_BYTES]); /* 12.3 ms */

/* A share with one decimal: "82.0 %". "100 %" and "0 %" appear only where they are exact, otherwise
 * "<0.1 %" and ">99.9 %". part may be more than whole. */
char *human_share(uint64_t part, uint64_t whole, char buf[HUMAN_BYTES]);

/* RFC 3339 in UTC, with nanoseconds: 2026-11-15T06:02:51.000000001Z. */
char *human_time(uint64_t realtime_ns, char buf[HUMAN_BYTES]);

/* Prints text that came from a file. Control characters (which could steer a terminal) and bytes
 * that are not UTF-8 appear as \xNN. */
void human_print_text(FILE *out, const char *text, size_t len);

#endif
