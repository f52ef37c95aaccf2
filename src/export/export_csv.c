/* export/export_csv.c - comma separated values (RFC 4180, but lines end with a bare newline).
 *
 * The first line names the columns. Times are nanoseconds since the start of the recording; an
 * empty field means never or none. csv and csv-groups number backtraces as the store does.
 */
#include <string.h>

#include "base/text.h"
#include "export/export_i.h"
#include "export/row_text.h"
#include "util/utf8.h"

struct csv {
	FILE *out;
	const struct store *store;
	struct err *err;
	int result;
};

static void put_field(struct row_text *t, uint64_t v)
{
	row_text_bytes(t, ",", 1);
	row_text_u64(t, v);
}

static void put_optional(struct row_text *t, bool has, uint64_t v)
{
	row_text_bytes(t, ",", 1);
	if (has)
		row_text_u64(t, v);
}

static bool put_row(void *user, const struct query_row *r)
{
	struct csv *c = user;
	bool is_released = r->free_ns != UINT64_MAX, has_chain = r->chain != UINT64_MAX;
	struct row_text t = {.n = 0};

	row_text_u64(&t, r->row);
	row_text_put(&t, ",0x");
	row_text_hex(&t, r->addr);
	put_field(&t, r->size_bytes);
	put_field(&t, r->extra_bytes);
	put_field(&t, r->alloc_ns);
	put_optional(&t, is_released, r->free_ns);
	put_optional(&t, is_released, r->free_ns - r->alloc_ns);
	put_field(&t, store_tid(c->store, r->thread));
	put_optional(&t, is_released, store_tid(c->store, r->free_thread));
	put_field(&t, r->stack);
	put_optional(&t, is_released && r->free_stack, r->free_stack);
	row_text_bytes(&t, ",", 1);
	row_text_put(&t, store_kind_name(r->flags));
	put_field(&t, !!(r->flags & STORE_FLAG_TEMPORARY));
	put_field(&t, !!(r->flags & STORE_FLAG_MMAPED));
	put_field(&t, !!(r->flags & STORE_FLAG_MAIN_ARENA));
	put_field(&t, r->marker);
	put_optional(&t, has_chain, r->chain);
	put_optional(&t, has_chain, r->chain_position);
	row_text_bytes(&t, "\n", 1);
	row_text_write(&t, c->out);
	c->result = export_check(c->out, c->err);
	return c->result == 0;
}

int export_csv(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	const struct query_page page = {.sort = QUERY_BY_TIME, .count = UINT64_MAX};
	struct csv c = {.out = out, .store = o->context->store, .err = err};
	int r;

	fputs("id,address,size_bytes,extra_bytes,alloc_ns,release_ns,lifetime_ns,thread,"
	      "release_thread,backtrace,release_backtrace,kind,is_temporary,is_mmaped,"
	      "is_main_arena,marker,chain,position_in_chain\n",
	      out);
	r = query_rows(q, &page, put_row, &c, NULL, err);
	return c.result < 0 ? c.result : r;
}

/* Writes text inside quotes: doubles each quote. */
static void put_quoted_part(FILE *out, const char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		unsigned n = utf8_length((const uint8_t *)text, left);

		if (*text == '"')
			putc('"', out);
		if (n == 0)
			fputs(EXPORT_REPLACEMENT, out);
		else if ((unsigned char)*text < 0x20)
			putc(' ', out);
		else
			fwrite(text, 1, n, out);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
}

static void put_frame(FILE *out, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];

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
		put_quoted_part(out, text_basename(f->module));
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
	struct row_text t = {.n = 0};
	int r = export_stacks_init(&s, q, o, err);

	if (r < 0)
		return r;
	fputs("backtrace,allocations,bytes,leaked_count,leaked_bytes,"
	      "temporary_count,temporary_bytes,peak_count,peak_bytes,extra_bytes,"
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

		row_text_u64(&t, g->key);
		for (size_t k = 0; k < ARRAY_LEN(value); k++)
			put_field(&t, value[k]);
		row_text_write(&t, out);
		r = put_stack(&s, g, out, err);
	}
	export_stacks_fini(&s);
	return r;
}
