/* gui/gui_files.c - see gui_files.h. The table itself is made by tools/embed_gui.py. */
#include "gui/gui_files.h"

#include <string.h>

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
