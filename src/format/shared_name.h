/* format/shared_name.h - where the binaries are that several recordings need.
 *
 * With child processes recorded, a run makes many recordings of the same binaries. Each binary is
 * kept once, in a folder beside the recordings (docs/FORMAT.md 11). Its name says what it is: the
 * build id and the size. So a recording never names a path, and whoever finds the file can check it.
 */
#ifndef FORMAT_SHARED_NAME_H
#define FORMAT_SHARED_NAME_H

#include "base/text.h"

#define SHARED_NAME_FOLDER "memory-profiling-binaries"
#define SHARED_NAME_MIN_ID_BYTES 8 /* a shorter build id may belong to two binaries */
#define SHARED_NAME_MAX_ID_BYTES 64
#define SHARED_NAME_BYTES (2 * SHARED_NAME_MAX_ID_BYTES + 24)

/* Appends the name of the file in the folder: the build id in hex, a dot, the size. False: the build
 * id is too short or too long to name a file. */
bool shared_name_put(struct text *out, const uint8_t *build_id, size_t build_id_bytes,
		     uint64_t size_bytes);

#endif
