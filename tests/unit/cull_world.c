/* See cull_world.h. */
#include "cull_world.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/units.h"

#include "record/clock.h"
#include "record/log.h"
#include "record/own_memory.h"
#include "record/pool.h"
#include "record/thread.h"

#define WORLD_BYTES align_up(sizeof(struct cull_world), 4096)

struct cull_world *cull_world;

/* ---- what the writer calls ---- */

struct options options_active;
uint8_t clock_is_cpu;
_Atomic uint64_t own_memory_bytes;

uint64_t clock_monotonic_ns(void)
{
	return cull_world->now;
}

bool clock_heartbeat_start(void)
{
	return false;
}

void clock_heartbeat_stop(void)
{
}

void log_put(enum log_level level, const char *line)
{
	(void)level;
	(void)line;
}

uint32_t thread_max_blocks(const struct recorder *rec)
{
	(void)rec;
	return RECORD_AREA_BLOCKS;
}

void record_wake_writer(struct recorder *rec)
{
	(void)rec;
}

void *own_memory_map(size_t bytes)
{
	uint8_t *memory = cull_world->heap + cull_world->heap_used;

	bytes = align_up(bytes, 64);
	if (bytes > sizeof(cull_world->heap) - cull_world->heap_used)
		return NULL;
	cull_world->heap_used += bytes;
	return memory;
}

void own_memory_unmap(void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
}

struct pending_area *session_add_pending(struct session *s, struct session_buffers *b,
					 size_t n_bytes)
{
	(void)s;
	(void)b;
	return own_memory_map(n_bytes);
}

bool session_add_area(struct session *s, struct session_buffers *b, uint32_t n_blocks)
{
	uint32_t n = atomic_load(&s->n_areas);

	(void)b;
	if (n == CULL_WORLD_AREAS)
		return false;
	s->area[n].blocks = cull_world->area[n];
	s->area[n].n_blocks = n_blocks;
	atomic_store(&s->area[n].free_bits, (1ull << n_blocks) - 1);
	cull_in_order();
	atomic_store(&s->n_areas, n + 1);
	return true;
}

void session_count_lost(struct session *s, uint64_t n_events, uint64_t n_blocks, long error)
{
	(void)s;
	(void)n_blocks;
	(void)error;
	cull_world->n_lost += n_events;
}

/* As writer_write_block() does: a block is in the file before it is free. */
static void write_block(void *user, struct session *s, struct area *area, uint32_t slot)
{
	const struct block *block = &area->blocks[slot];

	(void)user;
	(void)s;
	if (cull_world->n_written < CULL_WORLD_WRITTEN)
		memcpy(&cull_world->written[cull_world->n_written], block,
		       BLOCK_HEADER_BYTES + atomic_load(&block->used_bytes));
	cull_in_order();
	cull_world->n_written++;
	cull_in_order();
	pool_give_back(&cull_world->rec, area, slot);
}

/* ---- the world ---- */

static void nothing_to_ensure(struct recorder *rec)
{
	(void)rec;
}

void cull_world_map(int fd, bool is_private)
{
	void *memory =
		mmap(cull_world, WORLD_BYTES, PROT_READ | PROT_WRITE,
		     (is_private ? MAP_PRIVATE : MAP_SHARED) | (cull_world ? MAP_FIXED : 0), fd, 0);

	CHECK_NE((uintptr_t)memory, (uintptr_t)MAP_FAILED);
	cull_world = memory;
}

int cull_world_begin(uint64_t max_pending, uint64_t threshold_ms)
{
	int fd = memfd_create("cull_world", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)WORLD_BYTES), 0);
	cull_world_map(fd, false);
	options_active.TEMPORARY_ALLOCATION_PENDING_THRESHOLD = max_pending;
	options_active.TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD = threshold_ms;
	options_active.CULL_TEMPORARY_ALLOCATIONS = true;
	cull_world->now = NS_PER_S;
	cull_world->n_acting = CULL_WORLD_THREADS;
	cull_world->rec.ensure_writer = nothing_to_ensure;
	for (unsigned i = 1; i <= CULL_WORLD_THREADS; i++)
		cull_world->thread[i].enc.next_stack = 1;
	CHECK(session_add_area(&cull_world->session, NULL, RECORD_AREA_BLOCKS));
	cull_world->cull = cull_create(&cull_world->rec, &cull_world->session, &cull_world->buffers,
				       write_block, NULL);
	CHECK_NOT_NULL(cull_world->cull);
	while (cull_world->cull->threshold_ticks ==
	       UINT64_MAX) /* the length of a tick is not known */
		cull_world_step();
	return fd;
}

