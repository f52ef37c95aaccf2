/* export/export_jemalloc.c - the text of jemalloc's heap profiles: jeprof, jemalloc_pprof.
 *
 * Addresses only: jeprof reads names from the binaries, so the binaries must exist unchanged.
 * Readers take the numbers of heap_v2/1 for samples of one byte and scale them up: they divide
 * count and bytes by 1 - exp(-average size). The exporter multiplies by the same factor beforehand,
 * as jemalloc itself does (prof_unbias), so readers get the true numbers; rounding shows only for
 * averages of a few bytes. The format cannot express blocks of zero bytes: readers would scale them
 * by infinity.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "export/export_i.h"

struct counts {
	uint64_t objects;
	uint64_t bytes;
};

static struct counts unscaled(uint64_t objects, uint64_t bytes)
{
	double share;

	if (objects == 0 || bytes == 0)
		return (struct counts){0, 0};
	share = 1 - exp(-((double)bytes / (double)objects));
	if (share > 1 - 1e-15)
		return (struct counts){objects, bytes};
	return (struct counts){(uint64_t)llround((double)objects * share),
			       (uint64_t)llround((double)bytes * share)};
}

static void put_counts(FILE *out, const char *who, struct counts live, struct counts all)
{
	fprintf(out, "  %s: %" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]\n", who,
		live.objects, live.bytes, all.objects, all.bytes);
}

/* The header has the sums of all stacks. */
static void put_header(FILE *out, const struct query_groups *groups)
{
	struct counts live = {0, 0}, all = {0, 0};

	for (size_t i = 0; i < groups->n; i++) {
		const struct query_group *g = &groups->group[i];
		struct counts l = unscaled(g->n_leaked, g->leaked_bytes);
		struct counts a = unscaled(g->n_allocs, g->n_bytes);

		live.objects += l.objects;
		live.bytes += l.bytes;
		all.objects += a.objects;
		all.bytes += a.bytes;
	}
	fputs("heap_v2/1\n", out);
	put_counts(out, "t*", live, all);
}

static int put_stack(struct export_stacks *s, const struct query_group *g, FILE *out,
		     struct err *err)
{
	int r = export_stacks_codes(s, (uint32_t)g->key, err);

	if (r < 0)
		return r;
	putc('@', out);
	for (size_t i = 0; i < s->n_codes; i++) {
		uint64_t addr = store_code(s->store, s->code[i])->addr;

		/* jeprof takes one off every address but the first */
		fprintf(out, " 0x%" PRIx64, i == 0 ? addr - 1 : addr);
	}
	if (s->n_codes == 0)
		fputs(" 0x1", out);
	putc('\n', out);
	put_counts(out, "t*", unscaled(g->n_leaked, g->leaked_bytes),
		   unscaled(g->n_allocs, g->n_bytes));
	return export_check(out, err);
}

static void put_region(const struct store *s, const struct store_region *m, FILE *out)
{
	fprintf(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ",
		m->start, m->end, m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
		m->prot & PROT_EXEC ? 'x' : '-', m->is_shared ? 's' : 'p', m->offset,
		m->device_major, m->device_minor, m->inode);
	export_put_clean(out, store_string(s, m->name, NULL), "", '?');
	putc('\n', out);
}

static bool has_region(const struct store_region *region, size_t n, const struct store_module *m)
{
	for (size_t i = 0; i < n; i++) {
		if (region[i].prot & PROT_EXEC && region[i].start < m->end &&
		    m->start < region[i].end)
			return true;
	}
	return false;
}

/* The memory map as the recorder read it last, and a line for each module that was unloaded
 * before. */
static void put_libraries(const struct store *s, FILE *out)
{
	size_t n_regions, n_modules;
	const struct store_region *region = store_table(s, STORE_REGIONS, &n_regions);
	const struct store_module *m = store_table(s, STORE_MODULES, &n_modules);

	fputs("\nMAPPED_LIBRARIES:\n", out);
	for (size_t i = 0; i < n_regions; i++)
		put_region(s, &region[i], out);
	for (size_t i = 0; i < n_modules; i++) {
		const char *path = store_string(s, m[i].path, NULL);

		if (!path[0] || has_region(region, n_regions, &m[i]))
			continue;
		fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ", m[i].start,
			m[i].end, m[i].start > m[i].base ? m[i].start - m[i].base : 0);
		export_put_clean(out, path, "", '?');
		putc('\n', out);
	}
}

int export_jemalloc(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct export_stacks s = {.store = o->context->store};
	int r = query_groups(q, QUERY_BY_STACK, &s.groups, err); /* no names are needed */

	if (r < 0)
		return r;
	put_header(out, &s.groups);
	for (size_t i = 0; i < s.groups.n && r == 0; i++)
		r = put_stack(&s, &s.groups.group[i], out, err);
	put_libraries(s.store, out);
	export_stacks_fini(&s);
	return r;
}
