/* record/log.c - see log.h. */
#include "record/log.h"

#include <errno.h>

#include "record/record.h"
#include "record/sys.h"

bool log_wants(enum log_level level)
{
	return level <= options_active.LOG;
}

void log_put(enum log_level level, const char *line)
{
	struct recorder *rec = record_get();

	if (log_wants(level) && rec)
		log_ring_put(&rec->log, level, line);
}

/* Placeholders of the file name are not expanded: the name must not depend on anything that can
 * fail. */
void log_directly(const char *line)
{
	char buffer[LOG_RING_LINE_BYTES];
	struct text text = text_make(buffer, sizeof(buffer));
	long fd = 2;

	if (!log_wants(LOG_MUST))
		return;
	if (log_wants(LOG_ERROR) && options_active.LOGFILE[0])
		fd = sys_open(options_active.LOGFILE, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY,
			      0600);
	if (fd < 0)
		return;
	text_put(&text, "memory-profiler: ERR ");
	text_put(&text, line);
	text_put_char(&text, '\n');
	sys_write((int)fd, buffer, text.len);
	if (fd > 2)
		sys_close((int)fd);
}

const char *log_errno_name(long error)
{
	switch (error) {
	case ENOSPC:
		return "ENOSPC: no space left on device";
	case EFBIG:
		return "EFBIG: file size limit reached";
	case EDQUOT:
		return "EDQUOT: quota exceeded";
	case EACCES:
		return "EACCES: permission denied";
	case ENOENT:
		return "ENOENT: no such file or directory";
	case EROFS:
		return "EROFS: read-only file system";
	case EAGAIN:
		return "EAGAIN: a limit is reached (ulimit -u, pids.max)";
	case EMFILE:
		return "EMFILE: too many open files";
	case ENOMEM:
		return "ENOMEM: out of memory";
	case EIO:
		return "EIO: input/output error";
	case EISDIR:
		return "EISDIR: is a directory";
	case EPERM:
		return "EPERM: operation not permitted";
	case EINVAL:
		return "EINVAL: not a regular file, or too long a name";
	case ENOSYS:
		return "ENOSYS: a filter of system calls (seccomp) refuses this";
	case ESRCH:
		return "ESRCH: the folder is one in /proc, of a process that has ended";
	case ENOTDIR:
		return "ENOTDIR: not a directory";
	default:
		return "error";
	}
}

void log_put_text(enum log_level level, const char *what, const char *text)
{
	char line[LOG_RING_LINE_BYTES];
	struct text out = text_make(line, sizeof(line));

	if (!log_wants(level))
		return;
	text_put(&out, what);
	text_put(&out, ": ");
	text_put(&out, text);
	log_put(level, line);
}

void log_put_error(enum log_level level, const char *what, const char *path, long error)
{
	char reason[LOG_RING_LINE_BYTES];
	struct text out = text_make(reason, sizeof(reason));

	if (!log_wants(level))
		return;
	text_put(&out, path);
	text_put(&out, ": ");
	text_put(&out, log_errno_name(error));
	text_put(&out, " (errno ");
	text_put_i64(&out, error);
	text_put(&out, ")");
	log_put_text(level, what, reason);
}

bool log_take(struct log_ring *ring, uint32_t pid, struct text *out, bool with_prefix)
{
	static const char *const names[] = {"ERR", "ERR", "WRN", "INF", "DBG", "TRC"};
	struct log_ring_slot *oldest = log_ring_find_oldest(ring);

	if (!oldest)
		return false;
	if (with_prefix)
		text_put(out, "memory-profiler: ");
	text_put_u64(out, pid);
	text_put_char(out, ' ');
	text_put_u64(out, oldest->tid);
	text_put_char(out, ' ');
	text_put(out, names[oldest->level]);
	text_put_char(out, ' ');
	text_put(out, oldest->line);
	text_put_char(out, '\n');
	log_ring_free_slot(oldest);
	return true;
}
