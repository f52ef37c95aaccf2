/* serve/serve_jobs.c - see serve_i.h: jobs, which compute answers in threads of their own, and the
 * requests that share a job.
 *
 * A request that takes an estimate ("first", docs/REST.md) starts a job for the exact answer without
 * a sender, and waits a while for it. Then it starts a second job, which reads a part of the rows, and
 * sends whichever ends first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "serve/serve_i.h"

#define SAMPLE_BLOCKS_PER_MS 1u /* of an estimate: 4 million rows a second */
#define ESTIMATE_ROWS_PER_STACK 8u
#define STACK_BYTES 160u /* that an answer may hold for each stack of the recording */
#define ESTIMATE_LOOK_MS 20u /* how often an estimate looks whether the exact answer is there */

/* ---- making ---- */

static void keep_answer(void *user, struct answer *a, uint8_t *copy, size_t len)
{
	struct job *job = user;
	struct cached what = {.body = copy,
			      .len = len,
			      .content_type = answer_type(a),
			      .encoding = (int)answer_encoding(a)};

	if (job->key && copy && !answer_file_name(a))
		answer_cache_add(job->server->cache, job->key, &what);
	else
		free(copy);
}

static void job_end(struct job *job)
{
	struct server *s = job->server;

	request_fini(&job->request);
	free(job->key);
	free(job);
	pthread_mutex_lock(&s->lock);
	s->n_makers--;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void serve_discard_job(struct job *job)
{
	request_fini(&job->request);
	free(job->key);
	free(job);
}

static void *run_job(void *user)
{
	struct job *job = user;

	uint64_t cpu_ns = request_run(&job->request);

	/* alone it would have computed what it took from others; what a cancelled one took tells nothing */
	cpu_ns += atomic_load(&job->running.progress.others_cpu_ns);
	if (!job->running.is_estimate && !atomic_load(job->request.context.cancel))
		route_costs_learn(job->server->costs, job->kind, cpu_ns);
	running_end(job->server->running, &job->running);
	answer_unref(job->running.answer);
	job_end(job);
	return NULL;
}

/* The question without what is nobody else's business. */
static void describe(struct job *job)
{
	const struct url *u = &job->request.url;
	FILE *out = fmemopen(job->running.path, sizeof(job->running.path) - 1, "w");

	if (!out)
		return;
	for (size_t i = 0; i < u->n_segments; i++)
		fprintf(out, "/%s", u->segment[i]);
	for (size_t i = 0, n = 0; i < u->n_pairs; i++) {
		if (strcmp(u->pair[i].name, "token") == 0)
			continue;
		fprintf(out, "%c%s=", n++ ? '&' : '?', u->pair[i].name);
		url_encode(out, u->pair[i].value);
	}
	fclose(out);
}

/* Is this answer one that takes long? An estimate is none whatever the rows of its kind cost. */
static bool is_long(const struct server *s, const struct job *job)
{
	return !job->running.is_estimate &&
	       route_costs_is_long(s->costs, job->kind, job->request.route, &job->request.url);
}

/* Sums by stack are the largest that an answer makes. */
static uint64_t needs_bytes(const struct request *rq)
{
	size_t n_stacks = 0;

	if (rq->store)
		store_table(rq->store, STORE_STACKS, &n_stacks);
	return (uint64_t)n_stacks * STACK_BYTES;
}

/* Makes the answer and the thread that computes it; takes job over. is_sent: x sends the answer.
 * False: err says why not. */
static bool start_job(struct exchange *x, struct job *job, enum encoding encoding, bool is_sent,
		      struct answer **ret, struct err *err)
{
	struct request *rq = &job->request;
	struct answer *a = NULL;
	pthread_attr_t attr;
	pthread_t thread;
	int e;

	pthread_mutex_lock(&x->server->lock);
	x->server->n_makers++;
	pthread_mutex_unlock(&x->server->lock);
	if (answer_create(x->server->slots, encoding, &a, err) < 0) {
		job_end(job);
		return false;
	}
	job->kind = route_costs_kind(rq->route, &rq->url, rq->id);
	answer_set_turn(a, connection_address(x->client), route_is_instant(rq->route),
			is_long(x->server, job));
	answer_set_guess(a, route_costs_guess(x->server->costs, job->kind));
	answer_set_needs(a, needs_bytes(rq));
	if (job->running.is_estimate || route_costs_is_quick(x->server->costs, job->kind))
		answer_set_quick(a);
	if (!is_sent) {
		answer_set_unsent(a);
		if (!route_costs_is_quick(x->server->costs, job->kind))
			answer_set_last(a);
	}
	rq->answer = a;
	rq->context.cancel = answer_cancel_flag(a);
	rq->context.progress = &job->running.progress;
	job->turn = answer_turn(a);
	rq->context.turn = &job->turn;
	if (job->key)
		answer_set_done(a, keep_answer, job);
	job->running.key = job->key;
	job->running.answer = a;
	describe(job);
	answer_ref(a); /* the list's */
	running_begin(x->server->running, &job->running);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	e = pthread_create(&thread, &attr, run_job, job);
	pthread_attr_destroy(&attr);
	if (e) {
		running_end(x->server->running, &job->running);
		answer_finish(a, 503); /* for those who share it already; the maker's reference */
		answer_unref(a); /* the list's */
		answer_unref(a); /* the caller's */
		job_end(job);
		err_set(err, ERR_MEMORY, "no thread for this request");
		return false;
	}
	*ret = a;
	return true;
}

/* ---- answers that several clients wait for, and estimates ---- */

/* Waits for the end of an answer that is being computed, and sends what it leaves in the cache.
 * *is_over false: nothing was sent, and *end says why. */
static enum MHD_Result send_shared(struct exchange *x, struct answer *a, unsigned max_ms,
				   enum answer_end *end, bool *is_over)
{
	*end = answer_wait_end(a, x->fd, max_ms);
	serve_forget_silence(x);
	*is_over = *end == ANSWER_LEFT;
	return *end == ANSWER_ENDED ? serve_send_cached(x, is_over) : MHD_NO;
}

/* The same request once more, for a job of its own. NULL: no memory. */
static struct job *copy_job(struct exchange *x, const struct job *from)
{
	const struct request *rq = &from->request;
	struct job *job = calloc(1, sizeof(*job));
	struct url u = URL_NONE;
	struct err err;

	if (!job || url_parse(x->target, &u, &err) < 0) {
		free(job);
		return NULL;
	}
	url_remove(&u, ROUTE_FIRST_PARAMETER);
	job->server = x->server;
	request_init(&job->request, rq->route, &u);
	route_find(&job->request.url, job->request.value);
	job->request.is_trusted = rq->is_trusted;
	job->request.registry = rq->registry;
	job->request.sources = rq->sources;
	job->request.item = rq->item;
	job->request.id = rq->id;
	job->request.file_name = rq->file_name;
	registry_hold(rq->snapshot);
	job->request.snapshot = rq->snapshot;
	job->request.store = rq->store;
	job->request.frames = rq->frames;
	job->request.context = rq->context;
	job->key = strdup(x->key);
	return job;
}

/* Sends an estimate, or the exact answer if that ends first. Takes job over. */
static enum MHD_Result send_estimate(struct exchange *x, struct job *job, struct answer *exact,
				     enum encoding encoding)
{
	char *key = x->key, etag[sizeof(x->etag)];
	enum MHD_Result ok = MHD_NO;
	struct err err = {0};
	bool is_over = false;

	memcpy(etag, x->etag, sizeof(etag));
	x->key = NULL;
	x->etag[0] = '\0';
	job->running.is_estimate = true;
	job->request.context.sample_blocks = job->first_ms * SAMPLE_BLOCKS_PER_MS;
	if (!start_job(x, job, encoding, true, &x->answer, &err)) {
		free(key);
		return serve_send_error(x, 503, err.text, "Retry-After", "1");
	}
	while (!is_over && !answer_is_known(x->answer, ESTIMATE_LOOK_MS)) {
		enum answer_end end = answer_wait_end(exact, x->fd, 1);

		if (end != ANSWER_ENDED && end != ANSWER_LEFT)
			continue;
		x->key = key;
		memcpy(x->etag, etag, sizeof(etag));
		if (end == ANSWER_ENDED)
			ok = serve_send_cached(x, &is_over);
		if (is_over || end == ANSWER_LEFT) {
			answer_cancel(x->answer);
			return ok;
		}
		x->key = NULL; /* too large for the cache, or it failed */
		x->etag[0] = '\0';
		break;
	}
	free(key);
	return serve_send_answer(x);
}

/* The answer that runs for x->key, with a reference that shares it. If none does and the cache has
 * none either, starts the job: with is_sent for x->answer, and *ret is NULL then. *job becomes NULL
 * if it was taken over. One thread at a time, or several would start the same. */
static enum MHD_Result find_or_start(struct exchange *x, struct job **job, enum encoding encoding,
				     bool is_sent, struct answer **ret, bool *is_over)
{
	const struct cached *kept = NULL;
	enum MHD_Result ok = MHD_NO;
	struct err err = {0};
	bool has_failed = false;

	*is_over = false;
	pthread_mutex_lock(&x->server->start_lock);
	*ret = running_find(x->server->running, x->key);
	if (!*ret)
		kept = answer_cache_find(x->server->cache, x->key);
	if (!*ret && !kept) {
		has_failed =
			!start_job(x, *job, encoding, is_sent, is_sent ? &x->answer : ret, &err);
		*job = NULL;
	}
	pthread_mutex_unlock(&x->server->start_lock);
	if (kept) {
		answer_cache_release(x->server->cache, kept);
		ok = serve_send_cached(x, is_over);
	} else if (has_failed) {
		*is_over = true;
		ok = serve_send_error(x, 503, err.text, "Retry-After", "1");
	}
	return ok;
}

/* Computes the answer for this client alone. */
static enum MHD_Result run_alone(struct exchange *x, struct job *job, enum encoding encoding)
{
	struct err err = {0};

	if (!start_job(x, job, encoding, true, &x->answer, &err))
		return serve_send_error(x, 503, err.text, "Retry-After", "1");
	return serve_send_answer(x);
}

/* How long the exact answer may take before an estimate begins: at once, where the last one of its kind
 * took longer than a half of what the client waits, or where there was none and it is taken for long. */
static unsigned wait_for_exact_ms(const struct exchange *x, const struct job *job)
{
	const struct request *rq = &job->request;
	uint64_t kind = route_costs_kind(rq->route, &rq->url, rq->id);
	uint64_t guess_ms = route_costs_guess(x->server->costs, kind) / NS_PER_MS;
	bool is_long = route_costs_is_long(x->server->costs, kind, rq->route, &rq->url);

	if (is_long || guess_ms > job->first_ms / 2)
		return 1;
	return job->first_ms / (guess_ms ? 2 : 4) + 1;
}

/* The answer to a request that takes an estimate. *is_over false: the exact answer is for the
 * caller to compute. */
static enum MHD_Result answer_first(struct exchange *x, struct job *job, enum encoding encoding,
				    bool *is_over)
{
	struct job *copy = copy_job(x, job);
	struct answer *exact = NULL;
	enum MHD_Result ok = MHD_NO;
	enum answer_end end;

	*is_over = false;
	if (copy)
		ok = find_or_start(x, &copy, encoding, false, &exact, is_over);
	if (copy)
		serve_discard_job(copy);
	if (exact) {
		ok = send_shared(x, exact, wait_for_exact_ms(x, job), &end, is_over);
		if (!*is_over && end == ANSWER_LATE) {
			*is_over = true;
			ok = send_estimate(x, job, exact, encoding);
			answer_unshare(exact, true);
			return ok;
		}
		answer_unshare(exact, false);
	}
	if (*is_over)
		serve_discard_job(job);
	return ok;
}

/* The answer of the job, or of one for the same question that runs already. */
static enum MHD_Result answer_shared(struct exchange *x, struct job *job, enum encoding encoding)
{
	struct answer *other = NULL;
	enum MHD_Result ok;
	enum answer_end end;
	bool is_over;

	job->key = strdup(x->key);
	ok = find_or_start(x, &job, encoding, true, &other, &is_over);
	if (!job)
		return is_over ? ok : serve_send_answer(x);
	if (other) {
		ok = send_shared(x, other, 0, &end, &is_over);
		answer_unshare(other, false);
	}
	if (is_over) {
		serve_discard_job(job);
		return ok;
	}
	free(job->key); /* the other one failed, was too large for the cache, or its client is slow */
	job->key = NULL;
	return run_alone(x, job, encoding);
}

/* An estimate reads a part of the rows, but has a sum for each stack, as the exact answer has. With few
 * rows for each stack it would take as long, and the memory twice. */
static bool is_estimate_cheaper(const struct request *rq)
{
	size_t n_stacks = 0;

	if (!rq->store)
		return false;
	store_table(rq->store, STORE_STACKS, &n_stacks);
	return store_n_rows(rq->store) / ESTIMATE_ROWS_PER_STACK >= n_stacks;
}

enum MHD_Result serve_run(struct exchange *x, struct job *job, enum encoding encoding)
{
	bool takes_estimate = job->first_ms && !request_is_comparison(&job->request) &&
			      is_estimate_cheaper(&job->request);
	bool is_over;
	enum MHD_Result ok;

	if (!x->key)
		return run_alone(x, job, encoding);
	if (takes_estimate) {
		ok = answer_first(x, job, encoding, &is_over);
		if (is_over)
			return ok;
	}
	return answer_shared(x, job, encoding);
}
