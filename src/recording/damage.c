/* recording/damage.c - see damage.h. */
#include "recording/damage.h"

#include <stdarg.h>
#include <stdio.h>

/* Counts the bytes that lie in no range yet. */
static void count(struct damage *d, struct damage_span added)
{
	for (size_t i = 0; i < d->n_spans;) {
		struct damage_span *s = &d->span[i];

		if (s->end < added.offset || s->offset > added.end) {
			i++;
			continue;
		}
		added.offset = s->offset < added.offset ? s->offset : added.offset;
		added.end = s->end > added.end ? s->end : added.end;
		d->n_bytes -= s->end - s->offset;
		*s = d->span[--d->n_spans];
	}
	d->n_bytes += added.end - added.offset;
	if (d->n_spans < DAMAGE_MAX_RANGES)
		d->span[d->n_spans++] = added;
}

void damage_add(struct damage *d, uint64_t offset, uint64_t n_bytes, const char *fmt, ...)
{
	va_list ap;

	if (n_bytes > UINT64_MAX - offset)
		n_bytes = UINT64_MAX - offset;
	d->n_ranges++;
	count(d, (struct damage_span){offset, offset + n_bytes});
	if (d->n_kept == DAMAGE_MAX_RANGES)
		return;
	d->range[d->n_kept].offset = offset;
	d->range[d->n_kept].n_bytes = n_bytes;
	va_start(ap, fmt);
	vsnprintf(d->range[d->n_kept].text, DAMAGE_TEXT_BYTES, fmt, ap);
	va_end(ap);
	d->n_kept++;
}
