/* Answers that are kept. */
#include "harness/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/answer_cache.h"

static void add(struct answer_cache *c, const char *key, size_t len)
{
	struct cached what = {.body = malloc(len), .len = len, .content_type = "text/plain"};

	memset(what.body, key[0], len);
	answer_cache_add(c, key, &what);
}

TEST(the_one_not_asked_for_longest_goes_first)
{
	struct answer_cache *c = NULL;
	const struct cached *a, *b;
	struct err err = {0};

	CHECK_OK(answer_cache_create(10000, &c, &err));
	add(c, "a", 2450);
	add(c, "b", 2450);
	add(c, "c", 2450);
	a = answer_cache_find(c, "a");
	CHECK_NOT_NULL(a);
	add(c, "d", 2450); /* with what a cache needs for itself, b has to go */
	CHECK_NULL(answer_cache_find(c, "b"));
	CHECK_EQ(a->len, 2450);
	CHECK_EQ(a->body[2449], 'a');
	b = answer_cache_find(c, "d");
	CHECK_NOT_NULL(b);
	answer_cache_release(c, a);
	answer_cache_release(c, b);
	answer_cache_destroy(c);
}

TEST(one_in_use_lives_on_after_it_was_replaced)
{
	struct answer_cache *c = NULL;
	const struct cached *old, *now;
	struct err err = {0};

	CHECK_OK(answer_cache_create(100000, &c, &err));
	add(c, "k", 100);
	old = answer_cache_find(c, "k");
	add(c, "k", 200);
	now = answer_cache_find(c, "k");
	CHECK_EQ(old->len, 100);
	CHECK_EQ(old->body[99], 'k');
	CHECK_EQ(now->len, 200);
	answer_cache_release(c, old);
	answer_cache_release(c, now);
	answer_cache_destroy(c);
}

TEST(a_giant_and_a_crowd_are_both_bounded)
{
	struct answer_cache *c = NULL;
	struct err err = {0};
	size_t n_kept = 0;
	char key[32];

	CHECK_OK(answer_cache_create(1 << 20, &c, &err));
	add(c, "giant", (1 << 20) / 2);
	CHECK_NULL(answer_cache_find(c, "giant"));
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof(key), "%d", i);
		add(c, key, 10);
	}
	for (int i = 0; i < 2000; i++) {
		const struct cached *found;

		snprintf(key, sizeof(key), "%d", i);
		found = answer_cache_find(c, key);
		if (!found)
			continue;
		answer_cache_release(c, found);
		n_kept++;
	}
	CHECK(n_kept > 0 && n_kept <= 256);
	answer_cache_destroy(c);
}
