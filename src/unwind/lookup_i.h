/* unwind/lookup_i.h - everything that is known about the code at a frame's key. */
#ifndef UNWIND_LOOKUP_I_H
#define UNWIND_LOOKUP_I_H

#include "base/compiler.h"

struct unwind_thread;

enum lookup {
	LOOKUP_FDE, /* found: ut->fde */
	LOOKUP_NO_FDE, /* in the executable part of ut->image, but no FDE covers it */
	LOOKUP_NO_IMAGE, /* in no image; perhaps JIT code */
	LOOKUP_NOT_CODE, /* inside an image, but not executable */
	LOOKUP_BAD, /* the unwind table is damaged */
};

/* Once per process, and again in a forked child. */
void lookup_init(void);

/* Finds the image and the FDE of key - 1: ut->image and ut->fde, which stay until the next lookup.
 * is_careful: key may be no more than a guess, so its image may be going away. The images of true
 * frames stay, whatever other threads unload. */
enum lookup lookup_find(struct unwind_thread *ut, uintptr_t key, bool is_careful);

/* Copies n (at most MEMORY_CODE_BYTES) bytes at an address that is no more than a guess. False when
 * they cannot be read. */
bool lookup_any_code(struct unwind_thread *ut, uintptr_t addr, size_t n, uint8_t *ret);

/* Whether key may be a return address, in whatever code: a call ends right before it. *ret gets the
 * ARCH_CALL_MAX_BYTES bytes in front of key. */
bool lookup_any_call(struct unwind_thread *ut, uintptr_t key, uint8_t *ret);

/* False when the bytes before key are readable and no call: then key is no return address. Bytes that
 * cannot be read are given the benefit of the doubt inside an image only. After lookup_find() of
 * the same key. */
bool lookup_is_after_call(struct unwind_thread *ut, uintptr_t key);

/* The address that makecontext() makes its functions return to; no frame lies outside it. 0 =
 * unknown. */
uintptr_t lookup_context_return(void);

#endif
