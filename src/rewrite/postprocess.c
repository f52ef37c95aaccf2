/* rewrite/postprocess.c - see postprocess.h. */
#include "rewrite/postprocess.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest/stacks.h"
#include "open/symbol_table.h"
#include "recording/chunk_unpack.h"
#include "recording/dropped_chunk.h"
#include "recording/embedded.h"
#include "recording/merge.h"
#include "rewrite/recording_copy.h"
#include "util/vec.h"

/* A location in the code. */
struct code_location {
	uint64_t offset; /* as in struct symbols_location */
	uint32_t module; /* index in metadata.module, or MODULE_MAP_NONE */
};

struct post {
	struct recording *rec;
	const struct postprocess_options *options;
	struct recording_writer *w;
	struct anonymize *anonymize;
	struct module_map *modules;
	struct symbol_table *known; /* what the recording carries already */
	struct embedded *embedded;
	struct code_location *location;
	size_t n_locations, cap_locations;
	struct symbols_writer symbols;
	struct symbol_image *image; /* of the current module; NULL: not needed so far */
	struct symbol_frame *frame; /* of the current location */
	size_t n_frames, cap_frames;
	int failed; /* result of a callback */
	struct err *err;
	struct postprocess_result result;
};

/* ---- which locations ---- */

static int add_location(struct post *p, uint64_t addr, uint32_t module, struct err *err)
{
	uint64_t base = module == MODULE_MAP_NONE ? 0 : p->rec->metadata.module[module].base;
	int r = vec_reserve(&p->location, &p->cap_locations, p->n_locations + 1,
			    sizeof(*p->location), err);

	if (r == 0)
		p->location[p->n_locations++] = (struct code_location){addr - base, module};
	return r;
}

static int compare_locations(const void *a, const void *b)
{
	const struct code_location *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void sort_locations(struct post *p)
{
	size_t n = 0;

	if (p->n_locations)
		qsort(p->location, p->n_locations, sizeof(*p->location), compare_locations);
	for (size_t i = 0; i < p->n_locations; i++) {
		if (n == 0 || compare_locations(&p->location[n - 1], &p->location[i]) != 0)
			p->location[n++] = p->location[i];
	}
	p->n_locations = n;
}

static int add_stacks(struct post *p, const struct stacks *stacks, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < stacks_count(stacks); i++) {
		const struct stack_node *n = stacks_get(stacks, (uint32_t)i);

		if (n->kind == STACK_NODE_FRAME)
			r = add_location(p, n->addr, n->module, err);
	}
	return r;
}

/* Runs through all events and collects the locations of all stacks. */
static int collect_from_events(struct post *p, struct err *err)
{
	struct merge *merge = NULL;
	struct stacks *stacks = NULL;
	struct merge_event m;
	int n = merge_create(p->rec, &merge, err);

	if (n == 0)
		n = stacks_create(&p->rec->metadata, p->rec->n_lanes, &stacks, err);
	while (n == 0 && (n = merge_next(merge, &m, err)) > 0) {
		unsigned kind = m.event->kind;

		n = 0;
		if (kind == EVENT_STACK || kind == EVENT_STACK_END || kind == EVENT_STACK_GUESS)
			n = stacks_define(stacks, m.lane, m.event, m.generation, err);
	}
	if (n == 0)
		n = add_stacks(p, stacks, err);
	merge_destroy(merge);
	stacks_destroy(stacks);
	return n;
}

static void on_dropped_node(void *user, const struct dropped_node *n)
{
	struct post *p = user;

	if (n->kind == DROPPED_NODE_FRAME && p->failed == 0)
		p->failed = add_location(
			p, n->addr, module_map_find(p->modules, n->addr, n->generation), p->err);
}

/* Collects the locations in DROPPED chunks: the stacks of allocations that strip left out. */
static int collect_from_dropped(void *user, const struct chunk_header *h, const uint8_t *payload,
				struct err *err)
{
	struct post *p = user;
	const struct dropped_callbacks callbacks = {.user = p, .on_node = on_dropped_node};
	struct chunk_unpacked u = {0};
	int r;

	if (h->type != CHUNK_DROPPED)
		return 0;
	p->err = err;
	r = chunk_unpack(h, payload, 0, &u, err);
	if (r == 0)
		r = dropped_chunk_decode(u.data, u.len, &callbacks, err);
	free(u.buf);
	if (r == -ERR_FORMAT)
		r = 0; /* opening has reported the damage */
	return r < 0 ? r : p->failed;
}

/* ---- names ---- */

static int put_symbols(struct post *p, struct err *err)
{
	const struct recording_chunk c = {
		.type = CHUNK_SYMBOLS, .data = p->symbols.data, .data_bytes = p->symbols.len};
	int r = p->symbols.len ? recording_writer_put(p->w, &c, err) : 0;

	symbols_writer_clear(&p->symbols);
	return r;
}

/* Finds the symbols of a module. */
static int open_image(struct post *p, const struct metadata_module *m, struct err *err)
{
	const struct symbol_options options = {
		.debug_path = p->options->debug_path,
		.n_debug_paths = p->options->n_debug_paths,
		.use_local_files = !p->options->use_only_recording,
		.use_debuginfod = p->options->use_debuginfod,
	};
	struct symbol_module module = {
		.path = m->path.bytes ? m->path.bytes : "",
		.build_id = (const uint8_t *)m->build_id.bytes,
		.build_id_bytes = m->build_id.len,
		.embedded_fd = -1,
	};
	const struct metadata_file *file = embedded_find_module(
		p->embedded, m->file_id, module.path, module.build_id, module.build_id_bytes);
	struct err ignored = {0}; /* a damaged file counts as missing */
	int r;

	if (file && embedded_extract(p->embedded, file, p->options->scratch_folder,
				     &module.embedded_fd, &ignored) < 0)
		module.embedded_fd = -1;
	r = symbol_image_open(&module, &options, &p->image, err);
	if (module.embedded_fd >= 0)
		close(module.embedded_fd);
	return r;
}

