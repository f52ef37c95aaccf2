/* report/rule_process.c - findings about the process as a whole: memory outside the heap,
 * copying. */
#include <string.h>

#include "base/units.h"
#include "query/chains.h"
#include "report/findings_i.h"
#include "report/health.h"

#define OUTSIDE_SHARE 0.25 /* of the heap */
#define OUTSIDE_MIN (16 * MIB) /* every process has code, libraries and stacks */
#define HELD_SHARE 0.10 /* of it: as much that an allocator holds is worth naming */
#define MAPPED_SHARE 0.50 /* of it: as much of one file is worth naming */
#define RSS_AT_PEAK 0.95 /* of the greatest sample: so much is taken for the peak */
#define COPIED_SHARE 0.10 /* of all bytes allocated */
#define COPIED_MIN MIB

/* ---- outside the heap ---- */

/* The most that the heap had around a moment: never less than at the moment itself. */
static uint64_t heap_around(const struct report *r, uint64_t at_ns)
{
	size_t n;
	const struct store_bucket *b = store_table(r->context.store, STORE_BUCKETS, &n);
	uint64_t i = r->facts->bucket_ns ? at_ns / r->facts->bucket_ns : n;

	return i < n ? b[i].max_bytes : r->facts->peak_bytes;
}

/* Of the samples with (nearly) the most resident memory, the one with the largest heap: when the
 * heap has shrunk, memory that the allocator has not given back yet must not count as outside of
 * the heap. */
static const struct store_sample *sample_at_peak(const struct report *r, uint64_t *heap)
{
	size_t n;
	const struct store_sample *s = store_table(r->context.store, STORE_SAMPLES, &n);
	const struct store_sample *best = NULL;
	uint64_t most = 0; /* the peak itself may lie between two samples */

	for (size_t i = 0; i < n; i++)
		most = s[i].rss_bytes > most ? s[i].rss_bytes : most;
	for (size_t i = 0; i < n; i++) {
		uint64_t now = heap_around(r, s[i].at_ns);

		if ((double)s[i].rss_bytes < RSS_AT_PEAK * (double)most)
			continue;
		if (!best || now > *heap) {
			best = &s[i];
			*heap = now;
		}
	}
	return best;
}

/* Of a program that was killed: what it had then. */
static const struct store_sample *sample_at_end(const struct report *r, uint64_t *heap)
{
	size_t n;
	const struct store_sample *s = store_table(r->context.store, STORE_SAMPLES, &n);

	if (n == 0)
		return NULL;
	*heap = heap_around(r, s[n - 1].at_ns);
	return &s[n - 1];
}

/* A file, or memory with a name, and how much of all its mappings was resident. */
struct named_memory {
	uint32_t name; /* string */
	uint64_t n_bytes;
};

/* Of files and named memory, the one with most in memory when the recorder looked. The heap, stacks and
 * anonymous memory count not: others of them hold blocks, or are many. */
static struct named_memory largest_mapped(const struct rules *rules)
{
	const struct store *store = rules->r->context.store;
	struct named_memory most = {0};
	size_t n;
	const struct store_region *m = store_table(store, STORE_REGIONS, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = store_string(store, m[i].name, NULL);
		struct named_memory now = {.name = m[i].name};

		if (name[0] != '/' || m[i].rss_bytes == UINT64_MAX)
			continue;
		/* mappings of one file lie side by side, nearly always */
		for (; i < n && m[i].name == now.name; i++)
			now.n_bytes += m[i].rss_bytes == UINT64_MAX ? 0
				       : rules->is_killed           ? m[i].rss_bytes
								    : m[i].peak_rss_bytes;
		i--;
		if (now.n_bytes > most.n_bytes)
			most = now;
	}
	return most;
}

/* Bytes that an allocator has in memory, or at least has taken from the system. 0: it does not say.
 * What mimalloc says is about the whole process; it does not say what is allocated. */
