/* record/real.h - the functions that the hooks replace: the next definitions in the search order.
 *
 * Found by reading the dynamic linker's list of libraries and the symbol table of each library, not
 * by dlsym(): dlsym may allocate (and so call a hook), changes what dlerror() returns to the
 * program, and must not be used this early.
 */
#ifndef RECORD_REAL_H
#define RECORD_REAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "base/compiler.h"

struct sigaction;

struct real_functions {
#define HOOK(name, type) __typeof__(type) name;
#include "record/hooks.def"
#undef HOOK
};

extern HIDDEN struct real_functions real;

/* Fills real. May be called again; takes no lock, allocates nothing. Two threads at once write the
 * same values. Afterwards malloc, calloc, realloc and free are not NULL wherever there is a
 * libc. */
void real_init(void);

/* Has real_init() been called? */
static inline int real_is_ready(void)
{
	return __atomic_load_n(&real.malloc, __ATOMIC_ACQUIRE) != NULL;
}

/* The definition of name in the first library after ours in the search order that has one, or
 * NULL. */
void *real_find(const char *name);

/* The variable of this name that the program and its libraries use: the first one in the search order, or
 * NULL. Its address, not what is in it. */
void *real_find_variable(const char *name);

/* Makes the recorder call original where it would call function: function is redirected to a hook,
 * and a call that a hook makes must not reach a hook again. Only before the program has threads. */
void real_replace(const void *function, const void *original);

/* The file in front of our library in the search order that also defines name, so that calls go
 * there and not to our hook: its path, "" for the program itself; NULL: none. Such files are never
 * unloaded. */
const char *real_hidden_by(const char *name);

/* The functions that such a file defines under these names; NULL: there is none, and calls reach
 * our hooks. Blocks then belong to that file, so what libc does by these names (reallocarray()
 * calls realloc()) must go there. */
extern struct real_front {
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
} real_front;

/* Is the address in the code of the C library or of the dynamic linker? After real_init(). */
bool real_is_libc_code(uintptr_t addr);

/* Is the real malloc glibc's own? Its usable sizes then follow event_usual_usable(). */
extern uint8_t real_is_glibc;

/* Do malloc, calloc and realloc return chunks of glibc, with the size in the word before the
 * block? */
extern uint8_t real_has_chunks;

#endif
