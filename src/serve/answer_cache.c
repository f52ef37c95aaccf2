/* serve/answer_cache.c - see answer_cache.h. Few and large items: a list is searched. */
#include "serve/answer_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 256u

struct item {
	struct cached what; /* first: a cached is its item */
	struct item *next; /* more recently used ones come first */
	char *key;
	unsigned n_users;
	bool is_listed; /* false: dropped, and freed by its last user */
};

struct answer_cache {
	pthread_mutex_t lock; /* guards all */
	struct item *first;
	size_t n_items, n_bytes, max_bytes;
};

int answer_cache_create(size_t max_bytes, struct answer_cache **ret, struct err *err)
{
	struct answer_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set_memory(err, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	c->max_bytes = max_bytes;
	*ret = c;
	return 0;
}

static void item_free(struct item *i)
{
	free(i->what.body);
	free(i->key);
	free(i);
}

static size_t item_bytes(const struct item *i)
{
	return sizeof(*i) + i->what.len + strlen(i->key);
}

static void drop(struct answer_cache *c, struct item **link)
{
	struct item *i = *link;

	*link = i->next;
	c->n_items--;
	c->n_bytes -= item_bytes(i);
	i->is_listed = false;
	if (i->n_users == 0)
		item_free(i);
}

void answer_cache_destroy(struct answer_cache *c)
{
	if (!c)
		return;
	while (c->first)
		drop(c, &c->first);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct item **find_link(struct answer_cache *c, const char *key)
{
	struct item **link = &c->first;

	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	return link;
}

void answer_cache_add(struct answer_cache *c, const char *key, const struct cached *what)
{
	struct item *i = calloc(1, sizeof(*i));
	struct item **link;

	if (i)
		i->key = strdup(key);
	if (!i || !i->key || what->len > c->max_bytes / 4) {
		free(what->body);
		if (i)
			free(i->key);
		free(i);
		return;
	}
	i->what = *what;
	i->is_listed = true;
	pthread_mutex_lock(&c->lock);
	link = find_link(c, key);
	if (*link)
		drop(c, link);
	i->next = c->first;
	c->first = i;
	c->n_items++;
	c->n_bytes += item_bytes(i);
	while (c->n_bytes > c->max_bytes || c->n_items > MAX_ITEMS) {
		for (link = &c->first; (*link)->next; link = &(*link)->next)
			;
		drop(c, link);
	}
	pthread_mutex_unlock(&c->lock);
}

const struct cached *answer_cache_find(struct answer_cache *c, const char *key)
{
	struct item **link, *i;

	pthread_mutex_lock(&c->lock);
	link = find_link(c, key);
	i = *link;
	if (i) {
		i->n_users++;
		*link = i->next;
		i->next = c->first;
		c->first = i;
	}
	pthread_mutex_unlock(&c->lock);
	return i ? &i->what : NULL;
}

void answer_cache_release(struct answer_cache *c, const struct cached *what)
{
	struct item *i = (struct item *)(uintptr_t)what;
	bool is_dead;

	pthread_mutex_lock(&c->lock);
	is_dead = --i->n_users == 0 && !i->is_listed;
	pthread_mutex_unlock(&c->lock);
	if (is_dead)
		item_free(i);
}
