/* serve/data_calls.c - rare calls of the program: /mmaps (2021, here with mremap and brk, too) and
 * /mallopts. Recorded when MEMORY_PROFILER_GATHER_MMAP_CALLS=1, mallopt always.
 */
#include "serve/data_json.h"
#include "serve/handlers.h"

#include <inttypes.h>
#include <sys/mman.h>

static void put_pointer(struct json *j, const char *name, uint64_t value)
{
	char text_name[64], text[24];

	snprintf(text_name, sizeof(text_name), "%s_s", name);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_u64(j, name, value);
	json_text(j, text_name, text);
}

static int put_call_end(struct request *rq, const struct store_call *c, struct err *err)
{
	json_u64(&rq->json, "thread", store_tid(rq->store, c->thread));
	json_u64(&rq->json, "backtrace_id", c->stack);
	return data_json_backtrace(rq, "backtrace", c->stack, err);
}

static void put_mmap(struct json *j, const struct store_call *c)
{
	uint64_t prot = c->field[2], flags = c->field[3];

	put_pointer(j, "pointer", c->field[0]);
	json_u64(j, "length", c->field[1]);
	/* What the program asked for is not recorded, only what it got. */
	put_pointer(j, "requested_address", flags & MAP_FIXED ? c->field[0] : 0);
	json_bool(j, "is_readable", prot & PROT_READ);
	json_bool(j, "is_writable", prot & PROT_WRITE);
	json_bool(j, "is_executable", prot & PROT_EXEC);
	json_bool(j, "is_semaphore", prot & 8u); /* PROT_SEM, which no libc defines */
	json_bool(j, "grows_down", (flags & MAP_GROWSDOWN) || (prot & PROT_GROWSDOWN));
	json_bool(j, "grows_up", prot & PROT_GROWSUP);
	json_bool(j, "is_shared", (flags & MAP_TYPE) != MAP_PRIVATE);
	json_bool(j, "is_private", (flags & MAP_TYPE) == MAP_PRIVATE);
	json_bool(j, "is_fixed", flags & MAP_FIXED);
	json_bool(j, "is_anonymous", flags & MAP_ANONYMOUS);
	json_bool(j, "is_uninitialized", flags & 0x4000000u); /* MAP_UNINITIALIZED */
	json_u64(j, "offset", c->field[5]);
	json_i64(j, "file_descriptor", (int64_t)c->field[4]);
}

static void put_munmap(struct json *j, const struct store_call *c)
{
	put_pointer(j, "pointer", c->field[0]);
	json_u64(j, "length", c->field[1]);
}

static void put_mremap(struct json *j, const struct store_call *c)
{
	json_u64(j, "old_pointer", c->field[0]);
	json_u64(j, "old_length", c->field[1]);
	put_pointer(j, "pointer", c->field[2]);
	json_u64(j, "length", c->field[3]);
	json_u64(j, "flags", c->field[4]);
}

static void put_brk(struct json *j, const struct store_call *c)
{
	json_u64(j, "old_end", c->field[0]);
	put_pointer(j, "pointer", c->field[1]);
	json_i64(j, "length", (int64_t)(c->field[1] - c->field[0]));
}

struct map_call {
	uint32_t kind;
	const char *name;
	void (*put)(struct json *j, const struct store_call *c);
	unsigned length_field; /* UINT32_MAX: none */
};

static const struct map_call *find_map_call(uint32_t kind)
{
	static const struct map_call known[] = {
		{STORE_CALL_MMAP, "mmap", put_mmap, 1},
		{STORE_CALL_MUNMAP, "munmap", put_munmap, 1},
		{STORE_CALL_MREMAP, "mremap", put_mremap, 3},
		{STORE_CALL_BRK, "brk", put_brk, UINT32_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].kind == kind)
			return &known[i];
	}
	return NULL;
}

int data_mmaps(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct store_call *c = store_table(rq->store, STORE_CALLS, &n);
	const struct filter_range *size = &rq->filter.size;
	int r = request_filter(rq, err);

	if (r < 0)
		return r;
	json_object(j, NULL);
	json_array(j, "operations");
	for (size_t i = 0; r == 0 && i < n && !request_is_over(rq); i++) {
		const struct map_call *m = find_map_call(c[i].kind);
		uint64_t length;

		if (!m)
			continue;
		length = m->length_field < ARRAY_LEN(c->field) ? c[i].field[m->length_field] : 0;
		if ((size->has_min && length < size->min) || (size->has_max && length > size->max))
			continue;
		json_object(j, NULL);
		json_object(j, m->name);
		data_json_timeval(j, "timestamp", request_unix_ns(rq, c[i].at_ns));
		m->put(j, &c[i]);
		r = put_call_end(rq, &c[i], err);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	return r;
}

const char *data_mallopt_name(int64_t parameter)
{
	switch (parameter) { /* malloc.h; the 2023 version writes M_ARENA_TEST as M_ARENA_TEXT */
	case 1:
		return "M_MXFAST";
	case -1:
		return "M_TRIM_THRESHOLD";
	case -2:
		return "M_TOP_PAD";
	case -3:
		return "M_MMAP_THRESHOLD";
	case -4:
		return "M_MMAP_MAX";
	case -5:
		return "M_CHECK_ACTION";
	case -6:
		return "M_PERTURB";
	case -7:
		return "M_ARENA_TEST";
	case -8:
		return "M_ARENA_MAX";
	default:
		return NULL;
	}
}

int data_mallopts(struct request *rq, struct err *err)
{
	struct json *j = &rq->json;
	size_t n;
	const struct store_call *c = store_table(rq->store, STORE_CALLS, &n);
	int r = 0;

	json_array(j, NULL);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *name = data_mallopt_name((int64_t)c[i].field[0]);

		if (c[i].kind != STORE_CALL_MALLOPT)
			continue;
		json_object(j, NULL);
		data_json_timeval(j, "timestamp", request_unix_ns(rq, c[i].at_ns));
		json_i64(j, "raw_param", (int64_t)c[i].field[0]);
		if (name)
			json_text(j, "param", name);
		json_i64(j, "value", (int64_t)c[i].field[1]);
		json_i64(j, "result", (int64_t)c[i].field[2]);
		r = put_call_end(rq, &c[i], err);
		json_end_object(j);
	}
	json_end_array(j);
	return r;
}
