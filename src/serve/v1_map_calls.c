/* serve/v1_map_calls.c - /api/v1: recorded calls about the address space and the allocator (query/calls.h). */
#include "serve/handlers.h"
#include "serve/v1_json.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "query/calls.h"

#define N_CALLS 200u
#define MAX_CALLS 100000u
#define MAX_SKIP 1000000u
#define DETAIL_BYTES 256u

struct call_list {
	struct request *rq;
	struct err *err;
};

/* ---- what else is known of a call ---- */

static void put_flag(char *text, uint64_t flags, uint64_t flag, const char *word)
{
	size_t len = strlen(text);

	if (flags & flag)
		snprintf(text + len, DETAIL_BYTES - len, "%s%s", len ? ", " : "", word);
}

static void describe_mmap(const struct store_call *c, char *text)
{
	uint64_t prot = c->field[2], flags = c->field[3];
	size_t len;

	snprintf(text, DETAIL_BYTES, "%c%c%c %s", prot & PROT_READ ? 'r' : '-',
		 prot & PROT_WRITE ? 'w' : '-', prot & PROT_EXEC ? 'x' : '-',
		 (flags & MAP_TYPE) == MAP_PRIVATE ? "private" : "shared");
	len = strlen(text);
	if (flags & MAP_ANONYMOUS)
		snprintf(text + len, DETAIL_BYTES - len, ", anonymous");
	else
		snprintf(text + len, DETAIL_BYTES - len, ", fd %" PRId64 ", offset %" PRIu64,
			 (int64_t)c->field[4], c->field[5]);
	put_flag(text, flags, MAP_FIXED, "fixed");
	put_flag(text, flags, MAP_STACK, "stack");
	put_flag(text, flags, MAP_GROWSDOWN, "grows down");
	put_flag(text, flags, MAP_NORESERVE, "no reserve");
	put_flag(text, flags, MAP_POPULATE, "populate");
	put_flag(text, flags, MAP_LOCKED, "locked");
	put_flag(text, flags, MAP_HUGETLB, "huge pages");
}

static void describe_mallopt(const struct store_call *c, char *text)
{
	const char *name = data_mallopt_name((int64_t)c->field[0]);
	char number[32];

	snprintf(number, sizeof(number), "parameter %" PRId64, (int64_t)c->field[0]);
	snprintf(text, DETAIL_BYTES, "%s = %" PRId64 ", %s", name ? name : number,
		 (int64_t)c->field[1], c->field[2] ? "accepted" : "refused");
}

static void describe(const struct store_call *c, char text[DETAIL_BYTES])
{
	text[0] = '\0';
	switch (c->kind) {
	case STORE_CALL_MMAP:
		describe_mmap(c, text);
		break;
	case STORE_CALL_MREMAP:
		snprintf(text, DETAIL_BYTES, "from 0x%" PRIx64 ", %" PRIu64 " bytes", c->field[0],
			 c->field[1]);
		put_flag(text, c->field[4], MREMAP_MAYMOVE, "may move");
		put_flag(text, c->field[4], MREMAP_FIXED, "fixed");
		put_flag(text, c->field[4], 4u, "old one stays"); /* MREMAP_DONTUNMAP */
		break;
	case STORE_CALL_BRK:
		snprintf(text, DETAIL_BYTES, "%s, from 0x%" PRIx64,
			 c->field[1] >= c->field[0] ? "grows" : "shrinks", c->field[0]);
		break;
	case STORE_CALL_MALLOPT:
		describe_mallopt(c, text);
		break;
	case STORE_CALL_MALLOC_TRIM:
		snprintf(text, DETAIL_BYTES, "pad %" PRIu64 ", %s", c->field[0],
			 c->field[1] ? "memory was given back" : "nothing was given back");
		break;
	default:
		break;
	}
}

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case STORE_CALL_MMAP:
		return "mmap";
	case STORE_CALL_MUNMAP:
		return "munmap";
	case STORE_CALL_MREMAP:
		return "mremap";
	case STORE_CALL_BRK:
		return "brk";
	case STORE_CALL_MALLOPT:
		return "mallopt";
	default:
		return "malloc_trim";
	}
}

/* ---- answer ---- */

static bool put_call(void *user, const struct store_call *c)
{
	struct call_list *l = user;
	const struct frame *blame = v1_json_blame(l->rq, c->stack, l->err);
	struct json *j = &l->rq->json;
	char detail[DETAIL_BYTES];

	json_object(j, NULL);
	json_u64(j, "at_ns", c->at_ns);
	json_text(j, "kind", kind_name(c->kind));
	if (calls_address(c) == CALLS_UNKNOWN)
		json_null(j, "address");
	else
		json_hex(j, "address", calls_address(c));
	if (calls_bytes(c) == CALLS_UNKNOWN)
		json_null(j, "bytes");
	else
		json_u64(j, "bytes", calls_bytes(c));
	json_u64(j, "thread", c->thread);
	json_u64(j, "stack", c->stack);
	if (blame)
		v1_json_frame_text(l->rq, "blame", blame);
	else
		json_null(j, "blame");
	describe(c, detail);
	json_text(j, "detail", detail);
	json_end_object(j);
	return !request_is_over(l->rq);
}

static int read_page(struct request *rq, struct calls_page *page, struct err *err)
{
	static const unsigned kinds[] = {
		CALLS_ALL,
		CALLS_KIND(STORE_CALL_MMAP),
		CALLS_KIND(STORE_CALL_MUNMAP),
		CALLS_KIND(STORE_CALL_MREMAP),
		CALLS_KIND(STORE_CALL_BRK),
		CALLS_KIND(STORE_CALL_MALLOPT),
		CALLS_KIND(STORE_CALL_MALLOC_TRIM),
	};
	unsigned kind = 0, sort = 0, order = 0;
	int r = request_u64(rq, "skip", 0, MAX_SKIP, &page->skip, err);

	if (r == 0)
		r = request_u64(rq, "count", N_CALLS, MAX_CALLS, &page->count, err);
	if (r == 0)
		r = request_choice(rq, "order", "asc|dsc|desc", 0, &order, err);
	if (r == 0)
		r = request_choice(rq, "sort_by", "time|size", 0, &sort, err);
	if (r == 0)
		r = request_choice(rq, "kind", V1_CALL_KINDS, 0, &kind, err);
	page->kinds = kinds[kind];
	page->is_by_size = sort == 1;
	page->is_descending = order > 0;
	return r;
}

int v1_map_calls(struct request *rq, struct err *err)
{
	struct call_list l = {.rq = rq, .err = err};
	struct calls_page page = {0};
	struct json *j = &rq->json;
	uint64_t n_matching = 0;
	enum calls_gathered gathered;
	int r = read_page(rq, &page, err);

	if (r == 0)
		r = request_query(rq, err);
	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "calls");
	r = calls_list(rq->query, &page, put_call, &l, &n_matching, err);
	json_end_array(j);
	json_u64(j, "total_count", n_matching);
	gathered = calls_gathered(rq->store);
	if (gathered == CALLS_NOT_KNOWN)
		json_null(j, "gathered");
	else
		json_bool(j, "gathered", gathered == CALLS_GATHERED);
	json_end_object(j);
	return r;
}
