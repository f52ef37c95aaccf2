/* util/atomic_file.c - see atomic_file.h. */
#include "util/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/file.h"

#define BUFFER_BYTES (256u * 1024)
#define MAX_NAMED 16 /* temporary files with a name, at a time */
#define NO_SLOT (-1)
#define LOCK_PAUSE_NS 50000000
#define LOCK_TRIES 200 /* ten seconds */

struct atomic_file {
	char *path; /* the target, symbolic links followed */
	int fd;
	int slot; /* in named[], or NO_SLOT: the file has no name */
	mode_t mode;
	unsigned flags;
	uint8_t *buffer; /* BUFFER_BYTES; the bytes that follow the first written_bytes */
	size_t n_buffered;
	uint64_t written_bytes;
	bool is_in_place; /* made by atomic_file_extend() */
	uint64_t kept_bytes; /* in place: the length that a discard cuts the file back to */
};

/* Names to remove when a signal ends us. state: 0 free, 1 being filled, 2 the name counts. A slot
 * is set to 2 before its file is made and back only after the file is gone or renamed. */
static struct {
	atomic_int state;
	char name[PATH_MAX];
} named[MAX_NAMED];

/* Removes the temporary files of this process; safe in signal handlers. */
static void remove_named(void)
{
	for (size_t i = 0; i < MAX_NAMED; i++) {
		if (atomic_load(&named[i].state) == 2)
			unlink(named[i].name);
	}
}

static void on_signal(int sig)
{
	remove_named();
	raise(sig); /* SA_RESETHAND has restored the default: ends the process when we return */
}

static void install_handlers(void)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, old;

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(ending); i++) {
		if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(ending[i], &action, NULL);
	}
	/* a limit on file sizes becomes an error of write(), with a text, instead of ending us */
	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

/* Takes a slot and writes the name of a new temporary file for path into it. */
static int take_slot(const char *path)
{
	static atomic_uint counter;
	const char *slash = strrchr(path, '/');
	int folder_bytes = slash ? (int)(slash + 1 - path) : 0;

	for (int i = 0; i < MAX_NAMED; i++) {
		int is_free = 0, len;

		if (!atomic_compare_exchange_strong(&named[i].state, &is_free, 1))
			continue;
		/* the target's own name may already have the longest length: use 200 bytes of it */
		len = snprintf(named[i].name, PATH_MAX, "%.*s.%.200s.%ld.%u.tmp", folder_bytes,
			       path, path + folder_bytes, (long)getpid(),
			       atomic_fetch_add(&counter, 1));
		if (len >= PATH_MAX) {
			atomic_store(&named[i].state, 0);
			errno = ENAMETOOLONG;
			return NO_SLOT;
		}
		atomic_store(&named[i].state, 2);
		return i;
	}
	errno = EMFILE;
	return NO_SLOT;
}

static void give_slot(int slot)
{
	if (slot != NO_SLOT)
		atomic_store(&named[slot].state, 0);
}

/* The path of the file to replace: symbolic links are followed. */
static int find_target(const char *path, char **ret, struct err *err)
{
	struct stat st;
	char *real;

	if (path[0] == 0)
		return err_set(err, ERR_USAGE, "the name of the output is empty");
	if (stat(path, &st) < 0) {
		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
			return err_set(err, ERR_REFUSED,
				       "%s: is a symbolic link that leads nowhere; remove it "
				       "or name another output",
				       path);
		real = strdup(path);
	} else if (!S_ISREG(st.st_mode)) {
		return err_set(err, ERR_REFUSED,
			       "%s: exists and is not a regular file; name another output", path);
	} else {
		real = realpath(path, NULL);
	}
	if (!real)
		return err_set_errno(err, errno, "%s: cannot be examined", path);
	*ret = real;
	return 0;
}