static uint64_t held_bytes(const struct store_allocator_sample *s)
{
	if (s->allocated_bytes == UINT64_MAX)
		return 0;
	if (s->resident_bytes != UINT64_MAX)
		return s->resident_bytes;
	return s->mapped_bytes != UINT64_MAX ? s->mapped_bytes : 0;
}

/* What all allocators held around a moment, and which one held most: each by what it said last before
 * (or first, if it said nothing before). NULL: none says. */
static const struct store_allocator_sample *find_held(const struct store *store, uint64_t at_ns,
						      uint64_t *ret_bytes)
{
	const struct store_allocator_sample *last[STORE_N_ALLOCATORS] = {NULL}, *most = NULL;
	size_t n;
	const struct store_allocator_sample *s = store_table(store, STORE_ALLOCATOR_SAMPLES, &n);

	for (size_t i = 0; i < n; i++) {
		uint32_t k = s[i].number;

		if (k < STORE_N_ALLOCATORS && (!last[k] || s[i].at_ns <= at_ns))
			last[k] = &s[i];
	}
	*ret_bytes = 0;
	for (unsigned k = 0; k < STORE_N_ALLOCATORS; k++) {
		if (!last[k])
			continue;
		*ret_bytes += held_bytes(last[k]);
		if (held_bytes(last[k]) > (most ? held_bytes(most) : 0))
			most = last[k];
	}
	return most;
}

static const char *allocator_name(const struct store *store, uint32_t number)
{
	size_t n;
	const struct store_allocator *a = store_table(store, STORE_ALLOCATORS, &n);

	for (size_t i = 0; i < n; i++) {
		if (a[i].number == number)
			return store_string(store, a[i].name, NULL);
	}
	return "libc";
}

/* What the memory outside of the heap consists of. */
static int set_outside_text(struct rules *rules, struct finding *f, const struct store_sample *s,
			    uint64_t heap, struct err *err)
{
	const struct store *store = rules->r->context.store;
	uint64_t held;
	const struct store_allocator_sample *most = find_held(store, s->at_ns, &held);
	uint64_t extra = held > heap ? held - heap : 0;
	struct named_memory mapped = largest_mapped(rules);
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES], d[HUMAN_BYTES];

	human_size(s->rss_bytes, a);
	human_size(heap, b);
	rules_moment(rules, s->at_ns, c);
	if ((double)mapped.n_bytes >= MAPPED_SHARE * (double)f->value)
		return finding_set_text(f, err, "RSS %s and heap %s at %s; %s of it are %s, mapped",
					a, b, c, human_size(mapped.n_bytes, d),
					store_string(store, mapped.name, NULL));
	if (!most || (double)extra < HELD_SHARE * (double)f->value || extra > f->value)
		return finding_set_text(
			f, err,
			"RSS %s and heap %s at %s; the rest are mappings, code, stacks, "
			"and memory that the allocator does not give back",
			a, b, c);
	return finding_set_text(f, err,
				"RSS %s and heap %s at %s; the allocator (%s) held %s of it: "
				"rounding, its own tables, pages without blocks; the rest are "
				"mappings, code and stacks",
				a, b, c, allocator_name(store, most->number), human_size(extra, d));
}

/* How much resident memory was not in the heap, and when. False: not much, or the report has
 * conditions, and samples are about the whole process. */
static bool measure_outside(const struct rules *rules, struct finding *ret,
			    const struct store_sample **ret_s, uint64_t *ret_heap)
{
	const struct report *r = rules->r;
	const struct store_sample *s =
		rules->is_killed ? sample_at_end(r, ret_heap) : sample_at_peak(r, ret_heap);
	uint64_t heap = *ret_heap;

	*ret = (struct finding){.kind = FINDING_OUTSIDE, .cost = REPORT_PEAK, .page = "map"};
	*ret_s = s;
	if (!s || r->groups.total.n_allocs != r->facts->n_rows + r->facts->n_culled)
		return false;
	ret->value = s->rss_bytes > heap ? s->rss_bytes - heap : 0;
	if (ret->value < OUTSIDE_MIN || (double)ret->value <= OUTSIDE_SHARE * (double)heap)
		return false;
	ret->share = (double)ret->value / (double)s->rss_bytes;
	return true;
}

