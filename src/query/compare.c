/* query/compare.c - see compare.h. Trees: compare_tree.c. */
#include "query/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "query/query_i.h"
#include "util/text_set.h"
#include "util/vec.h"

#define KEY_BITS 53u /* what a double holds */

/* A key for a text: below 2^53, so that JavaScript can hold it. */
static uint64_t compare_key(const char *text)
{
	return hash_bytes(text, strlen(text)) >> (64 - KEY_BITS);
}

const char *compare_code_name(const struct frame *f, char **made)
{
	*made = NULL;
	if (f->function)
		return f->function;
	if (!f->module)
		return "[no image]";
	if (asprintf(made, "%s+0x%" PRIx64, text_basename(f->module), f->module_offset) < 0)
		*made = NULL;
	return *made;
}

/* ---- rows ---- */

void compare_rows_fini(struct compare_rows *c)
{
	free(c->row);
	free(c->row_of_text);
	text_set_destroy(c->texts);
	*c = (struct compare_rows){0};
}

/* The row of a text, which is made when there is none; "" is what has no name. Good until the next call. */
static int find_row(struct compare_rows *c, const char *text, struct compare_row **ret,
		    struct err *err)
{
	size_t n_known = c->cap_texts;
	uint32_t number = 0;
	int r = c->texts ? 0 : text_set_create(true, &c->texts, err);

	if (r >= 0)
		r = text_set_add(c->texts, text, &number, err);
	if (r >= 0)
		r = vec_reserve(&c->row_of_text, &c->cap_texts, (size_t)number + 1,
				sizeof(*c->row_of_text), err);
	if (r < 0)
		return r;
	memset(c->row_of_text + n_known, 0, (c->cap_texts - n_known) * sizeof(*c->row_of_text));
	if (!c->row_of_text[number]) {
		r = vec_reserve(&c->row, &c->capacity, c->n + 1, sizeof(*c->row), err);
		if (r < 0)
			return r;
		text = text_set_get(c->texts, number);
		c->row[c->n] =
			(struct compare_row){.key = compare_key(text), .name = *text ? text : NULL};
		c->row_of_text[number] = (uint32_t)++c->n;
	}
	*ret = &c->row[c->row_of_text[number] - 1];
	return 0;
}

static void add_cost(struct compare_row *row, enum compare_side side, const struct query_group *g)
{
	group_add(&row->cost[side], g);
}

static void add_self(struct compare_row *row, enum compare_side side, const uint64_t *self)
{
	for (unsigned c = 0; self && c < QUERY_N_MAIN_COSTS; c++)
		row->self[side][c] += self[c];
}

/* The first frame of AFTER, else the first of BEFORE. AFTER comes first. */
static void set_frame(struct compare_row *row, enum compare_side side, const struct frame *f)
{
	if (row->frame || !f)
		return;
	row->frame = f;
	row->frame_side = side;
}

/* AFTER comes first, so that its frames and paths stand for a row that both have. */
static const enum compare_side order[COMPARE_N_SIDES] = {COMPARE_AFTER, COMPARE_BEFORE};

/* ---- groups ---- */

bool compare_knows(enum query_group_by by)
{
	switch (by) {
	case QUERY_BY_BLAME:
	case QUERY_BY_PACKAGE:
	case QUERY_BY_FUNCTION:
	case QUERY_BY_LINE:
	case QUERY_BY_MODULE:
	case QUERY_BY_THREAD:
		return true;
	default:
		return false;
	}
}

/* The text that a group is matched by; "": it has no name. NULL: no memory. */
static const char *group_text(struct query *q, enum query_group_by by, uint64_t key,
			      const struct frame *blame, char **made)
{
	const char *text;

	*made = NULL;
	if (by == QUERY_BY_THREAD) {
		size_t n;
		const struct store_thread *t = store_table(q->c.store, STORE_THREADS, &n);

		text = key < n ? store_string(q->c.store, t[key].name, NULL) : NULL;
	} else if (by == QUERY_BY_BLAME) {
		return blame ? compare_code_name(blame, made) : "";
	} else {
		text = query_group_name(q, by, key);
		/* "file:line": a line has no slash */
		if (text && (by == QUERY_BY_MODULE || by == QUERY_BY_LINE))
			text = text_basename(text);
	}
	return text ? text : "";
}

/* The groups of one recording. */
struct side_groups {
	struct query *q;
	enum compare_side side;
	enum query_group_by by;
	struct query_groups g;
};

static int add_group(struct compare_rows *c, const struct side_groups *of, size_t i,
		     struct err *err)
{
	const struct query_group *g = &of->g.group[i];
	const struct frame *blame =
		of->by == QUERY_BY_BLAME ? query_blame(of->q, of->g.stack[i]) : NULL;
	struct compare_row *row;
	char *made;
	const char *text = group_text(of->q, of->by, g->key, blame, &made);
	int r = text ? find_row(c, text, &row, err) : err_set_memory(err, sizeof(*row));