/* Opens a file without a name in the folder of the target. False: the file system has none. */
static bool open_unnamed(struct atomic_file *f)
{
	char link[64];
	char *folder = f->flags & ATOMIC_FILE_NAMED ? NULL : file_folder(f->path);

	if (!folder)
		return false;
	f->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, f->mode);
	free(folder);
	if (f->fd < 0)
		return false;
	/* /proc is needed to give it a name at the end */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	if (access(link, F_OK) == 0)
		return true;
	close(f->fd);
	f->fd = -1;
	return false;
}

static int open_named(struct atomic_file *f, struct err *err)
{
	f->slot = take_slot(f->path);
	if (f->slot == NO_SLOT)
		return err_set_errno(err, errno, "%s: cannot be written", f->path);
	unlink(named[f->slot].name); /* left by an earlier process with our pid */
	f->fd = open(named[f->slot].name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, f->mode);
	if (f->fd < 0)
		return err_set_errno(err, errno, "%s: cannot be written", f->path);
	return 0;
}

int atomic_file_create(const char *path, mode_t mode, unsigned flags, struct atomic_file **ret,
		       struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct atomic_file *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set_memory(err, sizeof(*f));
	*f = (struct atomic_file){.fd = -1, .slot = NO_SLOT, .mode = mode, .flags = flags};
	f->buffer = malloc(BUFFER_BYTES);
	r = f->buffer ? find_target(path, &f->path, err) : err_set_memory(err, BUFFER_BYTES);
	if (r == 0 && (flags & ATOMIC_FILE_KEEP_EXISTING) && access(f->path, F_OK) == 0)
		r = err_set(err, ERR_REFUSED, "%s: exists already", path);
	if (r == 0) {
		pthread_once(&once, install_handlers);
		r = open_unnamed(f) ? 0 : open_named(f, err);
	}
	if (r < 0) {
		atomic_file_discard(f);
		return r;
	}
	*ret = f;
	return 0;
}

