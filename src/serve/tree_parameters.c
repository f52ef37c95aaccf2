/* serve/tree_parameters.c - see tree_parameters.h. */
#include "serve/tree_parameters.h"

#include <stdlib.h>
#include <string.h>

#include "query/filter_value.h"

#define KEYS_HELP "keys as the tree gives them, with commas between them"

static int refuse_under(struct request *rq, const char *text, struct err *err)
{
	request_refuse(rq, 400, "under", text, KEYS_HELP);
	return err_set(err, ERR_USAGE, "under: '%.100s' is not a list of keys", text);
}

static int take_keys(struct tree_parameters *p, struct request *rq, struct err *err)
{
	const char *text = url_find(&rq->url, "under");
	size_t n = 1;

	if (!text || !*text)
		return 0;
	for (const char *at = text; *at; at++)
		n += *at == ',';
	p->under = calloc(n, sizeof(*p->under));
	if (!p->under)
		return err_set_memory(err, n * sizeof(*p->under));
	p->options.under = p->under;
	for (const char *at = text; p->options.n_under < n; at += strcspn(at, ",") + 1) {
		size_t len = strcspn(at, ",");
		char word[24];

		if (len >= sizeof(word))
			return refuse_under(rq, text, err);
		memcpy(word, at, len);
		word[len] = 0;
		if (!filter_value_count(word, &p->under[p->options.n_under++]))
			return refuse_under(rq, text, err);
	}
	return 0;
}

int tree_parameters_init(struct tree_parameters *p, struct request *rq, struct err *err)
{
	static const enum query_tree_kind kind[] = {QUERY_TOP_DOWN, QUERY_BOTTOM_UP};
	static const enum query_fold_kind fold[] = {QUERY_FOLD_NONE, QUERY_FOLD_RUNTIME};
	unsigned direction = 0, folding = 0;
	int r = request_choice(rq, "direction", "top_down|bottom_up", 0, &direction, err);

	*p = (struct tree_parameters){.options = QUERY_TREE_ALL};
	if (r == 0)
		r = request_choice(rq, "fold", "none|runtime", 0, &folding, err);
	if (r == 0)
		r = request_flag(rq, "collapse_recursion", false, &p->options.collapses_recursion,
				 err);
	if (r == 0)
		r = take_keys(p, rq, err);
	p->options.kind = kind[direction];
	p->options.fold = fold[folding];
	p->options.fold_regex = url_find(&rq->url, "fold_regex");
	p->options.hide_regex = url_find(&rq->url, "hide_regex");
	return r;
}

void tree_parameters_fini(struct tree_parameters *p)
{
	free(p->under);
	*p = (struct tree_parameters){0};
}

int tree_parameters_refuse(struct request *rq, int r, const struct err *err)
{
	static const struct {
		const char *name;
		unsigned status;
	} parameter[] = {{"under", 404}, {"fold_regex", 400}, {"hide_regex", 400}};

	for (size_t i = 0; r == -ERR_USAGE && i < ARRAY_LEN(parameter); i++) {
		const char *name = parameter[i].name;

		if (strncmp(err->text, name, strlen(name)) == 0)
			request_refuse(rq, parameter[i].status, name, url_find(&rq->url, name),
				       parameter[i].status == 404 ? KEYS_HELP
								  : filter_type_help("regex"));
	}
	return r;
}
