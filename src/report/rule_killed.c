/* report/rule_killed.c - the finding about a program that was killed: what held its memory then.
 *
 * A program that the kernel killed for want of memory freed nothing: all that was alive counts as
 * never freed, and most of it is no leak. The question is what held the memory, so functions are
 * ranked by the bytes that they had at the end, whenever they allocated them. Rules about leaks are
 * not applied.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/findings_i.h"

#define HELD_MIN_BYTES MIB
#define HELD_SHARE 0.10 /* of what was alive at the end */
#define HELD_MAX 3u
#define HELD_GROWN 0.05 /* of it: grown by so much in the last quarter, it is said to grow */

bool rules_was_killed(const struct report *r)
{
	const char *ended = store_string(r->context.store, r->facts->ended, NULL);

	if (strcmp(ended, "killed by SIGKILL") == 0)
		return true;
	/* Out of memory the kernel kills all that use the memory, the recorder's writer, too. */
	return strcmp(ended, "killed or still running") == 0 &&
	       !store_identity_grows(store_identity(r->context.store));
}

bool rules_is_held(const struct rules *rules, const struct query_group *g)
{
	return g->leaked_bytes >= HELD_MIN_BYTES &&
	       (double)g->leaked_bytes >= HELD_SHARE * (double)rules->r->groups.total.leaked_bytes;
}

char *rules_held_growth(const struct rules *rules, uint64_t bytes, uint64_t late_bytes,
			char buf[RULES_RATE_BYTES + 32])
{
	char rate[RULES_RATE_BYTES];

	if ((double)late_bytes < HELD_GROWN * (double)bytes)
		snprintf(buf, RULES_RATE_BYTES + 32, "no growth in the last quarter");
	else
		snprintf(buf, RULES_RATE_BYTES + 32, "+%s in the last quarter",
			 rules_rate(rules, late_bytes, rules->span.span_ns / 4, rate));
	return buf;
}

/* value: of g over time; NULL: not known. */
static int add_held(struct rules *rules, const struct query_group *g, const uint64_t *value,
		    struct err *err)
{
	char name[RULES_NAME_BYTES], a[HUMAN_BYTES], growth[RULES_RATE_BYTES + 32];
	uint64_t late_bytes = value ? rules_late_growth(value) : g->leaked_late_bytes;
	struct finding f;
	int n = rules_begin(rules, FINDING_HELD, REPORT_LEAKED, g, &f, err);

	if (n == 0)
		n = finding_set_title(&f, err, "%s held %s at the end", rules_name(f.blame, name),
				      human_size(f.value, a));
	if (n == 0)
		n = finding_set_text(
			&f, err, "%s of what was alive when the program was killed, %s",
			human_share(g->leaked_bytes, rules->r->groups.total.leaked_bytes, a),
			rules_held_growth(rules, g->leaked_bytes, late_bytes, growth));
	return rules_take(rules, &f, g->key, n);
}

int rules_find_held(struct rules *rules, struct err *err)
{
	struct rules_top top = rules_find_top(&rules->blame, REPORT_LEAKED, HELD_MAX, 1);
	uint64_t key[HELD_MAX], value[HELD_MAX * RULES_POINTS];
	size_t n_held = 0;
	int n = 0;

	while (n_held < top.n && rules_is_held(rules, top.group[n_held])) {
		key[n_held] = top.group[n_held]->key;
		n_held++;
	}
	if (n_held > 0 && rules->has_rows)
		n = rules_count_groups(rules, key, n_held, rules_end_ns(rules), value, err);
	for (size_t i = 0; i < n_held && n == 0; i++)
		n = add_held(rules, top.group[i], rules->has_rows ? value + i * RULES_POINTS : NULL,
			     err);
	return n;
}

static bool is_about_the_end(const struct finding *f)
{
	return f->kind == FINDING_UNRECORDED || f->kind == FINDING_HELD ||
	       f->kind == FINDING_OWNER || f->kind == FINDING_OUTSIDE;
}

static bool goes_before(const struct finding *a, const struct finding *b)
{
	if (is_about_the_end(a) != is_about_the_end(b))
		return is_about_the_end(a);
	return is_about_the_end(a) && a->value > b->value;
}

void rules_rank_by_bytes(struct rules *rules)
{
	struct finding *f = rules->to->finding;

	for (size_t i = 1; i < rules->to->n; i++) {
		for (size_t k = i; k > 0 && goes_before(&f[k], &f[k - 1]); k--) {
			struct finding finding = f[k];
			uint64_t key = rules->key[k];

			f[k] = f[k - 1];
			rules->key[k] = rules->key[k - 1];
			f[k - 1] = finding;
			rules->key[k - 1] = key;
		}
	}
}
