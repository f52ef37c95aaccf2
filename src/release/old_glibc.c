/* release/old_glibc.c - lets programs that are built with a new glibc run on glibc 2.28.
 *
 * The linker takes the newest version of each function of libc, and a program that uses any function
 * of a new version does not start with an older libc, even if the function is an old one. The
 * functions below have a new version for reasons that do not concern our programs: the threads moved
 * from libpthread to libc, stat() became a function of its own, exp() no longer sets errno. Here each
 * is defined as a call of its old version, which every glibc has. The static libraries that are
 * linked in find these definitions first. The definitions are hidden: otherwise libc's own symbols
 * would lead back to them.
 *
 * Only in programs that are built with -Drelease=true; tools/check_symbols.py checks the result.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

#define OLD(name, of, version) __asm__(".symver " #name "," #of "@" version)

/* ---- threads: in libpthread until 2.34 ---- */

int old_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int old_join(pthread_t, void **);
int old_once(pthread_once_t *, void (*)(void));
int old_sigmask(int, const sigset_t *, sigset_t *);
OLD(old_create, pthread_create, "GLIBC_2.2.5");
OLD(old_join, pthread_join, "GLIBC_2.2.5");
OLD(old_once, pthread_once, "GLIBC_2.2.5");
OLD(old_sigmask, pthread_sigmask, "GLIBC_2.2.5");
int old_setname(pthread_t, const char *);
int old_setstacksize(pthread_attr_t *, size_t);
OLD(old_setname, pthread_setname_np, "GLIBC_2.12");
OLD(old_setstacksize, pthread_attr_setstacksize, "GLIBC_2.2.5");
int old_getcpuclockid(pthread_t, clockid_t *);
OLD(old_getcpuclockid, pthread_getcpuclockid, "GLIBC_2.2.5");

HIDDEN int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	return old_create(t, a, f, arg);
}

HIDDEN int pthread_setname_np(pthread_t t, const char *name)
{
	return old_setname(t, name);
}

HIDDEN int pthread_attr_setstacksize(pthread_attr_t *a, size_t size_bytes)
{
	return old_setstacksize(a, size_bytes);
}

HIDDEN int pthread_getcpuclockid(pthread_t t, clockid_t *clock)
{
	return old_getcpuclockid(t, clock);
}

HIDDEN int pthread_join(pthread_t t, void **result)
{
	return old_join(t, result);
}

HIDDEN int pthread_once(pthread_once_t *once, void (*f)(void))
{
	return old_once(once, f);
}

HIDDEN int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return old_sigmask(how, set, old);
}

/* ---- 2.30 ---- */

HIDDEN pid_t gettid(void);
HIDDEN pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* ---- the dynamic linker: in libdl until 2.34 ---- */

void *old_dlopen(const char *, int);
void *old_dlsym(void *, const char *);
OLD(old_dlopen, dlopen, "GLIBC_2.2.5");
OLD(old_dlsym, dlsym, "GLIBC_2.2.5");

HIDDEN void *dlopen(const char *path, int flags)
{
	return old_dlopen(path, flags);
}

HIDDEN void *dlsym(void *handle, const char *name)
{
	return old_dlsym(handle, name);
}

/* ---- files: until 2.33 inline calls of these, with the version of struct stat ---- */

#define STAT_VERSION 1

int old_xstat(int, const char *, struct stat *);
int old_lxstat(int, const char *, struct stat *);
int old_fxstat(int, int, struct stat *);
OLD(old_xstat, __xstat, "GLIBC_2.2.5");
OLD(old_lxstat, __lxstat, "GLIBC_2.2.5");
OLD(old_fxstat, __fxstat, "GLIBC_2.2.5");

HIDDEN int stat(const char *path, struct stat *st)
{
	return old_xstat(STAT_VERSION, path, st);
}

HIDDEN int lstat(const char *path, struct stat *st)
{
	return old_lxstat(STAT_VERSION, path, st);
}

HIDDEN int fstat(int fd, struct stat *st)
{
	return old_fxstat(STAT_VERSION, fd, st);
}

/* ---- mathematics: 2.29 has versions that leave errno alone ---- */

double old_exp(double);
double old_log(double);
double old_pow(double, double);
OLD(old_exp, exp, "GLIBC_2.2.5");
OLD(old_log, log, "GLIBC_2.2.5");
OLD(old_pow, pow, "GLIBC_2.2.5");

HIDDEN double exp(double x)
{
	return old_exp(x);
}

double old_log2(double);
OLD(old_log2, log2, "GLIBC_2.2.5");

HIDDEN double log2(double x)
{
	return old_log2(x);
}

HIDDEN double log(double x)
{
	return old_log(x);
}

HIDDEN double pow(double x, double y)
{
	return old_pow(x, y);
}

/* ---- the start: since 2.34 libc runs the constructors of the program itself ---- */

typedef int main_fn(int, char **, char **);
typedef void start_fn(int, char **, char **);

extern start_fn *const __preinit_array_start[] __attribute__((visibility("hidden")));
extern start_fn *const __preinit_array_end[] __attribute__((visibility("hidden")));
extern start_fn *const __init_array_start[] __attribute__((visibility("hidden")));
extern start_fn *const __init_array_end[] __attribute__((visibility("hidden")));

int old_start_main(main_fn *, int, char **, start_fn *, void (*)(void), void (*)(void), void *);
OLD(old_start_main, __libc_start_main, "GLIBC_2.2.5");

static void run_constructors(int argc, char **argv, char **env)
{
	for (start_fn *const *f = __preinit_array_start; f < __preinit_array_end; f++)
		(*f)(argc, argv, env);
	for (start_fn *const *f = __init_array_start; f < __init_array_end; f++)
		(*f)(argc, argv, env);
}

/* Called by the start file, which gives what glibc asks for. The dynamic linker runs the destructors,
 * whatever the version. */
#define START_PARAMETERS                                                                           \
	main_fn *main_of, int argc, char **argv, start_fn *init, void (*fini)(void),               \
		void (*end_of_linker)(void), void *stack_end

HIDDEN int __libc_start_main(START_PARAMETERS);
int __libc_start_main(START_PARAMETERS)
{
	return old_start_main(main_of, argc, argv, init ? init : run_constructors, fini,
			      end_of_linker, stack_end);
}
