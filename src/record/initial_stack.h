/* record/initial_stack.h - the arguments and the environment as the kernel put them on the stack.
 *
 * They are there before libc has set up `environ` (the recorder starts at the first malloc), and also
 * where there is no /proc (a chroot, a container that hides it). A program may overwrite the strings
 * later, to show a title; /proc shows the same bytes.
 */
#ifndef RECORD_INITIAL_STACK_H
#define RECORD_INITIAL_STACK_H

#include <stddef.h>

/* Strings that lie one behind the other, each with its 0, as in /proc/PID/environ. Borrowed: the
 * memory is the program's. */
struct initial_strings {
	const char *bytes; /* NULL: not found, or the strings do not lie one behind the other */
	size_t n_bytes;
};

struct initial_strings initial_stack_arguments(void);
struct initial_strings initial_stack_environment(void);

#endif
