/* cli/run_output.c - see run_output.h. */
#include "cli/run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output_name.h"
#include "format/default_output.h"

#define OPTION_OR_VARIABLE "(-o or " RUN_OUTPUT_VARIABLE ")"
#define MAX_OLD 10000 /* earlier recordings of one name */

/* Makes the folder and those above it, as mkdir -p does. */
static int make_folder(char *folder, struct err *err)
{
	for (char *p = folder + 1;; p++) {
		char end = *p;

		if (end != '/' && end != 0)
			continue;
		*p = 0;
		if (mkdir(folder, 0777) < 0 && errno != EEXIST)
			return err_set_errno(err, errno,
					     "the folder %s cannot be made " OPTION_OR_VARIABLE,
					     folder);
		*p = end;
		if (!end)
			return 0;
	}
}

/* Makes the folder of a pattern if it does not exist, and refuses one that is not writable, so that
 * the program does not run without a recording. A folder with placeholders is left to the recorder. */
static int prepare_folder(const char *pattern, struct err *err)
{
	const char *slash = strrchr(pattern, '/');
	char dir[RUN_OUTPUT_BYTES];
	struct stat st;

	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - pattern), pattern);
	if (output_name_has_placeholder(dir))
		return 0;
	output_name_unquote(dir);
	if (dir[0] && access(dir, F_OK) < 0 && errno == ENOENT && make_folder(dir, err) < 0)
		return -ERR_IO;
	if (access(dir[0] ? dir : "/", W_OK | X_OK) < 0)
		return err_set_errno(err, errno,
				     "recordings cannot be written to %s " OPTION_OR_VARIABLE,
				     dir[0] ? dir : "/");
	if (!output_name_has_placeholder(pattern) && stat(pattern, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, ERR_REFUSED, "%s is a directory; add a file name", pattern);
	return 0;
}

/* Makes an absolute pattern of what was asked for. */
static int make_absolute(const char *wanted, char pattern[RUN_OUTPUT_BYTES], struct err *err)
{
	char cwd[PATH_MAX], quoted[RUN_OUTPUT_BYTES] = "";
	int n;

	if (wanted[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return err_set_errno(
				err, errno,
				"the current directory cannot be found; change to another one");
		if (!output_name_quote(cwd, quoted, sizeof(quoted)))
			return err_set(err, ERR_REFUSED,
				       "the name of the current directory is too long; use -o with "
				       "an absolute path");
	}
	n = snprintf(pattern, RUN_OUTPUT_BYTES, "%s%s%s", strcmp(quoted, "/") ? quoted : "",
		     wanted[0] == '/' ? "" : "/", wanted);
	if (n >= RUN_OUTPUT_BYTES)
		return err_set(err, ERR_REFUSED,
			       "the name of the recording is too long " OPTION_OR_VARIABLE
			       "; use a shorter one");
	return 0;
}

/* Puts the executable and the process into the pattern, before the ending. */
static int add_process(struct run_output *o, struct err *err)
{
	char plain[RUN_OUTPUT_BYTES];
	const char *slash, *dot;
	int n;

	memcpy(plain, o->pattern, sizeof(plain));
	slash = strrchr(plain, '/');
	dot = strrchr(slash, '.');
	if (!dot || dot == slash + 1)
		dot = plain + strlen(plain);
	n = snprintf(o->pattern, sizeof(o->pattern), "%.*s_%%e_%%p%s", (int)(dot - plain), plain,
		     dot);
	if (n >= RUN_OUTPUT_BYTES)
		return err_set(err, ERR_REFUSED,
			       "the name of the recording is too long " OPTION_OR_VARIABLE
			       "; use a shorter one");
	if (!output_name_has_placeholder(plain)) {
		output_name_unquote(plain);
		memcpy(o->name, plain, sizeof(o->name));
	}
	return 0;
}

int run_output_set(const char *wanted, bool has_children, struct run_output *ret, struct err *err)
{
	int r;

	*ret = (struct run_output){.name = ""};
	if (!wanted)
		wanted = getenv(RUN_OUTPUT_VARIABLE);
	if (!wanted)
		wanted = DEFAULT_OUTPUT;
	if (!*wanted)
		return err_set(err, ERR_REFUSED,
			       "the name of the recording is empty " OPTION_OR_VARIABLE
			       ": nothing would be recorded; give a name");
	r = make_absolute(wanted, ret->pattern, err);
	if (r == 0)
		r = prepare_folder(ret->pattern, err);
	if (r == 0 && has_children && !output_name_has_process(ret->pattern))
		r = add_process(ret, err);
	if (r == 0 && setenv(RUN_OUTPUT_VARIABLE, ret->pattern, 1) < 0)
		return err_set_memory(err, strlen(ret->pattern));
	return r;
}

/* Renames a file to NAME.old, or NAME.old.1 and so on: whichever is free. False: another process
 * writes the file, or there is no free name. */
static bool move_aside(const char *name)
{
	char old[RUN_OUTPUT_BYTES + 32];
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	for (unsigned n = 0; is_free && n < MAX_OLD; n++) {
		if (n == 0)
			snprintf(old, sizeof(old), "%s.old", name);
		else
			snprintf(old, sizeof(old), "%s.old.%u", name, n);
		if (access(old, F_OK) < 0 && errno == ENOENT)
			return rename(name, old) == 0;
	}
	return false;
}

const char *run_output_name(const struct run_output *o, const char *path)
{
	struct stat st;
	bool is_there = o->name[0] && lstat(o->name, &st) == 0;

	if (!o->name[0] || (is_there && (!S_ISREG(st.st_mode) || !move_aside(o->name))) ||
	    rename(path, o->name) < 0)
		return path;
	return o->name;
}