	if (r >= 0) {
		add_cost(row, of->side, g);
		set_frame(row, of->side, blame);
	}
	free(made);
	return r;
}

static int add_groups(struct compare_rows *c, struct side_groups *of, struct err *err)
{
	int r = query_groups(of->q, of->by, &of->g, err);

	for (size_t i = 0; i < of->g.n && r >= 0; i++) {
		r = add_group(c, of, i, err);
		if (r >= 0 && i % COMPARE_CANCEL_STEPS == 0)
			r = query_check_cancel(of->q, err);
	}
	query_groups_fini(&of->g);
	return r;
}

int compare_groups(struct query *const q[COMPARE_N_SIDES], enum query_group_by by,
		   struct compare_rows *ret, struct err *err)
{
	struct compare_rows c = {0};
	int r = 0;

	ASSERT(compare_knows(by));
	for (unsigned s = 0; s < COMPARE_N_SIDES && r >= 0; s++) {
		struct side_groups of = {.q = q[order[s]], .side = order[s], .by = by};

		r = add_groups(&c, &of, err);
	}
	if (r >= 0)
		*ret = c;
	else
		compare_rows_fini(&c);
	return r < 0 ? r : 0;
}

/* ---- functions ---- */

static int add_function(struct compare_rows *c, enum compare_side side,
			const struct query_function *f, struct err *err)
{
	struct compare_row *row;
	int r = find_row(c, f->name ? f->name : "", &row, err);

	if (r < 0)
		return r;
	add_cost(row, side, &f->cost);
	add_self(row, side, f->self);
	set_frame(row, side, f->frame);
	return 0;
}

static int add_functions(struct compare_rows *c, struct query *q, enum compare_side side,
			 const struct query_functions *f, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < f->n && r >= 0; i++) {
		r = add_function(c, side, &f->function[i], err);
		if (r >= 0 && i % COMPARE_CANCEL_STEPS == 0)
			r = query_check_cancel(q, err);
	}
	return r;
}

int compare_functions(struct query *const q[COMPARE_N_SIDES], const struct query_function_match *m,
		      struct compare_rows *ret, struct err *err)
{
	struct compare_rows c = {0};
	int r = 0;

	for (unsigned s = 0; s < COMPARE_N_SIDES && r >= 0; s++) {
		struct query_functions f = {0};

		r = query_functions(q[order[s]], m, &f, err);
		if (r >= 0)
			r = add_functions(&c, q[order[s]], order[s], &f, err);
		query_functions_fini(&f);
	}
	if (r >= 0)
		*ret = c;
	else
		compare_rows_fini(&c);
	return r < 0 ? r : 0;
}

static int add_line(struct compare_rows *c, enum compare_side side, const struct query_line *l,
		    struct err *err)
{
	struct compare_row *row;
	char *text;
	int r;

	if (asprintf(&text, "%s:%" PRIu32, text_basename(l->source), l->line) < 0)
		return err_set_memory(err, strlen(l->source));
	r = find_row(c, text, &row, err);
	if (r >= 0) {
		add_cost(row, side, &l->cost);
		add_self(row, side, l->self);
		row->source = row->source ? row->source : l->source;
		row->function = row->function ? row->function : l->function;
		row->line = l->line;
	}
	free(text);
	return r;
}

static int add_side(struct compare_callers *c, struct query *q, enum compare_side side,
		    const struct query_callers *of, struct err *err)
{
	int r = add_function(&c->function, side, &of->function, err);

	if (r >= 0)
		r = add_functions(&c->callers, q, side, &of->callers, err);
	if (r >= 0)
		r = add_functions(&c->callees, q, side, &of->callees, err);
	for (size_t i = 0; i < of->lines.n && r >= 0; i++)
		r = add_line(&c->lines, side, &of->lines.line[i], err);
	return r;
}

int compare_callers(struct query *const q[COMPARE_N_SIDES], const char *function,
		    struct compare_callers *ret, struct err *err)
{
	struct compare_callers c = {0};
	unsigned n_missing = 0;
	int r = 0;

	for (unsigned s = 0; s < COMPARE_N_SIDES && r >= 0; s++) {
		struct query_callers of = {0};

		r = query_callers(q[order[s]], function, &of, err);
		if (r >= 0)
			r = add_side(&c, q[order[s]], order[s], &of, err);
		query_callers_fini(&of);
		/* A function that one of them does not have is new, or gone. */
		if (r == -ERR_USAGE && ++n_missing < COMPARE_N_SIDES)
			r = 0;
	}
	if (r >= 0)
		*ret = c;
	else
		compare_callers_fini(&c);
	return r < 0 ? r : 0;
}

void compare_callers_fini(struct compare_callers *c)
{
	compare_rows_fini(&c->function);
	compare_rows_fini(&c->callers);
	compare_rows_fini(&c->callees);
	compare_rows_fini(&c->lines);
}
