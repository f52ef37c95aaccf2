/* query/query_lines.c - costs by line of a source file. */
#include "query/query_lines.h"

#include <stdlib.h>
#include <string.h>

static int compare_bytes(const void *a, const void *b)
{
	const struct query_line *x = a, *y = b;
	int order;

	if (x->cost.n_bytes != y->cost.n_bytes)
		return x->cost.n_bytes > y->cost.n_bytes ? -1 : 1;
	order = strcmp(x->source, y->source);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int compare_lines(const void *a, const void *b)
{
	const struct query_line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

int query_lines_take(const struct query_tally *t, const struct query_names *names,
		     struct query_lines *ret, struct err *err)
{
	struct query_line *list = malloc((t->n + 1) * sizeof(*list));

	if (!list)
		return err_set_memory(err, t->n * sizeof(*list));
	for (size_t i = 0; i < t->n; i++) {
		const struct query_tally_item *item = &t->item[i];
		const struct query_name_line *line = &names->line[item->key];
		uint32_t identity = names->frame[item->frame].identity;

		list[i] = (struct query_line){
			.source = names->text[line->source],
			.line = line->line,
			.function = names->text[names->identity[identity].function],
			.cost = item->cost,
		};
		memcpy(list[i].self, item->self, sizeof(list[i].self));
	}
	if (t->n)
		qsort(list, t->n, sizeof(*list), compare_bytes);
	ret->line = list;
	ret->n = t->n;
	return 0;
}

void query_lines_fini(struct query_lines *l)
{
	free(l->line);
	*l = (struct query_lines){0};
}

/* ---- of a file ---- */

struct file_lines {
	const struct query_names *names;
	uint32_t source;
	struct query_tally lines;
};

static int count_stack(void *user, const struct query_walk_stack *s, struct err *err)
{
	struct file_lines *f = user;
	int r = 0;

	for (size_t i = 0; i < s->n && r >= 0; i++) {
		uint32_t line = f->names->frame[s->frame[i]].line;

		if (!line || f->names->line[line].source != f->source)
			continue;
		r = query_tally_add(&f->lines, line, s, s->frame[i], err);
		if (r >= 0 && i == 0)
			query_tally_add_self(&f->lines, line, s);
	}
	return r;
}

static bool is_source(const struct query_names *names, uint32_t text)
{
	for (size_t i = 1; text && i < names->n_identities; i++) {
		if (names->identity[i].source == text)
			return true;
	}
	return false;
}

int query_lines_of_file(struct query *q, const char *source, struct query_lines *ret,
			struct err *err)
{
	struct file_lines f = {0};
	int r = query_need_names(q, err);

	if (r < 0)
		return r;
	f.names = q->names;
	f.source = query_names_find(q->names, source);
	if (!is_source(q->names, f.source))
		return err_set(err, ERR_USAGE, "the recording names no source file '%.200s'",
			       source);
	r = query_tally_init(&f.lines, q->names->n_lines, err);
	if (r >= 0)
		r = query_walk(q, count_stack, &f, err);
	if (r >= 0)
		r = query_lines_take(&f.lines, q->names, ret, err);
	if (r >= 0 && ret->n)
		qsort(ret->line, ret->n, sizeof(*ret->line), compare_lines);
	query_tally_fini(&f.lines);
	return r;
}
