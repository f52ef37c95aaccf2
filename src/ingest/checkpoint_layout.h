/* ingest/checkpoint_layout.h - do two builds of this program agree on the bytes of a checkpoint?
 *
 * A checkpoint holds structs as they lie in memory. A build whose structs differ must not load it.
 * So each checkpoint holds a fingerprint: a hash of the name, offset and size of every field of
 * these structs. A build that computes another one reads the recording from the start.
 *
 * A field that is added, removed, renamed or moved changes the fingerprint. checkpoint_layout.c
 * lists the fields; it does not compile if the sizes of the listed fields and the padding do not
 * add up to the size of their struct. What the list cannot see (a field whose meaning changes, a
 * new field inside the padding of a struct) needs a new CHECKPOINT_LAYOUT_VERSION.
 */
#ifndef INGEST_CHECKPOINT_LAYOUT_H
#define INGEST_CHECKPOINT_LAYOUT_H

#include "base/compiler.h"

#define CHECKPOINT_LAYOUT_VERSION 4u

struct checkpoint_layout_field {
	const char *name;
	size_t offset;
	size_t size_bytes;
};

/* The hash of a list of fields. Lists that differ give different hashes, but for chance. */
uint64_t checkpoint_layout_hash(const struct checkpoint_layout_field *field, size_t n);

/* The fingerprint of this build. */
uint64_t checkpoint_layout(void);

#endif
