/* recording/file_kind.h - recognising files that are no recording of ours, to say what they are. */
#ifndef RECORDING_FILE_KIND_H
#define RECORDING_FILE_KIND_H

#include "base/compiler.h"

/* A sentence on what the file seems to be and what to do with it, from its first bytes. Never
 * NULL; static. */
const char *file_kind_hint(const uint8_t *data, size_t len);

#endif
