/* record/output_file.c - see output_file.h. */
#include "record/output_file.h"

#include <string.h>
#include <sys/file.h>

#include "format/file_header.h"
#include "record/options.h"
#include "record/program_path.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define MAX_NAME_TRIES 1000

static void name_of_executable(char *name, size_t capacity)
{
	char path[1024];
	size_t n = program_path(path, sizeof(path));
	struct text text = text_make(name, capacity);

	text_put(&text, n > 0 ? text_basename(path) : "unknown");
}

static void expand_path(const struct recorder *rec, uint32_t piece, char *path, size_t capacity)
{
	char executable[256];
	struct options_names names = {
		.pid = rec->pid,
		.unix_seconds = sys_clock_ns(CLOCK_REALTIME) / NS_PER_S,
		.executable = executable,
		.counter = piece - 1,
		.with_counter = true,
	};
	struct text text = text_make(path, capacity);

	name_of_executable(executable, sizeof(executable));
	options_expand(options_active.OUTPUT, &names, &text);
}

/* Puts a number in front of the ending of the file name: app.dat becomes app.7.dat, app becomes
 * app.7. False: no room in capacity. */
static bool put_number(const char *path, uint64_t number, char *ret, size_t capacity)
{
	const char *base = text_basename(path);
	const char *ending = strrchr(base, '.');
	struct text text = text_make(ret, capacity);

	if (!ending || ending == base)
		ending = base + strlen(base);
	text_put_bytes(&text, path, (size_t)(ending - path));
	text_put_char(&text, '.');
	text_put_u64(&text, number);
	text_put(&text, ending);
	return !text.was_cut;
}

/* Is the open file a piece of this run? */
static bool is_own_piece(const struct recorder *rec, int fd)
{
	uint8_t data[FILE_HEADER_FIXED_BYTES];
	struct file_header h;

	return sys_pread(fd, data, sizeof(data), 0) == (long)sizeof(data) &&
	       file_header_decode(data, sizeof(data), &h) == FILE_HEADER_OK && h.piece &&
	       memcmp(h.run_id, rec->run_id, sizeof(h.run_id)) == 0;
}

/* Finds a name for an earlier recording, NAME.old or NAME.old.1 and so on, and takes it with an empty
 * file. 0 or -errno. */
static long take_old_name(const char *path, char *old, size_t capacity)
{
	for (uint64_t n = 0; n < MAX_NAME_TRIES; n++) {
		struct text text = text_make(old, capacity);
		long fd;

		text_put(&text, path);
		text_put(&text, n > 0 ? ".old." : ".old");
		if (n > 0)
			text_put_u64(&text, n);
		fd = sys_open(old, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0600);
		if (fd >= 0)
			sys_close((int)fd);
		if (fd != SYS_EEXIST)
			return fd < 0 ? fd : 0;
	}
	return SYS_EEXIST;
}

/* Is the program of this recording gone, or this very process before an exec? Then its writer is
 * about to finish the file, under whatever name. */
static bool is_of_the_past(const struct recorder *rec, int fd)
{
	uint8_t data[FILE_HEADER_FIXED_BYTES];
	struct file_header h;

	return sys_pread(fd, data, sizeof(data), 0) == (long)sizeof(data) &&
	       file_header_decode(data, sizeof(data), &h) == FILE_HEADER_OK &&
	       (h.pid == rec->pid || arch_syscall2(SYS_kill, h.pid, 0) == SYS_ESRCH);
}

/* The name is taken: moves a finished recording of an earlier run away. 0: the name is free now.
 * -errno: the file is left alone; -EAGAIN: somebody still writes it, or it is a piece of this run;
 * -EINVAL: it is no regular file. */
static long move_aside(const struct recorder *rec, const char *path)
{
	char old[RECORD_PATH_BYTES + 24];
	struct stat st;
	long fd, ret;

	fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	ret = arch_syscall2(SYS_fstat, fd, &st);
	if (ret == 0 && !S_ISREG(st.st_mode))
		ret = SYS_EINVAL;
	if (ret == 0)
		ret = arch_syscall2(SYS_flock, fd, LOCK_EX | LOCK_NB);
	if (ret == SYS_EAGAIN && is_of_the_past(rec, (int)fd))
		ret = 0;
	if (ret == 0 && is_own_piece(rec, (int)fd))
		ret = SYS_EAGAIN;
	sys_close((int)fd);
	if (ret == 0)
		ret = take_old_name(path, old, sizeof(old));
	return ret < 0 ? ret : arch_syscall4(SYS_renameat, AT_FDCWD, path, AT_FDCWD, old);
}

/* Creates the file under this very name. A descriptor or -errno; -EAGAIN: another name must be
 * tried. */
static long create_named(const struct recorder *rec, const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY;
	long fd = sys_open(path, flags, 0600);
	long moved;

	if (fd != SYS_EEXIST)
		return fd;
	moved = move_aside(rec, path);
	if (moved == SYS_EACCES || moved == SYS_EPERM) /* it is another user's */
		return SYS_EAGAIN;
	if (moved < 0)
		return moved;
	fd = sys_open(path, flags, 0600);
	return fd == SYS_EEXIST ? SYS_EAGAIN : fd;
}

bool output_file_remove(const struct recorder *rec, const char *path)
{
	long fd = sys_open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, 0);
	bool is_own = fd >= 0 && is_own_piece(rec, (int)fd);

	if (fd >= 0)
		sys_close((int)fd);
	return is_own && arch_syscall3(SYS_unlinkat, AT_FDCWD, path, 0) == 0;
}

long output_file_create(const struct recorder *rec, uint32_t piece, char *path)
{
	const char *pattern = options_active.OUTPUT;
	bool is_fixed =
		!options_has_placeholder(pattern, 'n') && !options_has_placeholder(pattern, 't');
	uint64_t first = piece > 1 ? piece - 1 : 1;
	char name[RECORD_PATH_BYTES - 32];
	long fd;

	expand_path(rec, piece, name, sizeof(name));
	memcpy(path, name, strlen(name) + 1);
	if (piece == 1 || !is_fixed) {
		fd = create_named(rec, path);
		if (fd != SYS_EAGAIN)
			return fd;
	}
	for (uint64_t n = first; n < first + MAX_NAME_TRIES; n++) {
		if (!put_number(name, n, path, RECORD_PATH_BYTES))
			return SYS_EINVAL;
		/* an earlier run's piece of this name stays where it is */
		fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0600);
		if (fd != SYS_EEXIST)
			return fd;
	}
	return SYS_EEXIST;
}