static void on_frame(void *user, const struct symbol_frame *f)
{
	struct post *p = user;

	if (p->failed == 0)
		p->failed = vec_reserve(&p->frame, &p->cap_frames, p->n_frames + 1,
					sizeof(*p->frame), p->err);
	if (p->failed == 0)
		p->frame[p->n_frames++] = *f;
}

/* Fills p->frame with the names that the recording carries, or else with names that are found. */
static int find_frames(struct post *p, const struct code_location *location, struct err *err)
{
	const struct metadata_module *m = location->module == MODULE_MAP_NONE
						  ? NULL
						  : &p->rec->metadata.module[location->module];
	const struct symbol_frame *known;
	size_t n_known;
	int r = 0;

	p->n_frames = 0;
	p->err = err;
	if (symbol_table_find(p->known, m ? m->id : SYMBOLS_NO_MODULE, location->offset, &known,
			      &n_known)) {
		for (size_t i = 0; i < n_known; i++)
			on_frame(p, &known[i]);
		return p->failed;
	}
	if (!m)
		return 0;
	if (!p->image)
		r = open_image(p, m, err);
	if (r == 0) /* the call lies before its return address */
		r = symbol_image_resolve(p->image, location->offset - 1, on_frame, p, err);
	return r < 0 ? r : p->failed;
}

static int name_location(struct post *p, const struct code_location *location, struct err *err)
{
	struct symbols_location out = {.offset = location->offset};
	int r = find_frames(p, location, err);

	for (size_t i = 0; r == 0 && i < p->n_frames; i++)
		r = anonymize_frame(p->anonymize, &p->frame[i], err);
	if (r < 0 || p->n_frames == 0)
		return r; /* nothing is written: the name may be known on another machine */
	out.module_id = location->module == MODULE_MAP_NONE
				? SYMBOLS_NO_MODULE
				: p->rec->metadata.module[location->module].id;
	out.frame = p->frame;
	out.n_frames = p->n_frames;
	p->result.n_named++;
	r = symbols_writer_add(&p->symbols, &out, err);
	if (r == 0 && p->symbols.len >= SYMBOLS_CHUNK_BYTES)
		r = put_symbols(p, err);
	return r;
}

static int write_symbols(struct post *p, struct err *err)
{
	struct progress progress;
	int r = 0;

	progress_start(&progress, "resolving names", p->n_locations, PROGRESS_ITEMS);
	for (size_t i = 0; r == 0 && i < p->n_locations; i++) {
		if (i > 0 && p->location[i].module != p->location[i - 1].module) {
			symbol_image_close(p->image);
			p->image = NULL;
		}
		r = name_location(p, &p->location[i], err);
		progress_set(&progress, i + 1);
	}
	progress_end(&progress);
	return r < 0 ? r : put_symbols(p, err);
}

/* ---- the whole run ---- */

static int copy_chunk(void *user, const struct chunk_header *h, const uint8_t *payload,
		      struct err *err)
{
	struct post *p = user;

	return anonymize_chunk(p->anonymize, p->w, h, payload, err);
}

static int collect(struct post *p, const char *in_path, struct err *err)
{
	int n = module_map_create(&p->rec->metadata, &p->modules, err);

	if (n == 0)
		n = symbol_table_load(p->rec, &p->known, err);
	if (n == 0)
		n = embedded_open(in_path, &p->embedded, err);
	if (n == 0)
		n = collect_from_events(p, err);
	if (n == 0 && p->rec->metadata.dropped.n_runs > 0)
		n = chunk_walk(p->rec, collect_from_dropped, p, err);
	if (n == 0)
		sort_locations(p);
	return n;
}

static const char *purpose_of(enum anonymize_level level)
{
	static const char *const purpose[] = {"postprocess", "postprocess partial",
					      "postprocess full"};

	return purpose[level];
}

static int write_all(struct post *p, const char *out_path, struct err *err)
{
	struct recording_copy_result copied = {0};
	int n = anonymize_create(p->rec, p->options->level, &p->anonymize, err);

	if (n == 0)
		n = recording_writer_create(out_path, p->rec, purpose_of(p->options->level), true,
					    &p->w, err);
	if (n == 0)
		n = chunk_walk(p->rec, copy_chunk, p, err);
	if (n == 0)
		n = write_symbols(p, err);
	if (n == 0)
		n = recording_copy_events(p->w, p->rec, &copied, err);
	if (n < 0)
		return n;
	n = recording_writer_commit(p->w, p->rec->n_missing_blocks + copied.n_unreadable_blocks,
				    &p->result.out_bytes, err);
	p->w = NULL;
	return n;
}

int postprocess_run(struct recording *r, const char *in_path,
		    const struct postprocess_options *options, const char *out_path,
		    struct postprocess_result *ret, struct err *err)
{
	struct post p = {.rec = r, .options = options};
	struct damage damage;
	int n = collect(&p, in_path, err);

	damage = r->damage; /* the second pass would report it again */
	p.result.n_locations = p.n_locations;
	if (n == 0)
		n = write_all(&p, out_path, err);
	r->damage = damage;
	if (n == 0)
		*ret = p.result;
	recording_writer_discard(p.w);
	anonymize_destroy(p.anonymize);
	symbol_image_close(p.image);
	symbol_table_destroy(p.known);
	embedded_close(p.embedded);
	module_map_destroy(p.modules);
	symbols_writer_fini(&p.symbols);
	free(p.location);
	free(p.frame);
	return n;
}
