/* record/writer_log.c - see writer_log.h. */
#include "record/writer_log.h"

#include <string.h>
#include <sys/stat.h>

#include "record/log.h"
#include "record/program_path.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

/* A descriptor above 2, which stands for the program's stderr, or -errno. */
static long open_path(const char *path)
{
	long fd = sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0600);
	long copy;

	if (fd < 0 || fd > 2)
		return fd;
	copy = arch_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	sys_close((int)fd);
	return copy;
}

static void open_file(struct writer_log *l)
{
	long fd = open_path(l->path);

	l->fd = fd < 0 ? -1 : (int)fd;
	if (fd < 0)
		log_put_error(LOG_MUST, "the log cannot be written", l->path, -fd);
	l->written_bytes = 0;
}

void writer_log_open(struct writer_log *l, struct recorder *rec)
{
	char executable[512], name[256];
	struct options_names names = {
		.pid = rec->pid,
		.unix_seconds = sys_clock_ns(CLOCK_REALTIME) / NS_PER_S,
		.executable = name,
	};
	struct text text = text_make(l->path, sizeof(l->path));
	struct text name_text = text_make(name, sizeof(name));

	l->fd = -1;
	/* Descriptor 2 of a forked child may be anything. */
	l->has_stderr = log_wants(LOG_MUST) && !rec->parent_pid;
	if (!log_wants(LOG_ERROR))
		return;
	if (!options_active.LOGFILE[0]) {
		l->fd = 2; /* a copy: the program may close or replace its own */
		return;
	}
	text_put(&name_text, program_path(executable, sizeof(executable)) > 0
				     ? text_basename(executable)
				     : "unknown");
	options_expand(options_active.LOGFILE, &names, &text);
	open_file(l);
}

static void rotate(struct writer_log *l)
{
	char old[RECORD_PATH_BYTES + 8];
	struct text text = text_make(old, sizeof(old));

	text_put(&text, l->path);
	text_put(&text, ".old");
	arch_syscall4(SYS_renameat, AT_FDCWD, l->path, AT_FDCWD, old);
	sys_close(l->fd);
	open_file(l);
}

/* Somebody may have renamed or removed the file (logrotate): goes on in a new one of the name. */
static void follow_path(struct writer_log *l)
{
	struct stat ours, there;
	long fd;

	if (l->fd < 0 || l->fd == 2 || arch_syscall2(SYS_fstat, l->fd, &ours) < 0)
		return;
	if (arch_syscall4(SYS_newfstatat, AT_FDCWD, l->path, &there, 0) == 0 &&
	    there.st_ino == ours.st_ino && there.st_dev == ours.st_dev) {
		if (l->written_bytes > (uint64_t)ours.st_size)
			l->written_bytes = (uint64_t)ours.st_size; /* emptied */
		return;
	}
	fd = open_path(l->path);
	if (fd < 0)
		return; /* better there than nowhere */
	sys_close(l->fd);
	l->fd = (int)fd;
	l->written_bytes = 0;
}

void writer_log_flush(struct writer_log *l, struct recorder *rec)
{
	char line[LOG_RING_LINE_BYTES + 64];

	for (;;) {
		struct text text = text_make(line, sizeof(line));
		const struct log_ring_slot *next = log_ring_find_oldest(&rec->log);
		bool is_for_stderr = l->fd < 0 && l->has_stderr && next && next->level == LOG_MUST;

		if (!log_take(&rec->log, rec->pid, &text, l->fd == 2 || is_for_stderr))
			return;
		if (is_for_stderr)
			sys_write(2, line, text.len);
		if (l->fd < 0)
			continue;
		follow_path(l);
		sys_write(l->fd, line, text.len);
		l->written_bytes += text.len;
		if (l->fd != 2 && l->written_bytes > options_active.LOGFILE_ROTATE_WHEN_BIGGER_THAN)
			rotate(l);
	}
}

void writer_log_settle(struct writer_log *l)
{
	if (l->fd != 2)
		sys_close(2);
	l->has_stderr = false;
}

void writer_log_without_writer(struct recorder *rec)
{
	static struct writer_log l; /* too large for the target's stack; used once */

	writer_log_open(&l, rec);
	writer_log_flush(&l, rec);
	if (l.fd > 2)
		sys_close(l.fd);
}
