/* util/temp_file.c - see temp_file.h. */
#include "util/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *temp_file_folder(void)
{
	const char *folder = getenv("TMPDIR");

	if (folder && *folder)
		return folder;
	return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

int temp_file_create(const char *folder, int *ret_fd, struct err *err)
{
	char name[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int len;

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	/* Some file systems cannot make a file without a name: it loses its name at once. */
	len = snprintf(name, sizeof(name), "%s/.memory-profiler.XXXXXX", folder);
	if (len < 0 || (size_t)len >= sizeof(name))
		return err_set_errno(err, ENAMETOOLONG, "%s", folder);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, errno, "%s: no temporary file can be made there", folder);
	unlink(name);
	*ret_fd = fd;
	return 0;
}

int temp_file_write(int fd, uint64_t offset, const void *bytes, size_t len, struct err *err)
{
	const char *from = bytes;

	while (len > 0) {
		ssize_t n = pwrite(fd, from, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : ENOSPC,
					     "a temporary file cannot be written");
		from += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int temp_file_read(int fd, uint64_t offset, void *bytes, size_t len, struct err *err)
{
	char *to = bytes;

	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : EIO,
					     "a temporary file cannot be read");
		to += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}