void cull_world_end(int fd)
{
	munmap(cull_world, WORLD_BYTES);
	cull_world = NULL;
	close(fd);
}

static void log_event(unsigned thread, unsigned kind, uint64_t ticks, const struct event_call *call)
{
	CHECK(cull_world->n_events < CULL_WORLD_EVENTS);
	cull_world->event[cull_world->n_events++] = (struct cull_world_event){
		.ticks = ticks,
		.addr = call->addr,
		.size_bytes = event_is_release(kind) ? 0 : call->size_bytes,
		.stack = call->stack,
		.thread = (uint16_t)thread,
		.kind = (uint8_t)kind,
	};
}

static void begin_block(struct cull_world_thread *t, unsigned thread)
{
	struct session *s = &cull_world->session;
	struct block *block;

	if (!pool_try_take(s, &t->area, &t->slot)) {
		cull_world_step();
		CHECK(pool_try_take(s, &t->area, &t->slot));
	}
	block = t->block = &t->area->blocks[t->slot];
	atomic_store(&block->used_bytes, 0);
	block->magic = BLOCK_MAGIC;
	block->sequence = 1 + atomic_fetch_add(&s->next_block, 1);
	block->thread = block->tid = thread;
	block->lane = 0;
	block->lane_index = t->next_index++ | BLOCK_INDEX_TO_CULL;
	block->start_ticks = cull_world->now;
	block->first_stack = t->enc.next_stack;
	block->generation = 0;
	block->lost_before = 0;
	block->checksum = block_checksum((const uint8_t *)block);
	atomic_store(&block->state, BLOCK_OPEN);
	event_encoder_begin(&t->enc, block->data, block->data + BLOCK_DATA_BYTES,
			    block->start_ticks);
}

static struct event_encoder *reserve(unsigned thread)
{
	struct cull_world_thread *t = &cull_world->thread[thread];

	if (t->block && !event_encoder_has_room(&t->enc, 3))
		cull_world_end_block(thread);
	if (!t->block)
		begin_block(t, thread);
	cull_world->now += CULL_WORLD_TICK;
	return &t->enc;
}

static void publish(unsigned thread)
{
	struct cull_world_thread *t = &cull_world->thread[thread];

	atomic_store(&t->block->used_bytes, (uint32_t)(t->enc.pos - t->block->data));
}

void cull_world_end_block(unsigned thread)
{
	struct cull_world_thread *t = &cull_world->thread[thread];

	if (!t->block)
		return;
	t->block = NULL;
	pool_give_full(&cull_world->rec, t->area, t->slot);
}

void cull_world_put(unsigned thread, unsigned kind, uint64_t addr, uint64_t size_bytes,
		    uint32_t stack)
{
	struct event_call call = {.addr = addr, .size_bytes = size_bytes, .stack = stack};
	struct event_encoder *e;

	while (cull_world->thread[thread].enc.next_stack <= stack) {
		e = reserve(thread);
		event_put_stack(e, 0x1000 * thread + e->next_stack, e->next_stack - 1);
	}
	e = reserve(thread);
	call.ticks = cull_world->now;
	event_put_call(e, kind, &call);
	publish(thread);
	log_event(thread, kind, call.ticks, &call);
}

void cull_world_malloc(unsigned thread, uint64_t addr, uint64_t size_bytes, uint32_t stack)
{
	cull_world_put(thread, EVENT_MALLOC, addr, size_bytes, stack);
}

void cull_world_free(unsigned thread, uint64_t addr)
{
	cull_world_put(thread, EVENT_FREE, addr, 0, 1);
}

void cull_world_realloc(unsigned thread, uint64_t from, uint64_t to, uint64_t size_bytes,
			uint32_t stack)
{
	cull_world_put(thread, EVENT_REALLOC_BEGIN, from, 0, stack);
	cull_world_put(thread, EVENT_REALLOC_END, to, size_bytes, stack);
}

void cull_world_rare(unsigned thread, unsigned kind, uint64_t field)
{
	struct event_encoder *e = reserve(thread);

	event_put_rare(e, kind, cull_world->now, &field, 1);
	publish(thread);
	log_event(thread, kind, cull_world->now, &(struct event_call){.size_bytes = field});
}

