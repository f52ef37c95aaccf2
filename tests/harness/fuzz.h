/* harness/fuzz.h - what the fuzz targets share. */
#ifndef HARNESS_FUZZ_H
#define HARNESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Each target defines it; libFuzzer, or replay_main.c with the files of a corpus, calls it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#endif
