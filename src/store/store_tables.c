/* store/store_tables.c - the tables of a store: sizes of items, checks of references.
 *
 * store_open() checks every number that readers use as an index here, once, so that readers need
 * not. Rows named by chains are not checked: there can be a great many chains.
 */
#include <inttypes.h>

#include "store/store_i.h"

const uint32_t store_item_bytes[STORE_HEADER_TABLES] = {
	[STORE_FACTS] = sizeof(struct store_facts),
	[STORE_STRING_BYTES] = 1,
	[STORE_STRING_ENDS] = sizeof(uint64_t),
	[STORE_MODULES] = sizeof(struct store_module),
	[STORE_THREADS] = sizeof(struct store_thread),
	[STORE_CODES] = sizeof(struct store_code),
	[STORE_NODES] = sizeof(struct store_node),
	[STORE_STACKS] = sizeof(struct store_stack),
	[STORE_CHAINS] = sizeof(struct store_chain),
	[STORE_SAMPLES] = sizeof(struct store_sample),
	[STORE_NOTES] = sizeof(struct store_note),
	[STORE_CALLS] = sizeof(struct store_call),
	[STORE_BUCKETS] = sizeof(struct store_bucket),
	[STORE_REGIONS] = sizeof(struct store_region),
	[STORE_GAPS] = sizeof(struct store_gap),
	[STORE_ALLOCATORS] = sizeof(struct store_allocator),
	[STORE_ALLOCATOR_SAMPLES] = sizeof(struct store_allocator_sample),
	[STORE_UNDO] = sizeof(struct store_undo),
	[STORE_STATE] = 1,
};

static int bad(const char *table, uint64_t item, const char *what, struct err *err)
{
	return err_set(err, ERR_FORMAT, "damaged store: %s %" PRIu64 ": %s", table, item, what);
}

/* String i begins after the zero byte of string i - 1 and ends with a zero byte at end[i]. */
static int check_strings(const struct store_tables *t, struct err *err)
{
	const uint64_t *end = t->item[STORE_STRING_ENDS];
	const char *bytes = t->item[STORE_STRING_BYTES];
	size_t n = t->n[STORE_STRING_ENDS], n_bytes = t->n[STORE_STRING_BYTES];

	if (n == 0 || n > UINT32_MAX || n_bytes == 0 || end[0] != 0)
		return bad("string", 0, "is not the empty one", err);
	for (size_t i = 0; i < n; i++) {
		if (end[i] >= n_bytes || bytes[end[i]] != 0 || (i > 0 && end[i] <= end[i - 1]))
			return bad("string", i, "has a wrong end", err);
	}
	return 0;
}

static int check_facts(const struct store_tables *t, uint64_t n_rows, struct err *err)
{
	const struct store_facts *f = t->item[STORE_FACTS];
	uint32_t greatest = 0;

	if (t->n[STORE_FACTS] != 1)
		return bad("facts", 0, "are not there", err);
	if (n_rows != 0 && f->n_rows != n_rows) /* 0: made without rows */
		return bad("facts", 0, "have another number of rows than the file", err);
	{
		const uint32_t string[] = {f->ended,  f->executable, f->cmdline, f->environment,
					   f->cwd,    f->host,       f->kernel,  f->arch,
					   f->cgroup, f->limits,     f->recorder};

		for (size_t i = 0; i < ARRAY_LEN(string); i++)
			greatest = string[i] > greatest ? string[i] : greatest;
	}
	if (greatest >= t->n[STORE_STRING_ENDS])
		return bad("facts", 0, "name a string that is not there", err);
	return 0;
}

static int check_code(const struct store_tables *t, struct err *err)
{
	const struct store_module *module = t->item[STORE_MODULES];
	const struct store_code *code = t->item[STORE_CODES];
	size_t n_strings = t->n[STORE_STRING_ENDS];

	if (t->n[STORE_MODULES] >= STORE_NO_MODULE || t->n[STORE_CODES] > UINT32_MAX)
		return bad("modules", t->n[STORE_MODULES], "are too many", err);
	for (size_t i = 0; i < t->n[STORE_MODULES]; i++) {
		if (module[i].path >= n_strings || module[i].build_id >= n_strings)
			return bad("module", i, "names a string that is not there", err);
	}
	for (size_t i = 0; i < t->n[STORE_CODES]; i++) {
		if (code[i].module >= t->n[STORE_MODULES] && code[i].module != STORE_NO_MODULE)
			return bad("code", i, "names a module that is not there", err);
	}
	return 0;
}

