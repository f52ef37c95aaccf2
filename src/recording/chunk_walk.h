/* recording/chunk_walk.h - visits the chunks of a recording that describe the program.
 *
 * These are all chunks besides PAD, AREA and EVENTS: process, modules, files, names and so on. The
 * walk ends where the file ended when the recording was opened, although the file may have grown
 * since. It skips damaged chunks without a word: opening has reported them in recording.damage.
 */
#ifndef RECORDING_CHUNK_WALK_H
#define RECORDING_CHUNK_WALK_H

#include "recording/recording.h"

/* Called for each chunk, in the order of the file. payload is valid during the call. A result below
 * 0 ends the walk. */
typedef int (*chunk_walk_fn)(void *user, const struct chunk_header *h, const uint8_t *payload,
			     struct err *err);

/* 0, or what on_chunk or reading the file returned. */
int chunk_walk(const struct recording *r, chunk_walk_fn on_chunk, void *user, struct err *err);

#endif
