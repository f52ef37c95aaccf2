/* cli/target.c - see target.h. */
#include "cli/target.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/wrapper.h"
#include "util/file.h"

#define MAX_SCRIPTS 5 /* the kernel's limit: an interpreter may be a script again */
#define SCRIPT_LINE_BYTES 256

static bool is_executable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Finds the path of a command as execvp() does. *exit_status is set for a failure. */
static int find_command(const char *command, char path[PATH_MAX], int *exit_status, struct err *err)
{
	const char *dirs = getenv("PATH");
	bool is_denied = false;

	*exit_status = TARGET_NOT_FOUND;
	if (strchr(command, '/')) {
		if (snprintf(path, PATH_MAX, "%s", command) >= PATH_MAX)
			return err_set(err, ERR_REFUSED,
				       "%.64s...: the path is too long; use a shorter one",
				       command);
		if (access(path, F_OK) < 0)
			return err_set_errno(err, errno, "%s", command);
		is_denied = !is_executable_file(path);
	} else {
		for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir; dir = strchr(dir, ':')) {
			int len;

			dir += *dir == ':';
			len = (int)strcspn(dir, ":");
			if (snprintf(path, PATH_MAX, "%.*s%s%s", len, dir, len ? "/" : "",
				     command) < PATH_MAX &&
			    access(path, F_OK) == 0) {
				if (is_executable_file(path))
					return 0;
				is_denied = true;
			}
		}
		if (!is_denied)
			return err_set(err, ERR_REFUSED,
				       "%s: command not found in PATH; give its path", command);
	}
	if (!is_denied)
		return 0;
	*exit_status = TARGET_NOT_EXECUTABLE;
	return err_set(err, ERR_REFUSED,
		       "%s is not an executable file; give the program itself, or make it "
		       "executable (chmod +x)",
		       command);
}

/* Refuses programs that change user or capabilities: the dynamic linker ignores LD_PRELOAD for them. */
static int check_privileges(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set_errno(err, errno, "%s", path);
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return err_set(err, ERR_REFUSED,
			       "%s is set-user-ID to user %u, so the dynamic linker ignores "
			       "LD_PRELOAD; run '" PROGRAM
			       "' as that user, or record a copy without the bit",
			       path, st.st_uid);
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return err_set(
			err, ERR_REFUSED,
			"%s is set-group-ID to group %u, so the dynamic linker ignores LD_PRELOAD; "
			"record a copy without the bit",
			path, st.st_gid);
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return err_set(
			err, ERR_REFUSED,
			"%s has file capabilities, so the dynamic linker ignores LD_PRELOAD; "
			"record a copy without them, or run as root",
			path);
	return 0;
}

struct elf_facts {
	bool is_elf;
	bool is_same_machine; /* class, byte order and CPU are ours */
	char interpreter[256]; /* "": none, the file is statically linked */
};

/* Reads an ELF file. own is our own header to compare with, or NULL. Fields that cannot be read stay
 * 0. Returns 0, or -ERR_x if reading fails. */
static int read_elf(const struct file *f, const ElfW(Ehdr) * own, struct elf_facts *ret,
		    struct err *err)
{
	ElfW(Ehdr) head = {0};
	size_t n_read = 0;
	int r = file_read(f, 0, &head, sizeof(head), &n_read, err);

	*ret = (struct elf_facts){0};
	if (r < 0 || n_read < sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return r;
	ret->is_elf = true;
	ret->is_same_machine = !own || (head.e_ident[EI_CLASS] == own->e_ident[EI_CLASS] &&
					head.e_ident[EI_DATA] == own->e_ident[EI_DATA] &&
					head.e_machine == own->e_machine);
	if (!ret->is_same_machine)
		return 0;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) ph;

		r = file_read(f, head.e_phoff + (uint64_t)i * head.e_phentsize, &ph, sizeof(ph),
			      &n_read, err);
		if (r < 0 || n_read < sizeof(ph))
			return r;
		if (ph.p_type != PT_INTERP)
			continue;
		r = file_read(f, ph.p_offset, ret->interpreter, sizeof(ret->interpreter) - 1,
			      &n_read, err);
		return r;
	}
	return 0;
}