void cull_world_sleep(uint64_t ms)
{
	cull_world->now += ms * NS_PER_MS;
}

static uint32_t any(uint32_t n)
{
	cull_world->seed = cull_world->seed * 1103515245 + 12345;
	return (cull_world->seed >> 8) % n;
}

/* Half of the blocks are freed at once, the others when their place is needed. */
void cull_world_act(void)
{
	unsigned n = cull_world->n_acting, thread = 1 + any(n),
		 other = any(4) ? thread : 1 + any(n);
	uint32_t i = any(CULL_WORLD_HELD), stack = 1 + any(CULL_WORLD_STACKS);
	uint64_t *held = &cull_world->held[i], addr = 0x10000 + 64 * i, size_bytes = any(900);

	if (!*held) {
		cull_world_malloc(thread, addr, size_bytes, stack);
		if (any(2))
			cull_world_free(other, addr);
		else
			*held = addr;
	} else if (any(3) == 0) {
		addr = any(2) ? *held : *held ^ 0x100000;
		cull_world_realloc(thread, *held, addr, size_bytes, stack);
		*held = addr;
	} else if (any(9) == 0) {
		cull_world_rare(thread, EVENT_MARKER, size_bytes);
	} else {
		cull_world_free(other, *held);
		*held = 0;
	}
	if (any(40) == 0)
		cull_world_sleep(any(30));
	if (any(60) == 0)
		cull_world_end_block(thread);
}

static void step(uint64_t next_sums_ns)
{
	bool is_lively;

	cull_world->now += CULL_WORLD_TICK; /* more than clocks may differ by */
	cull_world->cull->next_peek_ns = 0;
	cull_world->cull->next_sums_ns = next_sums_ns;
	cull_step(cull_world->cull, &is_lively);
}

void cull_world_step(void)
{
	step(0);
}

void cull_world_step_soon(void)
{
	step(UINT64_MAX);
}

void cull_world_resume(void)
{
	for (uint32_t i = 0; i < atomic_load(&cull_world->session.n_areas); i++)
		pool_retake(&cull_world->session.area[i]);
	cull_resume(cull_world->cull);
}

/* ---- figures ---- */

#define N_LIVE 4096u /* a power of two */

struct site {
	uint64_t n, bytes, n_temporary, temporary_bytes;
};

/* What events add up to. */
struct figures {
	uint64_t allocations, reallocations, frees, n_unknown, n_duplicate, n_rare;
	uint64_t n_live, live_bytes, live_sum;
	struct site site[CULL_WORLD_THREADS + 1][CULL_WORLD_STACKS + 1];
};

struct live {
	uint64_t addr, size_bytes; /* addr 0: none */
	uint64_t ordinal;
	uint32_t thread, stack;
	uint32_t first; /* index of the event that began the chain */
	bool is_gone;
};

struct reader {
	struct figures figures;
	uint64_t n_made[CULL_WORLD_THREADS + 1];
	uint32_t chain[CULL_WORLD_THREADS + 1]; /* of the realloc that has begun */
	struct live live[N_LIVE];
	uint64_t n_culled;
};

static struct live *find_live(struct reader *r, uint64_t addr)
{
	uint32_t i = (uint32_t)(addr / 16 * 0x9e3779b1u) % N_LIVE;

	while (r->live[i].addr && r->live[i].addr != addr)
		i = (i + 1) % N_LIVE;
	return &r->live[i];
}

static struct live *on_block(struct reader *r, const struct cull_world_event *ev, uint32_t index)
{
	struct live *l = find_live(r, ev->addr);
	struct site *site = &r->figures.site[ev->thread][ev->stack];

	r->figures.n_duplicate += l->addr && !l->is_gone;
	r->figures.n_live++;
	r->figures.live_bytes += ev->size_bytes;
	r->figures.live_sum += ev->size_bytes * ev->addr;
	site->n++;
	site->bytes += ev->size_bytes;
	*l = (struct live){.addr = ev->addr,
			   .size_bytes = ev->size_bytes,
			   .thread = ev->thread,
			   .stack = ev->stack,
			   .first = index,
			   .ordinal = ++r->n_made[ev->thread]};
	return l;
}

