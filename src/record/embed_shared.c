/* record/embed_shared.c - see embed_shared.h. */
#include "record/embed_shared.h"

#include <sys/stat.h>

#include "record/options.h"
#include "record/own_memory.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

static bool has_owner(void)
{
	return options_active.CHOWN_OUTPUT_TO != OPTIONS_U64_UNSET;
}

/* Does it belong to us, or to whom our recordings belong, and may nobody else write to it? */
static bool is_trusted(int fd, mode_t kind)
{
	struct stat st;

	return arch_syscall2(SYS_fstat, fd, &st) == 0 && (st.st_mode & S_IFMT) == kind &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st.st_uid == (uid_t)arch_syscall0(SYS_geteuid) || st.st_uid == 0 ||
		(has_owner() && st.st_uid == options_active.CHOWN_OUTPUT_TO));
}

static void give_to_owner(int fd)
{
	if (has_owner())
		arch_syscall3(SYS_fchown, fd, options_active.CHOWN_OUTPUT_TO, -1);
}

/* Opens the folder beside the recording, and makes it if need be. Less than 0: it is of no use. */
static int open_folder(const struct session *s)
{
	char path[RECORD_PATH_BYTES + sizeof(SHARED_NAME_FOLDER)];
	struct text text = text_make(path, sizeof(path));
	long start = sys_open(s->folder, O_PATH | O_DIRECTORY, 0);
	int at = start < 0 ? AT_FDCWD : (int)start;
	long made, fd;

	text_put_bytes(&text, s->path, (size_t)(text_basename(s->path) - s->path));
	text_put(&text, SHARED_NAME_FOLDER);
	made = arch_syscall3(SYS_mkdirat, at, path, 0700);
	fd = arch_syscall4(SYS_openat, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
			   0);
	if (start >= 0)
		sys_close((int)start);
	if (fd < 0)
		return -1;
	if (made == 0)
		give_to_owner((int)fd);
	if (is_trusted((int)fd, S_IFDIR))
		return (int)fd;
	sys_close((int)fd);
	return -1;
}

/* Writes the first page, last of all: the file is a recording of nothing but a binary. */
static bool put_page(const struct session *file)
{
	uint8_t page[FORMAT_HEADER_BYTES] = {0};
	const struct file_header h = {
		.version_major = FORMAT_VERSION_MAJOR,
		.version_minor = FORMAT_VERSION_MINOR,
		.header_bytes = FORMAT_HEADER_BYTES,
		.pointer_bytes = sizeof(void *),
		.machine = ARCH_ELF_MACHINE,
		.page_bytes = PAGE_BYTES,
		.clock_source = FORMAT_CLOCK_MONOTONIC,
		.block_bytes = FORMAT_BLOCK_BYTES,
	};
	struct file_status status = {.sequence = 1};

	status.field[STATUS_STATE] = FORMAT_STATE_ENDED;
	status.field[STATUS_END_OF_CHUNKS] = file->end_offset;
	file_header_encode(&h, page);
	file_status_encode(&status, page);
	return sys_pwrite(file->fd, page, sizeof(page), 0) == (long)sizeof(page);
}

static bool begin(struct embed_shared *x)
{
	long fd = arch_syscall4(SYS_openat, x->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	x->file = own_memory_map(sizeof(*x->file));
	if (!x->file) {
		sys_close((int)fd);
		return false;
	}
	x->file->fd = (int)fd;
	x->file->end_offset = FORMAT_HEADER_BYTES;
	return true;
}

enum embed_shared_state embed_shared_begin(struct embed_shared *x, const struct session *s,
					   const struct module_entry *module, uint64_t size_bytes)
{
	enum embed_shared_state ret = EMBED_SHARED_REFUSED;
	struct text name = text_make(x->name, sizeof(x->name));
	long fd;

	if (!options_active.TRACK_CHILD_PROCESSES || options_active.ENABLE_SERVER ||
	    !shared_name_put(&name, module->build_id, module->build_id_bytes, size_bytes))
		return ret;
	x->folder = open_folder(s);
	if (x->folder < 0)
		return ret;
	fd = arch_syscall4(SYS_openat, x->folder, x->name,
			   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd >= 0) {
		if (is_trusted((int)fd, S_IFREG))
			ret = EMBED_SHARED_EXISTS;
		sys_close((int)fd);
	} else if (fd == SYS_ENOENT && begin(x)) {
		return EMBED_SHARED_BEGUN;
	}
	sys_close(x->folder);
	return ret;
}

void embed_shared_forget(struct embed_shared *x)
{
	if (x->file)
		own_memory_unmap(x->file, sizeof(*x->file));
	x->file = NULL;
}

void embed_shared_drop(struct embed_shared *x)
{
	if (!x->file)
		return;
	sys_close(x->file->fd);
	sys_close(x->folder);
	embed_shared_forget(x);
}

bool embed_shared_commit(struct embed_shared *x)
{
	char path[64];
	struct text text = text_make(path, sizeof(path));
	long ret = SYS_EIO;

	text_put(&text, "/proc/self/fd/");
	text_put_u64(&text, (uint64_t)x->file->fd);
	give_to_owner(x->file->fd);
	if (put_page(x->file))
		ret = arch_syscall5(SYS_linkat, AT_FDCWD, path, x->folder, x->name,
				    AT_SYMLINK_FOLLOW);
	embed_shared_drop(x);
	return ret == 0 || ret == SYS_EEXIST; /* another process of the run was faster */
}