/* Waits for another process that extends the same file, ten seconds at most. */
static int lock_file(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (int i = 0; r < 0 && (errno == EWOULDBLOCK || errno == EINTR) && i < LOCK_TRIES; i++) {
		nanosleep(&pause, NULL);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r;
}

/* Opens and locks the file. The name must still lead to the same file afterwards. */
static int open_in_place(struct atomic_file *f, struct err *err)
{
	struct stat here, there;

	f->fd = open(f->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (f->fd < 0)
		return err_set_errno(err, errno, "%s: cannot be written", f->path);
	if (lock_file(f->fd) < 0)
		return err_set(err, ERR_REFUSED, "%s: another process is writing to it", f->path);
	if (fstat(f->fd, &here) < 0 || stat(f->path, &there) < 0 || here.st_ino != there.st_ino ||
	    here.st_dev != there.st_dev || !S_ISREG(here.st_mode))
		return err_set(err, ERR_REFUSED, "%s: was replaced meanwhile", f->path);
	f->written_bytes = f->kept_bytes = (uint64_t)here.st_size;
	return 0;
}

int atomic_file_extend(const char *path, struct atomic_file **ret, struct err *err)
{
	struct atomic_file *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f)
		return err_set_memory(err, sizeof(*f));
	*f = (struct atomic_file){.fd = -1,
				  .slot = NO_SLOT,
				  .is_in_place = true,
				  .path = strdup(path),
				  .buffer = malloc(BUFFER_BYTES)};
	if (!f->path || !f->buffer)
		r = err_set_memory(err, BUFFER_BYTES);
	if (r == 0)
		r = open_in_place(f, err);
	if (r < 0) {
		atomic_file_discard(f);
		return r;
	}
	*ret = f;
	return 0;
}

static int write_at(struct atomic_file *f, uint64_t offset, const void *data, size_t len,
		    struct err *err)
{
	size_t done = 0;

	if (offset > INT64_MAX || len > INT64_MAX - offset)
		return err_set(err, ERR_LIMIT, "%s: offset %" PRIu64 " is beyond any file", f->path,
			       offset);
	while (done < len) {
		ssize_t n = pwrite(f->fd, (const uint8_t *)data + done, len - done,
				   (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : ENOSPC,
					     "%s: cannot be written at offset %" PRIu64, f->path,
					     offset + done);
		done += (size_t)n;
	}
	return 0;
}

int atomic_file_flush(struct atomic_file *f, struct err *err)
{
	int r = write_at(f, f->written_bytes, f->buffer, f->n_buffered, err);

	if (r < 0)
		return r;
	f->written_bytes += f->n_buffered;
	f->n_buffered = 0;
	return 0;
}

int atomic_file_append(struct atomic_file *f, const void *data, size_t len, struct err *err)
{
	int r;

	if (len > BUFFER_BYTES - f->n_buffered) {
		r = atomic_file_flush(f, err);
		if (r < 0)
			return r;
	}
	if (len >= BUFFER_BYTES) {
		r = write_at(f, f->written_bytes, data, len, err);
		if (r == 0)
			f->written_bytes += len;
		return r;
	}
	if (len > 0)
		memcpy(f->buffer + f->n_buffered, data, len);
	f->n_buffered += len;
	return 0;
}

int atomic_file_pwrite(struct atomic_file *f, uint64_t offset, const void *data, size_t len,
		       struct err *err)
{
	int r = atomic_file_flush(f, err);

	if (r == 0 && f->is_in_place && fdatasync(f->fd) < 0)
		r = err_set_errno(err, errno, "%s: cannot be written", f->path);
	if (r == 0)
		r = write_at(f, offset, data, len, err);
	if (r == 0 && offset + len > f->written_bytes)
		f->written_bytes = offset + len;
	f->kept_bytes = f->written_bytes; /* the header makes the appended bytes valid */
	return r;
}

uint64_t atomic_file_size(const struct atomic_file *f)
{
	return f->written_bytes + f->n_buffered;
}

int atomic_file_fd(const struct atomic_file *f)
{
	return f->fd;
}

/* Gives a file without a name a name, which must be free. */
static int link_unnamed(const struct atomic_file *f, const char *name)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Gives the file the target's name, if no file has it. */
static int link_new(struct atomic_file *f)
{
	int n = f->slot == NO_SLOT ? link_unnamed(f, f->path) : link(named[f->slot].name, f->path);

	if (n == 0 && f->slot != NO_SLOT)
		unlink(named[f->slot].name);
	return n;
}

static int rename_over(struct atomic_file *f)
{
	if (f->slot == NO_SLOT) {
		f->slot = take_slot(f->path);
		if (f->slot == NO_SLOT)
			return -1;
		unlink(named[f->slot].name);
		if (link_unnamed(f, named[f->slot].name) < 0)
			return -1;
	}
	return rename(named[f->slot].name, f->path);
}

int atomic_file_commit(struct atomic_file *f, struct err *err)
{
	int r = atomic_file_flush(f, err);
	int n;

	if (r < 0)
		goto out;
	n = f->is_in_place                         ? 0
	    : f->flags & ATOMIC_FILE_KEEP_EXISTING ? link_new(f)
						   : rename_over(f);
	if (n < 0) {
		r = err_set_errno(err, errno, "%s: cannot be put in place", f->path);
		goto out;
	}
	give_slot(f->slot); /* the temporary name is gone */
	f->slot = NO_SLOT;
	/* some file systems report write errors only here */
	if (close(f->fd) < 0 && errno != EINTR)
		r = err_set_errno(err, errno, "%s: cannot be written", f->path);
	f->fd = -1;
out:
	atomic_file_discard(f);
	return r;
}

void atomic_file_discard(struct atomic_file *f)
{
	if (!f)
		return;
	if (f->slot != NO_SLOT) {
		unlink(named[f->slot].name);
		give_slot(f->slot);
	}
	/* bytes beyond kept_bytes mean nothing: if they cannot be cut off, they may stay */
	if (f->fd >= 0 && f->is_in_place && f->kept_bytes < f->written_bytes)
		(void)!ftruncate(f->fd, (off_t)f->kept_bytes);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->buffer);
	free(f);
}