static const struct live *on_release(struct reader *r, const struct cull_world_event *ev)
{
	struct live *l = find_live(r, ev->addr);
	struct site *site = &r->figures.site[l->thread][l->stack];

	if (!l->addr || l->is_gone) {
		r->figures.n_unknown++;
		return NULL;
	}
	l->is_gone = true;
	r->figures.n_live--;
	r->figures.live_bytes -= l->size_bytes;
	r->figures.live_sum -= l->size_bytes * l->addr;
	if (l->thread == ev->thread && l->ordinal == r->n_made[ev->thread]) {
		site->n_temporary++;
		site->temporary_bytes += l->size_bytes;
	}
	return l;
}

/* Takes an event. Returns the chain that it belongs to: the index of its first event. */
static uint32_t read_event(struct reader *r, const struct cull_world_event *ev, uint32_t index)
{
	const struct live *l;

	switch (ev->kind) {
	case EVENT_FREE:
		r->figures.frees++;
		l = on_release(r, ev);
		return l ? l->first : index;
	case EVENT_REALLOC_BEGIN:
		l = on_release(r, ev);
		return r->chain[ev->thread] = l ? l->first : index;
	case EVENT_REALLOC_END:
		r->figures.reallocations++;
		return on_block(r, ev, r->chain[ev->thread])->first;
	case EVENT_MALLOC:
		r->figures.allocations++;
		return on_block(r, ev, index)->first;
	default:
		r->figures.n_rare++;
		return index;
	}
}

static void read_sums(struct reader *r, const struct event *ev, unsigned thread)
{
	struct site *site = &r->figures.site[thread][ev->stack];
	uint64_t n = ev->field[CULLED_N];

	r->n_made[thread] += n == 0; /* a mark */
	if (ev->kind == EVENT_CULLED) {
		r->figures.allocations += n;
		r->figures.frees += n;
	} else {
		r->figures.reallocations += n;
	}
	r->n_culled += n;
	site->n += n;
	site->bytes += ev->field[CULLED_BYTES];
	site->n_temporary += ev->field[CULLED_N_TEMPORARY];
	site->temporary_bytes += ev->field[CULLED_TEMPORARY_BYTES];
}

/* ---- what was written ---- */

struct lane_reader {
	struct event_decoder decoder;
	struct event ev;
	const struct block *block;
	uint64_t last_sequence;
	uint32_t n_stacks;
	bool has_event;
};

/* The lane's next block. A block may be there twice. */
static const struct block *next_block(uint64_t thread, uint64_t after)
{
	const struct block *best = NULL;

	for (uint32_t i = 0; i < cull_world->n_written; i++) {
		const struct block *b = &cull_world->written[i];

		if (b->thread == thread && b->sequence > after &&
		    (!best || b->sequence < best->sequence))
			best = b;
	}
	return best;
}

/* Stacks keep the ids that they have in the blocks of threads. One may be defined twice. */
static void check_definition(struct lane_reader *l, unsigned thread)
{
	CHECK(l->ev.stack <= l->n_stacks + 1);
	if (l->ev.stack > l->n_stacks)
		l->n_stacks++;
	CHECK_EQ(l->ev.addr, 0x1000 * thread + l->ev.stack);
	CHECK_EQ(l->ev.parent, l->ev.stack - 1);
}

static void read_on(struct lane_reader *l, unsigned thread)
{
	struct block_header h;
	int n;

	l->has_event = false;
	for (;;) {
		n = l->block ? event_decode(&l->decoder, &l->ev) : 0;
		CHECK(n >= 0);
		if (n > 0 && l->ev.kind == EVENT_STACK) {
			check_definition(l, thread);
		} else if (n > 0) {
			l->has_event = true;
			return;
		} else {
			l->block = next_block(thread, l->last_sequence);
			if (!l->block)
				return;
			l->last_sequence = l->block->sequence;
			CHECK(block_decode((const uint8_t *)l->block, &h));
			event_decoder_init(&l->decoder, &h, l->block->data, h.used_bytes);
		}
	}
}

