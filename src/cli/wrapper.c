/* cli/wrapper.c - see wrapper.h. */
#include "cli/wrapper.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

extern char **environ;

static const char *const names[] = {
	/* shells */
	"sh", "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "yash", "zsh",
	/* the same program, changed in a property of the process */
	"chroot", "chrt", "choom", "dbus-run-session", "doas", "env", "fakeroot", "flock", "ionice",
	"nice", "nohup", "nsenter", "numactl", "prlimit", "runuser", "script", "setarch", "setpriv",
	"setsid", "stdbuf", "su", "sudo", "taskset", "time", "timeout", "tini", "unbuffer",
	"unshare", "watch", "xargs", "xvfb-run"};

bool wrapper_is_one(const char *path)
{
	const char *name = text_basename(path);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

bool wrapper_clears_environment(const char *path)
{
	const char *name = text_basename(path);

	return strcmp(name, "sudo") == 0 || strcmp(name, "doas") == 0;
}

size_t wrapper_find_program(char **argv)
{
	const char *with_value =
		strcmp(text_basename(argv[0]), "doas") == 0 ? "aCu" : "CDghpRrTtUu";
	size_t at = 1;

	for (; argv[at]; at++) {
		const char *arg = argv[at];

		if (strcmp(arg, "--") == 0) {
			at++;
			break;
		}
		if (arg[0] == '-' && arg[1] == '-')
			continue; /* --user=NAME; the form with a blank is rare */
		if (arg[0] == '-' && arg[1]) {
			const char *letter = strpbrk(arg + 1, with_value);

			if (letter && !letter[1] && argv[at + 1])
				at++; /* the value is the next argument */
			continue;
		}
		if (!strchr(arg, '='))
			break; /* NAME=VALUE is an assignment of sudo */
	}
	return argv[at] ? at : 0;
}

static bool is_for_recorder(const char *assignment)
{
	return strncmp(assignment, "LD_PRELOAD=", 11) == 0 ||
	       strncmp(assignment, "MEMORY_PROFILER_", 16) == 0;
}

int wrapper_add_environment(char **argv, size_t program, char ***ret, struct err *err)
{
	static char env[] = "env";
	size_t n_args = 0, n_set = 0, n_bytes = 0, n = 0;
	char **out;
	char *text;

	while (argv[n_args])
		n_args++;
	for (char **e = environ; *e; e++) {
		n_set += is_for_recorder(*e);
		n_bytes += is_for_recorder(*e) ? strlen(*e) + 1 : 0;
	}
	/* one piece of memory: the list, then the assignments */
	out = malloc((n_args + n_set + 2) * sizeof(*out) + n_bytes);
	if (!out)
		return err_set_memory(err, n_bytes);
	text = (char *)(out + n_args + n_set + 2);
	for (; n < program; n++)
		out[n] = argv[n];
	out[n++] = env;
	for (char **e = environ; *e; e++) {
		if (!is_for_recorder(*e))
			continue;
		out[n++] = strcpy(text, *e);
		text += strlen(*e) + 1;
	}
	for (size_t i = program; i <= n_args; i++)
		out[n++] = argv[i];
	*ret = out;
	return 0;
}