/* A parent has a smaller number than its child, so every walk to the root ends. */
static int check_nodes(const struct store_tables *t, struct err *err)
{
	const struct store_node *node = t->item[STORE_NODES];
	size_t n = t->n[STORE_NODES];

	if (n == 0 || n > UINT32_MAX || node[0].parent != 0 || node[0].code != 0 ||
	    node[0].n_frames != 0 || node[0].kind != STORE_NODE_ROOT)
		return bad("node", 0, "is not the root", err);
	for (size_t i = 1; i < n; i++) {
		bool is_frame = node[i].kind == STORE_NODE_FRAME;

		if (node[i].parent >= i)
			return bad("node", i, "has no right parent", err);
		if (node[i].kind == STORE_NODE_ROOT || node[i].kind > STORE_NODE_GUESS ||
		    is_frame != (node[i].code != 0))
			return bad("node", i, "is of no known kind", err);
		if (node[i].code != 0 && node[i].code >= t->n[STORE_CODES])
			return bad("node", i, "names code that is not there", err);
		if (node[i].n_frames != node[node[i].parent].n_frames + is_frame)
			return bad("node", i, "has a wrong number of frames", err);
	}
	return 0;
}

static int check_stacks(const struct store_tables *t, struct err *err)
{
	const struct store_stack *stack = t->item[STORE_STACKS];
	size_t n = t->n[STORE_STACKS];

	if (n == 0 || n > UINT32_MAX || stack[0].node != 0)
		return bad("stack", 0, "is not the empty one", err);
	for (size_t i = 0; i < n; i++) {
		if (stack[i].node >= t->n[STORE_NODES])
			return bad("stack", i, "names a node that is not there", err);
	}
	return 0;
}

static int check_rest(const struct store_tables *t, struct err *err)
{
	const struct store_thread *thread = t->item[STORE_THREADS];
	const struct store_note *note = t->item[STORE_NOTES];
	const struct store_call *call = t->item[STORE_CALLS];
	const struct store_region *region = t->item[STORE_REGIONS];
	const struct store_allocator *allocator = t->item[STORE_ALLOCATORS];
	size_t n_strings = t->n[STORE_STRING_ENDS];

	if (t->n[STORE_THREADS] > UINT32_MAX || t->n[STORE_BUCKETS] > STORE_MAX_BUCKETS)
		return bad("threads", t->n[STORE_THREADS], "or buckets are too many", err);
	for (size_t i = 0; i < t->n[STORE_THREADS]; i++) {
		if (thread[i].name >= n_strings)
			return bad("thread", i, "names a string that is not there", err);
	}
	for (size_t i = 0; i < t->n[STORE_NOTES]; i++) {
		if (note[i].text >= n_strings)
			return bad("note", i, "names a string that is not there", err);
	}
	for (size_t i = 0; i < t->n[STORE_CALLS]; i++) {
		if (call[i].stack >= t->n[STORE_STACKS] || call[i].thread >= t->n[STORE_THREADS])
			return bad("call", i, "names a stack or thread that is not there", err);
	}
	for (size_t i = 0; i < t->n[STORE_ALLOCATORS]; i++) {
		if (allocator[i].number >= STORE_N_ALLOCATORS)
			return bad("allocator", i, "has an impossible number", err);
		if (allocator[i].name >= n_strings || allocator[i].prefix >= n_strings ||
		    allocator[i].module >= n_strings)
			return bad("allocator", i, "names a string that is not there", err);
	}
	for (size_t i = 0; i < t->n[STORE_REGIONS]; i++) {
		if (region[i].name >= n_strings)
			return bad("region", i, "names a string that is not there", err);
	}
	return 0;
}

int store_tables_check(const struct store_tables *t, uint64_t n_rows, struct err *err)
{
	int r = check_strings(t, err);

	if (r == 0)
		r = check_facts(t, n_rows, err);
	if (r == 0)
		r = check_code(t, err);
	if (r == 0)
		r = check_nodes(t, err);
	if (r == 0)
		r = check_stacks(t, err);
	if (r == 0)
		r = check_rest(t, err);
	return r;
}

void store_bucket_append(struct store_bucket *sum, const struct store_bucket *b)
{
	if (b->max_bytes > sum->max_bytes)
		sum->max_bytes = b->max_bytes;
	if (b->max_count > sum->max_count)
		sum->max_count = b->max_count;
	sum->last_bytes = b->last_bytes;
	sum->last_count = b->last_count;
	sum->n_allocs += b->n_allocs;
	sum->n_releases += b->n_releases;
	sum->alloc_bytes += b->alloc_bytes;
	sum->release_bytes += b->release_bytes;
	sum->leaked_bytes += b->leaked_bytes;
	sum->n_leaked += b->n_leaked;
	sum->n_culled += b->n_culled;
	sum->culled_bytes += b->culled_bytes;
	sum->n_culled_temporary += b->n_culled_temporary;
}
