/* record/program_path.c - see program_path.h. */
#include "record/program_path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/text.h"
#include "record/sys.h"

#define EXE "/proc/self/exe"

static bool is_exe(const char *path)
{
	struct statx named, exe;

	return arch_syscall5(SYS_statx, AT_FDCWD, path, 0, STATX_INO, &named) == 0 &&
	       arch_syscall5(SYS_statx, AT_FDCWD, EXE, 0, STATX_INO, &exe) == 0 &&
	       named.stx_dev_major == exe.stx_dev_major &&
	       named.stx_dev_minor == exe.stx_dev_minor && named.stx_ino == exe.stx_ino;
}

const char *program_file(void)
{
	const char *run_as = (const char *)getauxval(AT_EXECFN);
	char path[8];
	long n = arch_syscall4(SYS_readlinkat, AT_FDCWD, EXE, path, sizeof(path));

	return n <= 0 && run_as ? run_as : EXE;
}

size_t program_path(char *path, size_t capacity)
{
	const char *run_as = (const char *)getauxval(AT_EXECFN);
	long n = arch_syscall4(SYS_readlinkat, AT_FDCWD, EXE, path, capacity - 1);
	struct text text;

	path[n > 0 ? n : 0] = 0;
	if (n <= 0 && run_as) { /* there is no /proc */
		text = text_make(path, capacity);
		text_put(&text, run_as);
		return text.len;
	}
	/* Only another name counts: a folder that is a link (/bin) stays resolved. */
	if (!run_as || run_as[0] != '/' || !strcmp(text_basename(run_as), text_basename(path)) ||
	    !is_exe(run_as))
		return n > 0 ? (size_t)n : 0;
	text = text_make(path, capacity);
	text_put(&text, run_as);
	return text.len;
}
