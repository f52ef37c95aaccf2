/* export/export_collapsed.c - one line per stack: "outer [lib];inner [lib] number".
 *
 * Read by flamegraph.pl, speedscope, Perfetto and many others. A ';' would end a name, so ';' in a
 * name becomes ':'.
 */
#include <inttypes.h>

#include "base/text.h"

#include "export/export_i.h"

static void put_frame(FILE *out, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];

	export_put_clean(out, export_frame_label(f, buf), ";", ':');
	if (f->module && f->function) {
		fputs(" [", out);
		export_put_clean(out, text_basename(f->module), ";", ':');
		putc(']', out);
	}
}

static int put_stack(struct export_stacks *s, const struct query_group *g, uint64_t cost, FILE *out,
		     struct err *err)
{
	bool is_first = true;
	int r = export_stacks_codes(s, (uint32_t)g->key, err);

	if (r < 0)
		return r;
	for (size_t i = s->n_codes; i-- > 0;) {
		size_t n;
		const struct frame *f = frames_of_code(s->frames, s->code[i], &n);

		while (n-- > 0) { /* the outermost of the inlined ones comes last */
			if (!is_first)
				putc(';', out);
			is_first = false;
			put_frame(out, &f[n]);
		}
	}
	fprintf(out, "%s %" PRIu64 "\n", is_first ? "[no stack]" : "", cost);
	return export_check(out, err);
}

int export_collapsed(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct export_stacks s;
	int r = export_stacks_init(&s, q, o, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s.groups.n && r == 0; i++) {
		uint64_t cost = export_cost_of(&s.groups.group[i], o->cost);

		if (cost > 0)
			r = put_stack(&s, &s.groups.group[i], cost, out, err);
	}
	export_stacks_fini(&s);
	return r;
}
