/* export/export_dhat.c - the file of Valgrind's DHAT, version 2: dh_view.html, Firefox Profiler.
 *
 * A "program point" is a stack. A recording has lifetimes, but no accesses to memory (bkacc is
 * false). Blocks that were never freed live until the end, as DHAT counts. A walk over all rows in
 * the order of time finds the most bytes that a stack had alive at once, and in how many blocks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"
#include "export/export_i.h"
#include "export/time_order.h"
#include "util/json_write.h"

/* By stack; times are sums of whole nanoseconds, which wrap beyond 584 years. */
struct point {
	uint64_t now_bytes, now_blocks;
	uint64_t max_bytes, max_blocks;
	uint64_t lifetime_ns;
};

struct dhat {
	struct json json;
	struct err *err;
	struct export_stacks stacks;
	struct point *point; /* by stack */
	uint32_t *first_frame; /* by code: number of its first frame in ftbl */
	uint64_t end_ns;
};

#define SHORT_LIVED_US 10 /* DHAT calls blocks "short-lived" below this */

static int allocated(void *user, const struct query_row *row, struct time_order_tag *tag)
{
	struct dhat *d = user;
	struct point *p = &d->point[row->stack];
	uint64_t until_ns = row->free_ns;

	if (until_ns == UINT64_MAX)
		until_ns = d->end_ns;
	if (until_ns > row->alloc_ns)
		p->lifetime_ns += until_ns - row->alloc_ns;
	p->now_bytes += row->size_bytes;
	p->now_blocks++;
	if (p->now_bytes > p->max_bytes || (p->max_bytes == 0 && p->now_blocks > p->max_blocks)) {
		p->max_bytes = p->now_bytes;
		p->max_blocks = p->now_blocks;
	}
	tag->a = row->stack;
	tag->b = row->size_bytes;
	return 0;
}

static int freed(void *user, uint64_t at_ns, const struct time_order_tag *tag)
{
	struct dhat *d = user;

	(void)at_ns;
	d->point[tag->a].now_bytes -= tag->b;
	d->point[tag->a].now_blocks--;
	return 0;
}

static void put_point_numbers(struct json *j, const struct query_group *g, const struct point *p)
{
	json_u64(j, "tb", g->n_bytes);
	json_u64(j, "tbk", g->n_allocs);
	json_u64(j, "tl", p->lifetime_ns / NS_PER_US);
	json_u64(j, "mb", p->max_bytes);
	json_u64(j, "mbk", p->max_blocks);
	json_u64(j, "gb", g->peak_bytes);
	json_u64(j, "gbk", g->peak_count);
	json_u64(j, "eb", g->leaked_bytes);
	json_u64(j, "ebk", g->n_leaked);
}

/* Writes a program point and numbers its frames; put_frames() writes the frames in the same
 * order. */
static int put_point(struct dhat *d, const struct query_group *g, uint32_t *n_frames)
{
	struct export_stacks *s = &d->stacks;
	int r = export_stacks_codes(s, (uint32_t)g->key, d->err);

	if (r < 0)
		return r;
	json_object(&d->json, NULL);
	put_point_numbers(&d->json, g, &d->point[g->key]);
	json_array(&d->json, "fs");
	for (size_t i = 0; i < s->n_codes; i++) {
		size_t n;

		frames_of_code(s->frames, s->code[i], &n);
		if (!d->first_frame[s->code[i]]) {
			d->first_frame[s->code[i]] = *n_frames;
			*n_frames += (uint32_t)n;
		}
		for (size_t k = 0; k < n; k++)
			json_u64(&d->json, NULL, d->first_frame[s->code[i]] + k);
	}
	if (s->n_codes == 0)
		json_u64(&d->json, NULL, 1); /* a point needs a frame: "[no stack]" */
	json_end_array(&d->json);
	json_end_object(&d->json);
	return export_check(d->json.out, d->err);
}

/* "0x1234: function (file.c:12)", or "(in module)" without a source. */
static void put_frame(struct json *j, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];
	char text[4096];
	const char *label = f->function ? f->function : "???";
	const char *module = f->module ? f->module : export_frame_label(f, buf);

	if (f->source && f->line)
		snprintf(text, sizeof(text), "0x%" PRIX64 ": %.2000s (%.1000s:%u)", f->addr - 1,
			 label, text_basename(f->source), f->line);
	else
		snprintf(text, sizeof(text), "0x%" PRIX64 ": %.2000s (in %.1000s)", f->addr - 1,
			 label, module);
	json_text(j, NULL, text);
}

