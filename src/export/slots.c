/* export/slots.c - see slots.h. */
#include "export/slots.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/temp_file.h"
#include "util/vec.h"

#define CHUNK_BYTES (SLOTS_CHUNK * sizeof(uint64_t))

void slots_init(struct slots *s, const char *temp_folder)
{
	*s = (struct slots){.fd = -1, .temp_folder = temp_folder};
}

void slots_fini(struct slots *s)
{
	free(s->free);
	if (s->fd >= 0)
		close(s->fd);
	slots_init(s, s->temp_folder);
}

int slots_take(struct slots *s, uint64_t *ret, struct err *err)
{
	if (s->n_free == 0 && s->n_spilled > 0) {
		uint64_t at = s->n_spilled - SLOTS_CHUNK;
		int r = temp_file_read(s->fd, at * sizeof(uint64_t), s->free, CHUNK_BYTES, err);

		if (r < 0)
			return r;
		s->n_spilled = at;
		s->n_free = SLOTS_CHUNK;
	}
	*ret = s->n_free ? s->free[--s->n_free] : s->n++;
	return 0;
}

/* The earlier half goes to the file, always a whole chunk. */
static int spill(struct slots *s, struct err *err)
{
	int r = s->fd < 0 ? temp_file_create(s->temp_folder, &s->fd, err) : 0;

	if (r == 0)
		r = temp_file_write(s->fd, s->n_spilled * sizeof(uint64_t), s->free, CHUNK_BYTES,
				    err);
	if (r < 0)
		return r;
	s->n_spilled += SLOTS_CHUNK;
	s->n_free -= SLOTS_CHUNK;
	memmove(s->free, s->free + SLOTS_CHUNK, s->n_free * sizeof(*s->free));
	return 0;
}

int slots_give(struct slots *s, uint64_t slot, struct err *err)
{
	int r = 0;

	if (s->n_free == 2 * (size_t)SLOTS_CHUNK)
		r = spill(s, err);
	if (r == 0)
		r = vec_reserve(&s->free, &s->cap_free, s->n_free + 1, sizeof(*s->free), err);
	if (r < 0)
		return r;
	s->free[s->n_free++] = slot;
	return 0;
}
