/* report/findings.c - see findings.h. */
#include "report/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/findings_i.h"

const char *finding_kind_name(enum finding_kind k)
{
	static const char *const name[FINDING_N_KINDS] = {"leak",    "owner",   "peak",  "churn",
							  "outside", "copying", "remark"};

	return name[k];
}

const char *finding_kind_title(enum finding_kind k)
{
	static const char *const title[FINDING_N_KINDS] = {"Likely leak",
							   "Leaks pass through",
							   "Makes the peak",
							   "Churn",
							   "Outside the heap",
							   "Copying",
							   ""};

	return title[k];
}

const char *finding_cost_name(enum report_kind cost)
{
	static const char *const name[REPORT_N_KINDS] = {"peak", "leaked", "allocs", "temp",
							 "bytes"};

	return name[cost];
}

static int set(char **text, struct err *err, const char *fmt, va_list ap)
{
	free(*text);
	if (vasprintf(text, fmt, ap) < 0) {
		*text = NULL;
		return err_set_memory(err, 1);
	}
	return 0;
}

int finding_set_title(struct finding *f, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set(&f->title, err, fmt, ap);
	va_end(ap);
	return r;
}

int finding_set_text(struct finding *f, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = set(&f->text, err, fmt, ap);
	va_end(ap);
	return r;
}

void finding_fini(struct finding *f)
{
	free(f->title);
	free(f->text);
	for (size_t i = 0; i < f->n_conditions; i++)
		free(f->condition[i].value);
	free(f->timeline);
	free(f->leaked_timeline);
	*f = (struct finding){0};
}

void findings_take(struct findings *to, struct finding *f)
{
	if (to->n < FINDINGS_MAX)
		to->finding[to->n++] = *f;
	else
		finding_fini(f);
}

int findings_make(struct report *r, size_t n_points, struct findings *ret, struct err *err)
{
	struct findings f = {0};
	int n;

	(void)n_points;
	n = remarks_add(r, &f, err);
	if (n < 0) {
		findings_fini(&f);
		return n;
	}
	*ret = f;
	return 0;
}

void findings_fini(struct findings *f)
{
	for (size_t i = 0; i < f->n; i++)
		finding_fini(&f->finding[i]);
	*f = (struct findings){0};
}
