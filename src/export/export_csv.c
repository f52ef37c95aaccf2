/* export/export_csv.c - comma separated values (RFC 4180, but lines end with a bare newline).
 *
 * The first line names the columns. Times are nanoseconds since the start of the recording; empty
 * means never or none. Numbers of backtraces are those of the store, in both files.
 */
#include <inttypes.h>
#include <string.h>

#include "export/export_i.h"

static const char *const kinds[] = {
	[STORE_KIND_MALLOC] = "malloc",
	[STORE_KIND_CALLOC] = "calloc",
	[STORE_KIND_ALIGNED] = "aligned",
	[STORE_KIND_REALLOC] = "realloc",
};

struct csv {
	FILE *out;
	const struct store *store;
	struct err *err;
	int result;
};

static void put_u64(FILE *out, uint64_t v)
{
	char text[20];
	unsigned at = sizeof(text);

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	fwrite_unlocked(text + at, 1, sizeof(text) - at, out);
}

static void put_field(FILE *out, uint64_t v)
{
	putc_unlocked(',', out);
	put_u64(out, v);
}

static void put_optional(FILE *out, bool has, uint64_t v)
{
	putc_unlocked(',', out);
	if (has)
		put_u64(out, v);
}

static bool put_row(void *user, const struct query_row *row)
{
	struct csv *c = user;
	const struct query_row clean = export_clean_row(c->store, row);
	const struct query_row *r = &clean;
	bool is_released = r->death_ns != UINT64_MAX;
	unsigned kind = r->flags & STORE_KIND_MASK;

	put_u64(c->out, r->row);
	fprintf(c->out, ",0x%" PRIx64, r->addr);
	put_field(c->out, r->size_bytes);
	put_field(c->out, r->extra_bytes);
	put_field(c->out, r->birth_ns);
	put_optional(c->out, is_released, r->death_ns);
	put_optional(c->out, is_released, r->death_ns - r->birth_ns);
	put_field(c->out, export_tid(c->store, r->thread));
	put_optional(c->out, is_released, is_released ? export_tid(c->store, r->free_thread) : 0);
	put_field(c->out, r->stack);
	put_optional(c->out, is_released && r->free_stack, r->free_stack);
	fprintf(c->out, ",%s", kind < ARRAY_LEN(kinds) ? kinds[kind] : "");
	put_field(c->out, !!(r->flags & STORE_FLAG_TEMPORARY));
	put_field(c->out, !!(r->flags & STORE_FLAG_MMAPED));
	put_field(c->out, !!(r->flags & STORE_FLAG_MAIN_ARENA));
	put_field(c->out, r->marker);
	put_optional(c->out, r->chain != UINT64_MAX, r->chain);
	put_optional(c->out, r->chain != UINT64_MAX, r->chain_position);
	putc_unlocked('\n', c->out);
	c->result = export_check(c->out, c->err);
	return c->result == 0;
}

int export_csv(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	const struct query_page page = {.sort = QUERY_BY_TIME, .count = UINT64_MAX};
	struct csv c = {.out = out, .store = o->context->store, .err = err};
	int r;

	fputs("id,address,size_bytes,extra_bytes,birth_ns,release_ns,lifetime_ns,thread,"
	      "release_thread,backtrace,release_backtrace,kind,is_temporary,is_mmaped,"
	      "is_main_arena,marker,chain,position_in_chain\n",
	      out);
	r = query_rows(q, &page, put_row, &c, NULL, err);
	return c.result < 0 ? c.result : r;
}

/* Inside quotes; a quote is doubled. */
static void put_quoted_part(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc((unsigned char)*text < 0x20 ? ' ' : *text, out);
	}
}

static void put_frame(FILE *out, const struct frame *f)
{
	char buf[EXPORT_LABEL_BYTES];

	put_quoted_part(out, export_frame_label(f, buf));
	if (f->source) {
		fputs(" (", out);
		put_quoted_part(out, f->source);
		if (f->line)
			fprintf(out, ":%u", f->line);
		putc(')', out);
	}
	if (f->module) {
		fputs(" [", out);
		put_quoted_part(out, export_base_name(f->module));
		putc(']', out);
	}
}

/* The frames, innermost first, with " < " between them: "called by". */
static int put_stack(struct export_stacks *s, const struct query_group *g, FILE *out,
		     struct err *err)
{
	bool is_first = true;
	int r = export_stacks_codes(s, (uint32_t)g->key, err);

	fputs(",\"", out);
	for (size_t i = 0; i < s->n_codes && r == 0; i++) {
		size_t n;
		const struct frame *f = frames_of_code(s->frames, s->code[i], &n);

		for (size_t k = 0; k < n; k++) {
			if (!is_first)
				fputs(" < ", out);
			is_first = false;
			put_frame(out, &f[k]);
		}
	}
	fputs("\"\n", out);
	return r < 0 ? r : export_check(out, err);
}

int export_csv_groups(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct export_stacks s;
	int r = export_stacks_init(&s, q, o, err);

	if (r < 0)
		return r;
	fputs("backtrace,allocations,bytes,leaked_allocations,leaked_bytes,"
	      "temporary_allocations,temporary_bytes,peak_allocations,peak_bytes,extra_bytes,"
	      "min_size_bytes,max_size_bytes,first_ns,last_ns,frames\n",
	      out);
	for (size_t i = 0; i < s.groups.n && r == 0; i++) {
		const struct query_group *g = &s.groups.group[i];
		const uint64_t value[] = {
			g->n_allocs,    g->n_bytes,         g->n_leaked,       g->leaked_bytes,
			g->n_temporary, g->temporary_bytes, g->peak_count,     g->peak_bytes,
			g->extra_bytes, g->min_size_bytes,  g->max_size_bytes, g->first_ns,
			g->last_ns,
		};

		put_u64(out, g->key);
		for (size_t k = 0; k < ARRAY_LEN(value); k++)
			put_field(out, value[k]);
		r = put_stack(&s, g, out, err);
	}
	export_stacks_fini(&s);
	return r;
}