static uint32_t find_event(const struct event *ev)
{
	uint32_t lo = 0, hi = cull_world->n_events;

	while (lo + 1 < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (cull_world->event[mid].ticks <= ev->ticks)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* An event that was written is one of a thread, unchanged, and not a second time. */
static void check_kept(const struct lane_reader *l, unsigned thread, uint8_t *is_kept,
		       struct cull_world_event *ret)
{
	uint32_t i = find_event(&l->ev);
	const struct cull_world_event *ev = &cull_world->event[i];

	CHECK_EQ(l->ev.ticks, ev->ticks);
	CHECK_EQ(l->ev.kind, ev->kind);
	CHECK_EQ(thread, ev->thread);
	CHECK_EQ(is_kept[i], 0);
	if (!(ev->kind & EVENT_RARE)) {
		CHECK_EQ(l->ev.addr, ev->addr);
		CHECK_EQ(l->ev.size_bytes, ev->size_bytes);
		CHECK_EQ(l->ev.stack, ev->stack);
	} else {
		CHECK_EQ(l->ev.field[0], ev->size_bytes);
	}
	is_kept[i] = 1;
	*ret = *ev;
}

static void read_written(struct reader *r, uint8_t *is_kept)
{
	static struct lane_reader lane[CULL_WORLD_THREADS + 1];
	struct cull_world_event ev;

	memset(lane, 0, sizeof(lane));
	for (unsigned i = 1; i <= CULL_WORLD_THREADS; i++)
		read_on(&lane[i], i);
	for (;;) {
		unsigned next = 0;

		for (unsigned i = 1; i <= CULL_WORLD_THREADS; i++) {
			if (lane[i].has_event && (!next || lane[i].ev.ticks < lane[next].ev.ticks))
				next = i;
		}
		if (!next)
			return;
		if (event_is_culled(lane[next].ev.kind)) {
			read_sums(r, &lane[next].ev, next);
		} else {
			check_kept(&lane[next], next, is_kept, &ev);
			read_event(r, &ev, 0);
		}
		read_on(&lane[next], next);
	}
}

/* ---- the comparison ---- */

static struct reader truth, written;
static uint32_t chain[CULL_WORLD_EVENTS]; /* of each event */
static uint8_t is_kept[CULL_WORLD_EVENTS], must_stay[CULL_WORLD_EVENTS];

static void read_truth(void)
{
	static uint64_t end[CULL_WORLD_EVENTS]; /* of a chain: time of its free */

	memset(&truth, 0, sizeof(truth));
	memset(end, 0, cull_world->n_events * sizeof(end[0]));
	for (uint32_t i = 0; i < cull_world->n_events; i++) {
		const struct cull_world_event *ev = &cull_world->event[i];

		chain[i] = read_event(&truth, ev, i);
		if (ev->kind == EVENT_FREE)
			end[chain[i]] = ev->ticks;
	}
	for (uint32_t i = 0; i < cull_world->n_events; i++)
		must_stay[i] = cull_world->event[i].kind & EVENT_RARE || !end[chain[i]] ||
			       end[chain[i]] - cull_world->event[chain[i]].ticks >=
				       cull_world->cull->threshold_ns;
}

void cull_world_finish(void)
{
	for (unsigned i = 1; i <= CULL_WORLD_THREADS; i++)
		cull_world_end_block(i);
	cull_world->now += CULL_WORLD_TICK;
	cull_flush(cull_world->cull, true);
	CHECK_EQ(cull_world->n_lost, 0);
	CHECK(cull_world->n_written <= CULL_WORLD_WRITTEN);
	read_truth();
	memset(&written, 0, sizeof(written));
	memset(is_kept, 0, sizeof(is_kept));
	read_written(&written, is_kept);
	for (uint32_t i = 0; i < cull_world->n_events; i++) {
		CHECK(is_kept[i] || !must_stay[i]);
		CHECK_EQ(is_kept[i], is_kept[chain[i]]); /* chains are left out whole */
	}
	CHECK_EQ(written.figures.n_duplicate, 0);
	CHECK_EQ(written.figures.n_unknown, truth.figures.n_unknown);
	CHECK_EQ(written.figures.allocations, truth.figures.allocations);
	CHECK_EQ(written.figures.reallocations, truth.figures.reallocations);
	CHECK_EQ(written.figures.frees, truth.figures.frees);
	CHECK_EQ(written.figures.n_live, truth.figures.n_live);
	for (unsigned t = 1; t <= CULL_WORLD_THREADS; t++) {
		for (unsigned s = 1; s <= CULL_WORLD_STACKS; s++) {
			const struct site *a = &written.figures.site[t][s];
			const struct site *b = &truth.figures.site[t][s];

			CHECK_EQ(a->n, b->n);
			CHECK_EQ(a->bytes, b->bytes);
			CHECK_EQ(a->n_temporary, b->n_temporary);
			CHECK_EQ(a->temporary_bytes, b->temporary_bytes);
		}
	}
	CHECK_MEM_EQ(&written.figures, &truth.figures, sizeof(truth.figures));
}

uint64_t cull_world_n_culled(void)
{
	return written.n_culled;
}
