/* unwind/maps.c - reads /proc/thread-self/maps.
 *
 * A line is "start-end perms offset device inode path", and a line may be cut anywhere by the end of
 * a buffer, so lines are read character by character. Not /proc/self/maps: that file is empty once the
 * first thread of the process has ended.
 */
#include "unwind/maps_i.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/arch.h"

enum field {
	START,
	END,
	PERMISSIONS,
	OFFSET,
	DEVICE,
	INODE,
	PATH
};

struct reader {
	struct maps_line line;
	unsigned field; /* enum field */
	unsigned n_permissions;
};

static void add_digit(uintptr_t *number, char c)
{
	unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');

	*number = *number << 4 | (digit & 15);
}

/* Takes one character that does not end the line. */
static void read_char(struct reader *r, char c)
{
	if (r->field == PATH) {
		if (!r->line.path && c != ' ')
			r->line.path = c;
	} else if (c == ' ' || (c == '-' && r->field == START)) {
		r->field++;
	} else if (r->field < PERMISSIONS) {
		add_digit(r->field == START ? &r->line.lo : &r->line.hi, c);
	} else if (r->field == PERMISSIONS && r->n_permissions++ == 2) {
		r->line.is_executable = c == 'x';
	}
}

/* False: fn wants no more. */
static bool read_bytes(struct reader *r, const uint8_t *bytes, size_t n, maps_visitor fn, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != '\n') {
			read_char(r, (char)bytes[i]);
			continue;
		}
		if (!fn(&r->line, arg))
			return false;
		*r = (struct reader){.field = START};
	}
	return true;
}

static uint64_t inode_of(int fd)
{
	struct statx st;

	if (arch_syscall5(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &st) < 0)
		return 0;
	return st.stx_ino;
}

#define MAX_KEPT 4096u

static struct maps_line kept[MAX_KEPT];
static unsigned n_kept;
static _Atomic bool is_kept;

static bool keep_line(const struct maps_line *line, void *arg)
{
	(void)arg;
	if (n_kept < MAX_KEPT)
		kept[n_kept++] = *line;
	return n_kept < MAX_KEPT;
}

void maps_keep(void)
{
	static uint8_t buffer[MAPS_BUFFER_BYTES];

	if (atomic_load(&is_kept))
		return;
	n_kept = 0;
	maps_each(buffer, keep_line, NULL);
	atomic_store(&is_kept, true);
}

static void each_kept(maps_visitor fn, void *arg)
{
	for (unsigned i = 0; i < n_kept && fn(&kept[i], arg); i++)
		;
}

/* Reads by pread(): should the program have replaced our descriptor by another file, the offset of
 * that file stays as it is. */
NOINLINE void maps_each(uint8_t buffer[MAPS_BUFFER_BYTES], maps_visitor fn, void *arg)
{
	struct reader r = {.field = START};
	uint64_t offset = 0;
	uint64_t inode;
	int fd;
	long n;

	if (atomic_load_explicit(&is_kept, memory_order_acquire)) {
		each_kept(fn, arg);
		return;
	}
	fd = (int)arch_syscall4(SYS_openat, AT_FDCWD, "/proc/thread-self/maps",
				O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	inode = inode_of(fd);
	do {
		n = arch_syscall4(SYS_pread64, fd, buffer, MAPS_BUFFER_BYTES, offset);
		offset += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && read_bytes(&r, buffer, (size_t)n, fn, arg));
	if (inode_of(fd) == inode) /* else some other thread closed it under us */
		arch_syscall1(SYS_close, fd);
}