int rules_find_unrecorded(struct rules *rules, struct err *err)
{
	const char *why = health_not_recorded(rules->r->context.store), *colon;
	const struct store_sample *s;
	uint64_t heap = 0;
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES];
	struct finding f;
	int n;

	if (!why || !measure_outside(rules, &f, &s, &heap))
		return 0;
	f.kind = FINDING_UNRECORDED;
	colon = strchrnul(why, ':');
	n = finding_set_title(&f, err, "%.*s", (int)(colon - why), why);
	human_size(s->rss_bytes, a);
	human_size(heap, b);
	rules_moment(rules, s->at_ns, c);
	if (n == 0)
		n = finding_set_text(&f, err, "RSS %s and heap %s at %s%s", a, b, c, colon);
	return rules_take(rules, &f, 0, n);
}

int rules_find_outside(struct rules *rules, struct err *err)
{
	const struct store_sample *s;
	uint64_t heap = 0;
	char a[HUMAN_BYTES];
	struct finding f;
	int n;

	if (health_not_recorded(rules->r->context.store) || !measure_outside(rules, &f, &s, &heap))
		return 0;
	n = finding_set_title(&f, err, "%s of resident memory are not in the heap",
			      human_size(f.value, a));
	if (n == 0)
		n = set_outside_text(rules, &f, s, heap, err);
	return rules_take(rules, &f, 0, n);
}

/* ---- copying ---- */

static int add_copying(struct rules *rules, const struct chains *chains, struct err *err)
{
	const struct report *r = rules->r;
	const struct chains_site *most = &chains->site[0];
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], b[HUMAN_BYTES];
	struct finding f = {
		.kind = FINDING_COPYING,
		.cost = REPORT_BYTES,
		.value = chains->total.copied_bytes,
		.share = (double)chains->total.copied_bytes / (double)r->groups.total.n_bytes,
		.page = "chains",
	};
	int n;

	for (size_t i = 1; i < chains->n_sites; i++) {
		if (chains->site[i].copied_bytes > most->copied_bytes)
			most = &chains->site[i];
	}
	f.blame = query_blame(r->query, most->stack);
	n = finding_set_title(&f, err, "realloc copied %s", human_size(f.value, a));
	human_share(f.value, r->groups.total.n_bytes, a);
	if (n == 0 && f.blame)
		n = finding_set_text(&f, err, "%s of all bytes allocated; %s of it in blocks of %s",
				     a,
				     human_share(most->copied_bytes, chains->total.copied_bytes, b),
				     rules_name(f.blame, name));
	else if (n == 0)
		n = finding_set_text(&f, err, "%s of all bytes allocated", a);
	return rules_take(rules, &f, 0, n);
}

int rules_find_copying(struct rules *rules, struct err *err)
{
	const struct report *r = rules->r;
	struct chains chains = {0};
	size_t n_chains;
	int n;

	store_table(r->context.store, STORE_CHAINS, &n_chains);
	/* An estimate goes without: a chain needs all of its rows. */
	if (!rules->has_rows || n_chains == 0 || r->groups.total.n_bytes < COPIED_MIN ||
	    r->context.sample_blocks)
		return 0;
	n = chains_by_site(r->query, CHAINS_WINDOW_ROWS, &chains, err);
	if (n == 0 && chains.total.copied_bytes >= COPIED_MIN && chains.n_sites > 0 &&
	    (double)chains.total.copied_bytes >= COPIED_SHARE * (double)r->groups.total.n_bytes)
		n = add_copying(rules, &chains, err);
	chains_fini(&chains);
	return n;
}
