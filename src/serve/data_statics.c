/* serve/data_statics.c - what initialisers of static variables allocated: dynamic_constants and
 * dynamic_statics, by file and line.
 *
 * GCC puts the dynamic initialisation of a translation unit's variables into one function,
 * __static_initialization_and_destruction_0. As in the old API, the copy of it that the compiler made
 * for constant arguments (".constprop") stands for constants, the plain one for other statics.
 */
#include "serve/handlers.h"

#include <stdlib.h>
#include <string.h>

#include "util/human.h"
#include "util/vec.h"

#define INITIALISER "__static_initialization_and_destruction_0"

struct place {
	const char *source; /* borrowed from the frames */
	uint32_t line;
	uint64_t count, size_bytes;
};

struct statics {
	struct place *place;
	size_t n, cap;
};

struct search {
	bool wants_constants;
	const struct frame *found;
};

static bool look_at(void *user, const struct frame *f)
{
	struct search *s = user;
	const char *name = f->raw_function ? f->raw_function : f->function;

	if (name && strstr(name, INITIALISER) &&
	    (strstr(name, "constprop") != NULL) == s->wants_constants)
		s->found = f;
	return !s->found;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int order = strcmp(x->source, y->source);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sorts, and joins what is at the same line. */
static void tidy(struct statics *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->place, s->n, sizeof(*s->place), compare_places);
	for (size_t i = 0; i < s->n; i++) {
		if (n && compare_places(&s->place[n - 1], &s->place[i]) == 0) {
			s->place[n - 1].count += s->place[i].count;
			s->place[n - 1].size_bytes += s->place[i].size_bytes;
		} else {
			s->place[n++] = s->place[i];
		}
	}
	s->n = n;
}

static int collect(struct request *rq, bool wants_constants, struct statics *s, struct err *err)
{
	struct query_groups g = {0};
	int r = request_query(rq, err);

	if (r == 0) {
		query_want(rq->query, 0);
		r = query_groups(rq->query, QUERY_BY_STACK, &g, err);
	}
	for (size_t i = 0; r == 0 && i < g.n && !request_is_over(rq); i++) {
		struct search search = {.wants_constants = wants_constants};

		r = frames_each(rq->frames, (uint32_t)g.group[i].key, look_at, &search, err);
		if (r < 0 || !search.found)
			continue;
		r = vec_reserve(&s->place, &s->cap, s->n + 1, sizeof(*s->place), err);
		if (r < 0)
			break;
		s->place[s->n++] = (struct place){
			.source = search.found->source ? search.found->source : "",
			.line = search.found->line,
			.count = g.group[i].n_allocs,
			.size_bytes = g.group[i].n_bytes,
		};
	}
	query_groups_fini(&g);
	tidy(s);
	return r;
}

/* The end of the run of places that have the source of the one at `at`; their sum. */
static size_t file_end(const struct statics *s, size_t at, struct place *sum)
{
	size_t i = at;

	*sum = (struct place){.source = s->n ? s->place[at].source : NULL};
	for (; i < s->n && strcmp(s->place[i].source, s->place[at].source) == 0; i++) {
		sum->count += s->place[i].count;
		sum->size_bytes += s->place[i].size_bytes;
	}
	return i;
}

static struct place total_of(const struct statics *s)
{
	struct place total = {0};

	for (size_t i = 0; i < s->n; i++) {
		total.count += s->place[i].count;
		total.size_bytes += s->place[i].size_bytes;
	}
	return total;
}

static void put_sum(struct json *j, const struct place *p)
{
	json_u64(j, "count", p->count);
	json_u64(j, "size", p->size_bytes);
}

static int answer_json(struct request *rq, bool wants_constants, struct err *err)
{
	struct json *j = &rq->json;
	struct statics s = {0};
	int r = collect(rq, wants_constants, &s, err);
	struct place sum = total_of(&s);

	if (r < 0)
		goto out;
	json_object(j, NULL);
	put_sum(j, &sum);
	json_object(j, "per_file");
	for (size_t at = 0; at < s.n;) {
		size_t end = file_end(&s, at, &sum);

		json_object(j, sum.source);
		put_sum(j, &sum);
		json_object(j, "per_line");
		for (; at < end; at++) {
			char line[16];

			snprintf(line, sizeof(line), "%u", s.place[at].line);
			json_object(j, line);
			put_sum(j, &s.place[at]);
			json_end_object(j);
		}
		json_end_object(j);
		json_end_object(j);
	}
	json_end_object(j);
	json_end_object(j);
out:
	free(s.place);
	return r;
}

static void put_line(FILE *out, const struct place *p, const char *label)
{
	char size[HUMAN_BYTES], count[HUMAN_BYTES];

	fprintf(out, "%12s %10s  ", human_size(p->size_bytes, size), human_count(p->count, count));
	human_print_text(out, label, strlen(label));
	putc('\n', out);
}

static int answer_text(struct request *rq, bool wants_constants, struct err *err)
{
	struct statics s = {0};
	int r = collect(rq, wants_constants, &s, err);
	struct place sum = total_of(&s);

	if (r < 0)
		goto out;
	fprintf(rq->out, "%12s %10s  SOURCE\n", "SIZE", "COUNT");
	put_line(rq->out, &sum, "(all)");
	for (size_t at = 0; at < s.n;) {
		size_t end = file_end(&s, at, &sum);

		put_line(rq->out, &sum, sum.source[0] ? sum.source : "(source not known)");
		for (; at < end; at++) {
			char line[32];

			snprintf(line, sizeof(line), "    line %u", s.place[at].line);
			put_line(rq->out, &s.place[at], line);
		}
	}
out:
	free(s.place);
	return r;
}

int data_constants(struct request *rq, struct err *err)
{
	return answer_json(rq, true, err);
}

int data_constants_tree(struct request *rq, struct err *err)
{
	return answer_text(rq, true, err);
}

int data_statics(struct request *rq, struct err *err)
{
	return answer_json(rq, false, err);
}

int data_statics_tree(struct request *rq, struct err *err)
{
	return answer_text(rq, false, err);
}
