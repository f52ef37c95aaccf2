/* gui/gui_files.c - see gui_files.h. The table itself is made by tools/embed_gui.py. */
#include "gui/gui_files.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const struct gui_file *gui_file_find(const char *name)
{
	size_t n;
	const struct gui_file *file = gui_files(&n);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(file[i].name, name) == 0)
			return &file[i];
	}
	return NULL;
}

int gui_file_unpack(const struct gui_file *file, char **ret, struct err *err)
{
	char *text = malloc(file->len + 1);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)file->gzip,
		      .avail_in = (uInt)file->gzip_len,
		      .next_out = (Bytef *)text,
		      .avail_out = (uInt)file->len};
	int r;

	if (!text)
		return err_set_memory(err, file->len + 1);
	r = inflateInit2(&z, 16 + MAX_WBITS); /* 16: gzip's header */
	if (r == Z_OK)
		r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r != Z_STREAM_END || z.avail_out != 0) {
		free(text);
		return err_set(err, ERR_FORMAT, "%s inside this program cannot be unpacked",
			       file->name);
	}
	text[file->len] = '\0';
	*ret = text;
	return 0;
}
