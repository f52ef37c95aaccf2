/* record/real.h - the next definitions of the functions we hook.
 *
 * Found by reading the dynamic linker's own list and each library's symbol table instead of
 * calling dlsym(): dlsym may allocate (and so call us), changes what dlerror() tells the program,
 * and may not be used this early.
 */
#ifndef RECORD_REAL_H
#define RECORD_REAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

struct real_functions {
#define HOOK(name, type) __typeof__(type) name;
#include "record/hooks.def"
#undef HOOK
};

extern HIDDEN struct real_functions real;

/* Fills real. Idempotent, takes no lock, allocates nothing; two threads at once write the same
 * values. malloc, calloc, realloc and free are never NULL afterwards (see real.c). */
void real_init(void);

static inline int real_is_ready(void)
{
	return __atomic_load_n(&real.malloc, __ATOMIC_ACQUIRE) != NULL;
}

/* The next definition of name behind our library in the search order, or NULL. */
void *real_find(const char *name);

/* The file in front of our library in the search order that defines name as well, so that calls go
 * there and not to us: its path, "" for the program itself; NULL: none. Such files are never unloaded. */
const char *real_hidden_by(const char *name);

/* What calls of these names reach when such a file defines them; NULL: us. Blocks are that file's then,
 * so what libc does by these names (reallocarray() calls realloc()) must go there. */
extern struct real_front {
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
} real_front;

/* Is the allocator behind us glibc's own? Its usable sizes then follow event_usual_usable(). */
extern uint8_t real_is_glibc;

/* Do malloc, calloc and realloc give chunks of glibc, with their size in the word before them? */
extern uint8_t real_has_chunks;

#endif
