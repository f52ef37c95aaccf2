/* serve/v1_events.c - /api/v1/events: says when a recording has changed, as server-sent events.
 *
 * A client that shows a growing recording need not ask again and again. While a client listens,
 * growing recordings are looked at as often as registry_freshen() allows.
 */
#include <stdlib.h>
#include <time.h>

#include "serve/handlers.h"
#include "util/monotonic.h"

#define LOOK_NS 250000000
#define SILENCE_NS (15 * NS_PER_S) /* a comment then shows that the connection lives */

/* What a client sees of a recording. */
struct seen {
	enum registry_state state;
	double percent, names_percent;
	uint64_t duration_ns;
	bool is_growing;
};

static struct seen look(struct registry_entry *i)
{
	struct registry_snapshot *p;
	struct seen s = {.state = registry_state(i)};

	registry_freshen(i, 0);
	s.percent = registry_percent(i);
	s.names_percent = registry_names_percent(i);
	p = registry_take(i);
	if (p) {
		s.duration_ns = store_facts(registry_store(p))->duration_ns;
		s.is_growing = registry_is_growing(p);
	}
	registry_give(p);
	return s;
}

static bool is_same(const struct seen *a, const struct seen *b)
{
	return a->state == b->state && !(a->percent > b->percent || a->percent < b->percent) &&
	       !(a->names_percent > b->names_percent || a->names_percent < b->names_percent) &&
	       a->duration_ns == b->duration_ns && a->is_growing == b->is_growing;
}

static void put_event(struct request *rq, struct registry_entry *i, const struct seen *s)
{
	struct json j;

	fputs("event: recording\ndata: ", rq->out);
	json_init(&j, rq->out);
	json_object(&j, NULL);
	json_text(&j, "id", registry_id(i));
	json_text(&j, "state", data_state_name(s->state));
	json_double(&j, "percent", s->percent, 1);
	json_double(&j, "names_percent", s->names_percent, 1);
	json_bool(&j, "growing", s->is_growing);
	json_u64(&j, "duration_ns", s->duration_ns);
	json_end_object(&j);
	fputs("\n\n", rq->out);
}

int v1_events(struct request *rq, struct err *err)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	size_t n = rq->registry ? registry_n_entries(rq->registry) : 0;
	struct seen *last = calloc(n + 1, sizeof(*last));
	uint64_t wrote_ns = monotonic_ns();
	bool is_first = true;

	if (!last)
		return err_set_memory(err, n * sizeof(*last));
	answer_set_stream(rq->answer);
	fputs("retry: 2000\n\n", rq->out);
	for (; !request_is_over(rq); is_first = false) {
		bool has_written = is_first;

		for (size_t k = 0; k < n; k++) {
			struct registry_entry *i = registry_entry(rq->registry, k);
			struct seen now = look(i);

			if (!is_first && is_same(&now, &last[k]))
				continue;
			put_event(rq, i, &now);
			last[k] = now;
			has_written = true;
		}
		if (!has_written && monotonic_ns() - wrote_ns > SILENCE_NS) {
			fputs(": still here\n\n", rq->out);
			has_written = true;
		}
		if (has_written) {
			wrote_ns = monotonic_ns();
			fflush(rq->out);
		}
		nanosleep(&pause, NULL);
	}
	free(last);
	return 0;
}
