/* threads N [MILLIONS]: N/2 producers allocate messages, N/2 consumers free them.
 *
 * Each pair has a ring of its own, handed over in batches under a mutex, so that the allocator and
 * not the ring is what the program spends its time on. Every message is freed by another thread
 * than the one that allocated it. That alone would measure how glibc's arenas bounce between CPUs,
 * which differs by a factor of three from run to run; so both ends also use blocks of their own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	MAX_PAIRS = 64,
	BATCH = 128,
	N_BATCHES = 16
};

struct message {
	uint32_t number;
	char text[];
};

enum {
	EVENTS_PER_MESSAGE = 14
};

struct pair {
	pthread_t producer, consumer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct message *batch[N_BATCHES][BATCH];
	unsigned head, tail; /* batches written and read; lock */
	uint64_t n_messages;
	uint64_t sum;
};

static struct pair pairs[MAX_PAIRS];

/* Blocks of the thread's own: three live at a time. */
static uint64_t __attribute__((noinline)) work(uint32_t number)
{
	char *part[3];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 3; i++) {
		part[i] = malloc(24 + (number + 40 * i) % 200);
		if (!part[i])
			abort();
		part[i][0] = (char)i;
	}
	for (uint32_t i = 0; i < 3; i++) {
		sum += (uint64_t)part[i][0];
		free(part[i]);
	}
	return sum;
}

static struct message *__attribute__((noinline)) make_message(uint32_t number)
{
	struct message *m = malloc(sizeof(*m) + number % 80);

	if (!m)
		abort();
	m->number = number + (uint32_t)work(number);
	return m;
}

static uint64_t __attribute__((noinline)) take_message(struct message *m)
{
	uint64_t value = m->number + work(m->number);

	free(m);
	return value;
}

static void *produce(void *arg)
{
	struct pair *p = arg;

	for (uint64_t done = 0; done < p->n_messages; done += BATCH) {
		struct message **batch;

		pthread_mutex_lock(&p->lock);
		while (p->head - p->tail == N_BATCHES)
			pthread_cond_wait(&p->changed, &p->lock);
		batch = p->batch[p->head % N_BATCHES];
		pthread_mutex_unlock(&p->lock);
		for (uint32_t i = 0; i < BATCH; i++)
			batch[i] = make_message((uint32_t)done + i);
		pthread_mutex_lock(&p->lock);
		p->head++;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

static void *consume(void *arg)
{
	struct pair *p = arg;

	for (uint64_t done = 0; done < p->n_messages; done += BATCH) {
		struct message **batch;

		pthread_mutex_lock(&p->lock);
		while (p->head == p->tail)
			pthread_cond_wait(&p->changed, &p->lock);
		batch = p->batch[p->tail % N_BATCHES];
		pthread_mutex_unlock(&p->lock);
		for (uint32_t i = 0; i < BATCH; i++)
			p->sum += take_message(batch[i]);
		pthread_mutex_lock(&p->lock);
		p->tail++;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n_pairs = (argc > 1 ? atoi(argv[1]) : 2) / 2;
	double events = (argc > 2 ? atof(argv[2]) : 8.0) * 1e6;
	uint64_t sum = 0;

	if (n_pairs < 1 || n_pairs > MAX_PAIRS)
		return 2;
	for (int i = 0; i < n_pairs; i++) {
		struct pair *p = &pairs[i];

		p->n_messages = (uint64_t)(events / EVENTS_PER_MESSAGE / n_pairs) / BATCH * BATCH;
		pthread_mutex_init(&p->lock, NULL);
		pthread_cond_init(&p->changed, NULL);
		if (pthread_create(&p->producer, NULL, produce, p) ||
		    pthread_create(&p->consumer, NULL, consume, p))
			return 1;
	}
	for (int i = 0; i < n_pairs; i++) {
		pthread_join(pairs[i].producer, NULL);
		pthread_join(pairs[i].consumer, NULL);
		sum += pairs[i].sum;
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
