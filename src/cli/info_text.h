/* cli/info_text.h - the text of `memory-profiler-cli info`. */
#ifndef CLI_INFO_TEXT_H
#define CLI_INFO_TEXT_H

#include "ingest/overview.h"

/* Prints to stdout. */
void info_text_print(const char *path, const struct recording *r, const struct overview *o);

#endif
