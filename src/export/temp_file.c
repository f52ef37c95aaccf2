/* export/temp_file.c - see temp_file.h. */
#include "export/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *temp_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] ? folder : "/tmp";
}

int temp_file_open(int *ret_fd, struct err *err)
{
	const char *folder = temp_folder();
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) { /* a file system that knows no files without names */
		snprintf(path, sizeof(path), "%s/memory-profiler-XXXXXX", folder);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		return err_set_errno(err, errno,
				     "cannot make a temporary file in %s (TMPDIR sets "
				     "another folder)",
				     folder);
	*ret_fd = fd;
	return 0;
}

int temp_file_write(int fd, uint64_t offset, const void *bytes, size_t len, struct err *err)
{
	for (size_t done = 0; done < len;) {
		ssize_t n =
			pwrite(fd, (const char *)bytes + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : ENOSPC,
					     "cannot write a temporary file in %s (TMPDIR sets "
					     "another folder)",
					     temp_folder());
		done += (size_t)n;
	}
	return 0;
}

int temp_file_read(int fd, uint64_t offset, void *bytes, size_t len, struct err *err)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, (char *)bytes + done, len - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : EIO,
					     "cannot read a temporary file in %s", temp_folder());
		done += (size_t)n;
	}
	return 0;
}
