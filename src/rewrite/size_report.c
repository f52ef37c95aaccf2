/* rewrite/size_report.c - see size_report.h. */
#include "rewrite/size_report.h"

#include <stdlib.h>

#include "base/units.h"
#include "recording/chunk_reader.h"

static const struct {
	const char *name;
	uint64_t limit_ns;
} lifetimes[LIFETIME_N] = {
	[LIFETIME_1_MS] = {"< 1 ms", NS_PER_MS},
	[LIFETIME_10_MS] = {"< 10 ms", 10 * NS_PER_MS},
	[LIFETIME_100_MS] = {"< 100 ms", 100 * NS_PER_MS},
	[LIFETIME_1_S] = {"< 1 s", NS_PER_S},
	[LIFETIME_10_S] = {"< 10 s", 10 * NS_PER_S},
	[LIFETIME_1_MIN] = {"< 1 min", 60 * NS_PER_S},
	[LIFETIME_10_MIN] = {"< 10 min", 600 * NS_PER_S},
	[LIFETIME_LONGER] = {"longer", UINT64_MAX},
	[LIFETIME_LEAKED] = {"leaked", UINT64_MAX},
};

const char *size_report_lifetime_name(enum size_report_lifetime l)
{
	return lifetimes[l].name;
}

const char *size_report_kind_name(unsigned kind)
{
	static const char *const frequent[] = {NULL,      "malloc",        "calloc",
					       "aligned", "realloc_begin", "realloc_end",
					       "free",    "stack"};
	static const char *const rare[] = {
		[EVENT_TIME & 0x7f] = "time",
		[EVENT_ALLOCATOR & 0x7f] = "allocator",
		[EVENT_REALLOC_CANCEL & 0x7f] = "realloc_cancel",
		[EVENT_REALLOC_FREED & 0x7f] = "realloc_freed",
		[EVENT_REALLOC_UNTRACKED & 0x7f] = "realloc_untracked",
		[EVENT_STACK_END & 0x7f] = "stack_end",
		[EVENT_STACK_GUESS & 0x7f] = "stack_guess",
		[EVENT_GENERATION & 0x7f] = "generation",
		[EVENT_MMAP & 0x7f] = "mmap",
		[EVENT_MUNMAP & 0x7f] = "munmap",
		[EVENT_MREMAP & 0x7f] = "mremap",
		[EVENT_BRK & 0x7f] = "brk",
		[EVENT_MALLOPT & 0x7f] = "mallopt",
		[EVENT_MALLOC_TRIM & 0x7f] = "malloc_trim",
		[EVENT_MARKER & 0x7f] = "marker",
		[EVENT_TIMESTAMP_OVERRIDE & 0x7f] = "timestamp_override",
		[EVENT_LOST & 0x7f] = "lost",
		[EVENT_SWITCH & 0x7f] = "switch",
		[EVENT_PROCESS_END & 0x7f] = "process_end",
		[EVENT_EXEC_FAILED & 0x7f] = "exec_failed",
		[EVENT_FORK & 0x7f] = "fork",
	};
	const char *name = NULL;

	if (kind < ARRAY_LEN(frequent))
		name = frequent[kind];
	else if (kind & EVENT_RARE && (kind & 0x7f) < ARRAY_LEN(rare))
		name = rare[kind & 0x7f];
	return name ? name : "unknown";
}

static int count_chunks_of(const struct recording_piece *piece, struct size_report *s,
			   struct err *err)
{
	struct file file = piece->file;
	struct damage ignored = {0};
	struct chunk_reader walk;
	struct chunk_ref p;
	uint64_t sum = 0;
	int n = chunk_reader_init(&walk, &file, &ignored,
				  align_up(piece->header.header_bytes, FORMAT_CHUNK_ALIGN), err);

	if (n < 0)
		return n;
	while ((n = chunk_reader_next(&walk, &p, err)) > 0) {
		unsigned type = p.header.type <= CHUNK_SYMBOLS ? p.header.type : 0;
		uint64_t n_bytes = chunk_total_bytes(&p.header);

		if (n_bytes > file.size_bytes - p.offset)
			n_bytes = file.size_bytes - p.offset; /* a cut-off AREA */
		s->type[type].n++;
		s->type[type].n_bytes += n_bytes;
		sum += n_bytes;
	}
	s->unused_bytes += file.size_bytes > sum ? file.size_bytes - sum : 0;
	chunk_reader_fini(&walk);
	return n;
}

static int count_chunks(const struct recording *r, struct size_report *s, struct err *err)
{
	int n = 0;

	for (size_t i = 0; n == 0 && i < r->n_pieces; i++)
		n = count_chunks_of(&r->piece[i], s, err);
	return n;
}

static void count_block(const struct block_ref *b, const uint8_t *data, size_t len,
			struct size_report *s)
{
	const struct block_header h = {.start_ticks = b->start_ticks,
				       .first_stack = b->first_stack,
				       .generation = b->generation};
	/* a block of an AREA is not compressed, and stored_bytes does not count its header */
	double share = len ? (double)b->stored_bytes / (double)len : 0;
	struct event_decoder d;
	struct event ev;
	size_t start = 0;

	event_decoder_init(&d, &h, data, len);
	while (event_decode(&d, &ev) > 0) {
		s->kind[ev.kind].n++;
		s->kind[ev.kind].n_bytes += d.in.pos - start;
		s->stored_bytes[ev.kind] += (double)(d.in.pos - start) * share;
		start = d.in.pos;
	}
}

static int count_events(struct recording *r, struct size_report *s, struct err *err)
{
	uint8_t *data = malloc(BLOCK_DATA_BYTES);
	int n = data ? 0 : err_set_memory(err, BLOCK_DATA_BYTES);

	for (size_t i = 0; n >= 0 && i < r->n_blocks; i++) {
		size_t len = 0;

		n = recording_load_block(r, &r->block[i], data, &len, err);
		if (n > 0)
			count_block(&r->block[i], data, len, s);
	}
	free(data);
	return n < 0 ? n : 0;
}

struct lifetime_user {
	struct size_report *report;
};

static void on_free(void *user, const struct live_block *a, const struct replay_release *how)
{
	struct lifetime_user *u = user;
	uint64_t start_ns = a->at_ns;
	uint64_t end_ns = how->at_ns;
	uint64_t lived_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	unsigned i = 0;

	while (lived_ns >= lifetimes[i].limit_ns && i < LIFETIME_LONGER)
		i++;
	u->report->lifetime[i].n++;
	u->report->lifetime[i].n_bytes += a->size_bytes;
}

int size_report_make(struct recording *r, struct size_report *ret, struct err *err)
{
	struct lifetime_user user = {.report = ret};
	const struct replay_callbacks callbacks = {.user = &user, .on_free = on_free};
	struct damage damage = r->damage;
	int n;

	*ret = (struct size_report){0};
	n = count_chunks(r, ret, err);
	if (n == 0)
		n = count_events(r, ret, err);
	r->damage = damage; /* the replay reported it again */
	if (n == 0)
		n = replay_run(r, &callbacks, &ret->totals, NULL, err);
	ret->lifetime[LIFETIME_LEAKED].n = ret->totals.live_count;
	ret->lifetime[LIFETIME_LEAKED].n_bytes = ret->totals.live_bytes;
	return n;
}
