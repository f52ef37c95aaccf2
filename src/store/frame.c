/* store/frame.c - see frame.h. */
#include "store/frame.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

const char *frame_label(const struct frame *f, char buf[FRAME_LABEL_BYTES])
{
	if (f->function && f->function[0])
		return f->function;
	if (f->module && f->module[0])
		snprintf(buf, FRAME_LABEL_BYTES, "%.255s+0x%" PRIx64, text_basename(f->module),
			 f->module_offset);
	else
		snprintf(buf, FRAME_LABEL_BYTES, "0x%" PRIx64, f->addr);
	return buf;
}
