/* record/jit_images.h - puts the ELF images of a JIT compiler into the recording.
 *
 * Compilers announce their code to GDB: each piece of code is an ELF image in memory with symbols,
 * in a list that begins at __jit_debug_descriptor. LLVM does so, and wasmtime and Mono can. The writer
 * copies new images of the list, as files named jit-elf-PID-NS-N, where NS is the time of the copy on
 * CLOCK_MONOTONIC; open/jit_files.c reads them. An image that is announced and taken back between
 * two looks is missed: the writer looks when the first stack leads through code in no image, every
 * 100 ms from then on, and at the end. A program without such code costs nothing.
 *
 * The list and the images are the program's memory and may change while they are read. So they are
 * copied by the kernel, and readers check what they find.
 *
 * The writer only. Zeroed memory: nothing was looked at.
 */
#ifndef RECORD_JIT_IMAGES_H
#define RECORD_JIT_IMAGES_H

#include "record/describe.h"

#define JIT_IMAGES_DESCRIPTORS 8
#define JIT_IMAGES_SEEN 4096 /* a power of two; images beyond are copied at each look of theirs */

struct jit_images {
	struct session *session; /* that has the images of seen[] */
	uint32_t next_module; /* index in the module list */
	uint32_t n_descriptors;
	uintptr_t descriptor[JIT_IMAGES_DESCRIPTORS];
	uint32_t n_images; /* copied into any session */
	uint32_t n_looks;
	uint64_t next_look_ns;
	struct {
		uint64_t what; /* hash of an entry of the list; 0 = empty */
		uint32_t look; /* the last one that found it */
	} seen[JIT_IMAGES_SEEN];
};

/* Copies what is new if a look is due, or if is_last is set. */
void jit_images_step(struct jit_images *j, struct describer *f, struct session *s, bool is_last);

#endif