struct numbered_code {
	uint32_t first_frame;
	uint32_t code;
};

static int compare_numbers(const void *pa, const void *pb)
{
	const struct numbered_code *a = pa, *b = pb;

	return a->first_frame < b->first_frame ? -1 : a->first_frame > b->first_frame;
}

static int put_frames(struct dhat *d, size_t n_codes)
{
	struct numbered_code *numbered = malloc((n_codes + 1) * sizeof(*numbered));
	size_t n = 0;

	if (!numbered)
		return err_set_memory(d->err, n_codes * sizeof(*numbered));
	for (size_t i = 0; i < n_codes; i++) {
		if (d->first_frame[i])
			numbered[n++] = (struct numbered_code){d->first_frame[i], (uint32_t)i};
	}
	qsort(numbered, n, sizeof(*numbered), compare_numbers);
	json_array(&d->json, "ftbl");
	json_text(&d->json, NULL, "[root]");
	json_text(&d->json, NULL, "[no stack]");
	for (size_t i = 0; i < n; i++) {
		size_t n_frames;
		const struct frame *f =
			frames_of_code(d->stacks.frames, numbered[i].code, &n_frames);

		for (size_t k = 0; k < n_frames; k++)
			put_frame(&d->json, &f[k]);
	}
	json_end_array(&d->json);
	free(numbered);
	return 0;
}

static int put_cmdline(struct json *j, const struct export_options *o, struct err *err)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof(text) - 1, "w");

	if (!f)
		return err_set_memory(err, sizeof(text));
	export_put_cmdline(o, f);
	fclose(f);
	json_text(j, "cmd", text);
	return 0;
}

static int put_file(struct dhat *d, const struct export_options *o, uint64_t peak_ns,
		    size_t n_codes)
{
	const struct query_groups *groups = &d->stacks.groups;
	struct json *j = &d->json;
	uint32_t n_frames = 2;
	int r;

	json_object(j, NULL);
	json_u64(j, "dhatFileVersion", 2);
	json_text(j, "mode", "heap");
	json_text(j, "verb", "Allocated");
	json_bool(j, "bklt", true);
	json_bool(j, "bkacc", false);
	json_text(j, "tu", "\xc2\xb5s");
	json_text(j, "Mtu", "s");
	json_u64(j, "tuth", SHORT_LIVED_US);
	r = put_cmdline(j, o, d->err);
	json_u64(j, "pid", store_facts(d->stacks.store)->pid);
	json_u64(j, "tg", peak_ns / NS_PER_US);
	json_u64(j, "te", d->end_ns / NS_PER_US);
	json_array(j, "pps");
	for (size_t i = 0; i < groups->n && r == 0; i++)
		r = put_point(d, &groups->group[i], &n_frames);
	json_end_array(j);
	if (r == 0)
		r = put_frames(d, n_codes);
	json_end_object(j);
	json_line(j);
	return r;
}

int export_dhat(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct dhat d = {.err = err, .end_ns = store_facts(o->context->store)->duration_ns};
	const struct time_order_calls calls = {export_temp_folder(o), allocated, freed, &d};
	struct query_peak peak;
	size_t n_codes;
	int r = export_stacks_init(&d.stacks, q, o, err);

	if (r < 0)
		return r;
	store_table(d.stacks.store, STORE_CODES, &n_codes);
	d.point = calloc(store_n_stacks(d.stacks.store) + 1, sizeof(*d.point));
	d.first_frame = calloc(n_codes + 1, sizeof(*d.first_frame));
	if (!d.point || !d.first_frame)
		r = err_set_memory(err, store_n_stacks(d.stacks.store) * sizeof(*d.point));
	if (r == 0)
		r = query_peak(q, &peak, err);
	if (r == 0)
		r = time_order_each(q, TIME_ORDER_MAX_WAITING, &calls, NULL, err);
	if (r == 0) {
		json_init(&d.json, out);
		r = put_file(&d, o, peak.at_ns, n_codes);
	}
	free(d.first_frame);
	free(d.point);
	export_stacks_fini(&d.stacks);
	return r;
}
