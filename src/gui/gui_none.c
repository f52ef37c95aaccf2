/* gui/gui_none.c - the table of files in a build without Node: empty. */
#include "gui/gui_files.h"

const struct gui_file *gui_files(size_t *n)
{
	*n = 0;
	return NULL;
}
