/* recording/damage.c - see damage.h. */
#include "recording/damage.h"

#include <stdarg.h>
#include <stdio.h>

void damage_add(struct damage *d, uint64_t offset, uint64_t n_bytes, const char *fmt, ...)
{
	va_list ap;

	d->n_ranges++;
	d->n_bytes += n_bytes;
	if (d->n_kept == DAMAGE_MAX_RANGES)
		return;
	d->range[d->n_kept].offset = offset;
	d->range[d->n_kept].n_bytes = n_bytes;
	va_start(ap, fmt);
	vsnprintf(d->range[d->n_kept].text, DAMAGE_TEXT_BYTES, fmt, ap);
	va_end(ap);
	d->n_kept++;
}
