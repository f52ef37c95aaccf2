/* serve/running.c - see running.h. */
#include "serve/running.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/monotonic.h"

struct running {
	pthread_mutex_t lock; /* guards the list and what running.c owns of the jobs */
	struct running_job list; /* only its links are used */
	uint64_t n_jobs; /* so far */
};

int running_create(struct running **ret, struct err *err)
{
	struct running *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set_memory(err, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	l->list.previous = l->list.next = &l->list;
	*ret = l;
	return 0;
}

void running_destroy(struct running *l)
{
	if (!l)
		return;
	ASSERT(l->list.next == &l->list);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Cancels what has been unwanted for longer than max_ns, and the oldest of more than n_max. */
static void cancel_unwanted(struct running *l, uint64_t max_ns, unsigned n_max)
{
	uint64_t now_ns = monotonic_ns();
	unsigned n = 0;

	for (struct running_job *j = l->list.previous; j != &l->list; j = j->previous) {
		if (!answer_is_unwanted(j->answer)) {
			j->unwanted_ns = 0;
			continue;
		}
		if (!j->unwanted_ns)
			j->unwanted_ns = now_ns;
		if (++n > n_max || now_ns - j->unwanted_ns > max_ns)
			answer_cancel_unwanted(j->answer);
	}
}

void running_begin(struct running *l, struct running_job *j)
{
	pthread_mutex_lock(&l->lock);
	cancel_unwanted(l, RUNNING_UNWANTED_S * (uint64_t)1000000000, RUNNING_MAX_UNWANTED);
	j->number = ++l->n_jobs;
	j->since_ns = monotonic_ns();
	j->unwanted_ns = 0;
	j->next = &l->list;
	j->previous = l->list.previous;
	j->previous->next = j->next->previous = j;
	pthread_mutex_unlock(&l->lock);
}

void running_end(struct running *l, struct running_job *j)
{
	pthread_mutex_lock(&l->lock);
	j->previous->next = j->next;
	j->next->previous = j->previous;
	pthread_mutex_unlock(&l->lock);
}

struct answer *running_find(struct running *l, const char *key)
{
	struct answer *found = NULL;

	pthread_mutex_lock(&l->lock);
	for (struct running_job *j = l->list.next; j != &l->list && !found; j = j->next) {
		if (j->key && strcmp(j->key, key) == 0)
			found = j->answer;
	}
	if (found)
		answer_share(found);
	pthread_mutex_unlock(&l->lock);
	return found;
}

void running_cancel_unwanted(struct running *l)
{
	pthread_mutex_lock(&l->lock);
	cancel_unwanted(l, 0, 0);
	pthread_mutex_unlock(&l->lock);
}

int running_list(struct running *l, struct running_fact **ret, size_t *n, struct err *err)
{
	struct running_fact *all = NULL;
	size_t n_jobs = 0, at = 0;

	*ret = NULL;
	*n = 0;
	if (!l)
		return 0;
	pthread_mutex_lock(&l->lock);
	for (const struct running_job *j = l->list.next; j != &l->list; j = j->next)
		n_jobs++;
	all = calloc(n_jobs + 1, sizeof(*all));
	for (const struct running_job *j = l->list.next; j != &l->list && all; j = j->next) {
		struct running_fact *f = &all[at++];

		f->number = j->number;
		memcpy(f->path, j->path, sizeof(f->path));
		f->age_ns = monotonic_ns() - j->since_ns;
		f->n_done = atomic_load(&j->progress.n_done);
		f->n_all = atomic_load(&j->progress.n_all);
		f->n_passes = atomic_load(&j->progress.n_passes);
		f->n_waiting = answer_n_waiting(j->answer);
		f->is_estimate = j->is_estimate;
	}
	pthread_mutex_unlock(&l->lock);
	if (!all)
		return err_set_memory(err, (n_jobs + 1) * sizeof(*all));
	*ret = all;
	*n = n_jobs;
	return 0;
}
