/* serve/running.h - the answers that are being computed now: what they are, how far they have come,
 * and who shares them.
 *
 * Every job is in the list while its handler runs. A job whose answer may be kept in the cache of
 * answers has a key (that of the cache). A second request with the same key finds the answer here,
 * waits for its end, and takes it from the cache:
 *
 *	request A --begins--> job --answer--> cache of answers --> B and C
 *	requests B, C --running_find()--> wait ----------------/
 *
 * A request with `first` (docs/REST.md) takes an estimate and leaves the exact answer running
 * unwanted: nobody waits for it until the client asks again. Such answers are cancelled when they
 * have been unwanted for RUNNING_UNWANTED_S and another job begins, or when more than
 * RUNNING_MAX_UNWANTED of them run.
 *
 * Threads: any.
 */
#ifndef SERVE_RUNNING_H
#define SERVE_RUNNING_H

#include "query/query.h"
#include "serve/answer.h"

#define RUNNING_UNWANTED_S 10u
#define RUNNING_MAX_UNWANTED 8u
#define RUNNING_PATH_BYTES 512 /* a longer path is shown in part */

struct running; /* opaque: defined in running.c */
int running_create(struct running **ret, struct err *err);
void running_destroy(struct running *l); /* no job is in the list; NULL does nothing */

/* A job in the list. The caller owns it and sets the first members, which do not change; the others
 * belong to running.c. */
struct running_job {
	const char *key; /* NULL: nobody can share the answer */
	char path[RUNNING_PATH_BYTES]; /* what was asked, for people */
	bool is_estimate;
	struct answer *answer;
	struct query_progress progress;

	struct running_job *previous, *next;
	uint64_t number;
	uint64_t since_ns;
	uint64_t unwanted_ns; /* since when; 0: somebody waits */
};

void running_begin(struct running *l, struct running_job *j);
void running_end(struct running *l, struct running_job *j); /* before the answer's maker lets go */

/* The answer of a job with this key, with a reference as answer_share() takes it; NULL: none. */
struct answer *running_find(struct running *l, const char *key);

/* Cancels all answers that nobody waits for. */
void running_cancel_unwanted(struct running *l);

/* What a job was when somebody looked. */
struct running_fact {
	uint64_t number; /* of the server's jobs, from 1 on */
	char path[RUNNING_PATH_BYTES];
	uint64_t age_ns;
	uint64_t n_done, n_all; /* blocks of the pass over rows; n_all 0: no pass yet */
	unsigned n_passes, n_waiting;
	bool is_estimate;
};

/* All jobs, oldest first: an array of *n for the caller to free. l NULL: no jobs. */
int running_list(struct running *l, struct running_fact **ret, size_t *n, struct err *err);

#endif
