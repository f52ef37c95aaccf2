/* record/hooks_dl.c - loading and unloading of code.
 *
 * dlopen and dlmopen are passed on by a jump (arch/<cpu>/dlopen_tail.S); here only their flags are
 * looked at. RTLD_DEEPBIND is taken away: with it a library binds malloc to libc instead of to the
 * hook. Its blocks would be invisible, and blocks that it shares with others would be paired
 * wrongly. New code needs no bookkeeping, because the unwinder finds it when a stack contains it.
 * Code that goes away does.
 */
#include <dlfcn.h>

#include "record/log.h"
#include "record/real.h"
#include "unwind/unwind.h"

extern void *(*hook_real_dlopen)(const char *, int);
extern void *(*hook_real_dlmopen)(long, const char *, int);
int hook_dlopen(const char *path, int flags);
int hook_dlmopen(long ns, const char *path, int flags);

void *(*hook_real_dlopen)(const char *, int);
void *(*hook_real_dlmopen)(long, const char *, int);

static int clean_flags(const char *path, int flags)
{
	if (!(flags & RTLD_DEEPBIND))
		return flags;
	log_put_text(LOG_WARN,
		     "RTLD_DEEPBIND taken away, or this library's allocations would be invisible",
		     path ? path : "(main program)");
	return flags & ~RTLD_DEEPBIND;
}

int hook_dlopen(const char *path, int flags)
{
	if (!real_is_ready())
		real_init();
	hook_real_dlopen = real.dlopen;
	return clean_flags(path, flags);
}

int hook_dlmopen(long ns, const char *path, int flags)
{
	(void)ns;
	if (!real_is_ready())
		real_init();
	hook_real_dlmopen = real.dlmopen;
	return clean_flags(path, flags);
}

EXPORT int dlclose(void *handle)
{
	int result;

	if (!real_is_ready())
		real_init();
	unwind_code_changing();
	result = real.dlclose(handle);
	unwind_code_changed();
	return result;
}

void __register_frame(const void *table);
void __deregister_frame(const void *table);

/* libgcc may have been loaded after real_init(): so the next definition is searched for each
 * time. */
EXPORT void __register_frame(const void *table)
{
	void (*next)(const void *) = (void (*)(const void *))real_find("__register_frame");

	if (!unwind_register_frames(table))
		log_put(LOG_WARN, "too many __register_frame tables: stacks through this code end "
				  "with no_info");
	if (next)
		next(table);
}

EXPORT void __deregister_frame(const void *table)
{
	void (*next)(const void *) = (void (*)(const void *))real_find("__deregister_frame");

	unwind_code_changing();
	unwind_deregister_frames(table);
	unwind_code_changed();
	if (next)
		next(table);
}