/* Reads the ELF file of this process: the recorder fits programs of the same kind. */
static bool read_own_elf(ElfW(Ehdr) * head, struct elf_facts *facts)
{
	struct file f = FILE_NONE;
	size_t n_read = 0;
	bool ok = file_open("/proc/self/exe", &f, NULL) == 0 &&
		  file_read(&f, 0, head, sizeof(*head), &n_read, NULL) == 0 &&
		  n_read == sizeof(*head) && read_elf(&f, NULL, facts, NULL) == 0;

	file_close(&f);
	return ok;
}

/* *is_elf false: execvp() gives the file to a shell. */
static int check_elf(const char *path, const struct file *f, bool *is_elf, struct err *err)
{
	struct elf_facts own, facts;
	ElfW(Ehdr) own_head;
	int r;

	*is_elf = true;
	if (!read_own_elf(&own_head, &own))
		return 0; /* nothing to compare with: try it */
	r = read_elf(f, &own_head, &facts, err);
	*is_elf = r < 0 || facts.is_elf;
	if (r < 0 || !facts.is_elf)
		return r;
	if (!facts.is_same_machine)
		return err_set(
			err, ERR_REFUSED,
			"%s is a program for another CPU or word size; use a memory-profiler "
			"that is built for it",
			path);
	if (!facts.interpreter[0])
		return err_set(
			err, ERR_REFUSED,
			"%s is statically linked, so the recorder cannot be loaded into it; link "
			"it dynamically (without -static)",
			path);
	if (own.interpreter[0] &&
	    !strstr(facts.interpreter, "ld-musl") != !strstr(own.interpreter, "ld-musl"))
		return err_set(err, ERR_REFUSED,
			       "%s uses another C library (%s) than this memory-profiler; use a "
			       "memory-profiler that is built for it",
			       path, facts.interpreter);
	return 0;
}

/* Reads the interpreter of a script. False if the file is not a script. */
static bool read_script(const struct file *f, char interpreter[SCRIPT_LINE_BYTES])
{
	char line[SCRIPT_LINE_BYTES] = "";
	size_t n_read = 0, start;

	if (file_read(f, 0, line, sizeof(line) - 1, &n_read, NULL) < 0 || n_read < 3 ||
	    line[0] != '#' || line[1] != '!')
		return false;
	start = 2 + strspn(line + 2, " \t");
	line[start + strcspn(line + start, " \t\r\n")] = 0;
	memcpy(interpreter, line + start, strlen(line + start) + 1);
	return interpreter[0] != 0;
}

int target_check(const char *command, struct target *ret, struct err *err)
{
	char path[PATH_MAX], interpreter[SCRIPT_LINE_BYTES];
	int r = find_command(command, path, &ret->exit_status, err);

	ret->is_wrapper = false;
	if (r < 0)
		return r;
	ret->exit_status = CLI_FAILED;
	for (int depth = 0; depth <= MAX_SCRIPTS; depth++) {
		struct file f = FILE_NONE;
		bool is_script, is_elf = true;

		ret->is_wrapper = ret->is_wrapper || wrapper_is_one(path);
		if (file_open(path, &f, NULL) < 0)
			return check_privileges(path, err); /* executable but not readable */
		is_script = read_script(&f, interpreter);
		r = is_script || wrapper_clears_environment(path) ? 0 : check_privileges(path, err);
		if (r == 0 && !is_script)
			r = check_elf(path, &f, &is_elf, err);
		ret->is_wrapper = ret->is_wrapper || !is_elf;
		file_close(&f);
		if (!is_script) {
			if (r < 0 && depth > 0)
				err_prefix(err, "%s is run by", command);
			return r;
		}
		if (!is_executable_file(interpreter)) {
			ret->exit_status = TARGET_NOT_EXECUTABLE;
			return err_set(
				err, ERR_REFUSED,
				"%s: its interpreter %s cannot be executed; correct the first "
				"line of the script",
				path, interpreter);
		}
		memcpy(path, interpreter, strlen(interpreter) + 1);
	}
	return err_set(err, ERR_REFUSED,
		       "%s: scripts that interpret scripts are nested too deep; give the program "
		       "itself",
		       command);
}
