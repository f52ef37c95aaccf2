/* base/compiler.h - attributes, assertions and build-time constants.
 *
 * Usable everywhere, also inside the target process: includes nothing that links.
 */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef CONFIG_DEBUG_LOGS
#define CONFIG_DEBUG_LOGS 0 /* 1: trace/debug messages are compiled in */
#endif
#ifndef CONFIG_CHECKS
#define CONFIG_CHECKS 0 /* 0 none, 1 ASSERT(), 2 also the x_check() functions of structures */
#endif

#ifndef CONFIG_AUDIT
#define CONFIG_AUDIT 0 /* 1: every stack of the stack cache is compared with a full walk */
#endif

#ifndef CONFIG_LINKS_FIND_OBJECT
#define CONFIG_LINKS_FIND_OBJECT 0 /* 1: our own process, which may need a new glibc */
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define NOINLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define EXPORT __attribute__((visibility("default")))
/* For declarations of variables of the record path: loads need no entry of the global offset
 * table. */
#define HIDDEN __attribute__((visibility("hidden")))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define COLD __attribute__((cold, noinline))
/* For functions that load memory of the target: sanitizers do not watch them. */
#define NO_SANITIZE __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

/* For variables that every event reads and hardly anything writes: they lie side by side, so that
 * they do not take a cache line each. */
#define HOT_DATA __attribute__((section("hot_data")))

/* A counter that one thread increases and others may read. */
#define COUNT_ADD(counter, n)                                                                      \
	__atomic_store_n(&(counter), (counter) + (uint64_t)(n), __ATOMIC_RELAXED)
#define COUNT_RESET(counter) __atomic_store_n(&(counter), 0, __ATOMIC_RELAXED)
#define COUNT_READ(counter) __atomic_load_n(&(counter), __ATOMIC_RELAXED)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* For our own mistakes, never for input. Traps without a message or an allocation, so it is usable
 * in the target. Release builds compile it away. */
#define ASSERT(x)                                                                                  \
	do {                                                                                       \
		if (CONFIG_CHECKS > 0 && !(x))                                                     \
			__builtin_trap();                                                          \
	} while (0)

/* Hides from the compiler how the value of this variable was computed: the compiler neither
 * computes the value again nor makes a branch of it. */
#define FORGET_ORIGIN(variable) __asm__("" : "+r"(variable))

#endif
