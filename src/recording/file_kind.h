/* recording/file_kind.h - what a file that is no recording of ours seems to be, for error
 * messages. */
#ifndef RECORDING_FILE_KIND_H
#define RECORDING_FILE_KIND_H

#include "base/compiler.h"

/* A sentence that says what the file seems to be by its first bytes, and what to do with it.
 * Static; never NULL. */
const char *file_kind_hint(const uint8_t *data, size_t len);

#endif
