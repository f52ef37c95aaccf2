/* export/export_speedscope.c - speedscope.app: a table of frames, and one profile for each cost. */
#include <stdlib.h>

#include "export/export_i.h"
#include "util/json_write.h"

struct speedscope {
	struct json json;
	struct err *err;
	struct export_stacks stacks;
	uint32_t *first_frame; /* by code: number of its first frame in the file */
};

static void put_frame(struct json *j, const struct frame *f)
{
	char buf[FRAME_LABEL_BYTES];

	json_object(j, NULL);
	json_text(j, "name", export_frame_label(f, buf));
	if (f->source)
		json_text(j, "file", f->source);
	else if (f->module)
		json_text(j, "file", f->module);
	if (f->source && f->line)
		json_u64(j, "line", f->line);
	if (f->source && f->line && f->column)
		json_u64(j, "col", f->column);
	json_end_object(j);
}

/* Every code of these stacks, and one frame that stands for an empty stack (number 0). */
static int put_frames(struct speedscope *s)
{
	const struct query_groups *groups = &s->stacks.groups;
	uint32_t n_frames = 1;

	json_object(&s->json, "shared");
	json_array(&s->json, "frames");
	json_object(&s->json, NULL);
	json_text(&s->json, "name", "[no stack]");
	json_end_object(&s->json);
	for (size_t i = 0; i < groups->n; i++) {
		int r = export_stacks_codes(&s->stacks, (uint32_t)groups->group[i].key, s->err);

		if (r < 0)
			return r;
		for (size_t k = 0; k < s->stacks.n_codes; k++) {
			uint32_t code = s->stacks.code[k];
			const struct frame *f;
			size_t n;

			if (s->first_frame[code])
				continue;
			s->first_frame[code] = n_frames;
			f = frames_of_code(s->stacks.frames, code, &n);
			for (size_t m = 0; m < n; m++)
				put_frame(&s->json, &f[m]);
			n_frames += (uint32_t)n;
		}
	}
	json_end_array(&s->json);
	json_end_object(&s->json);
	return 0;
}

/* A stack as numbers of frames, outermost first. */
static int put_sample(struct speedscope *s, const struct query_group *g)
{
	int r = export_stacks_codes(&s->stacks, (uint32_t)g->key, s->err);

	if (r < 0)
		return r;
	json_array(&s->json, NULL);
	for (size_t k = s->stacks.n_codes; k-- > 0;) {
		uint32_t code = s->stacks.code[k];
		size_t n;

		frames_of_code(s->stacks.frames, code, &n);
		while (n-- > 0)
			json_u64(&s->json, NULL, s->first_frame[code] + n);
	}
	if (s->stacks.n_codes == 0)
		json_u64(&s->json, NULL, 0);
	json_end_array(&s->json);
	return export_check(s->json.out, s->err);
}

static int put_profile(struct speedscope *s, enum export_cost cost)
{
	const struct query_groups *groups = &s->stacks.groups;
	struct json *j = &s->json;
	int r = 0;

	json_object(j, NULL);
	json_text(j, "type", "sampled");
	json_text(j, "name", export_cost_label(cost));
	json_text(j, "unit", export_cost_is_bytes(cost) ? "bytes" : "none");
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", export_cost_of(&groups->total, cost));
	json_array(j, "samples");
	for (size_t i = 0; i < groups->n && r == 0; i++) {
		if (export_cost_of(&groups->group[i], cost) > 0)
			r = put_sample(s, &groups->group[i]);
	}
	json_end_array(j);
	json_array(j, "weights");
	for (size_t i = 0; i < groups->n; i++) {
		if (export_cost_of(&groups->group[i], cost) > 0)
			json_u64(j, NULL, export_cost_of(&groups->group[i], cost));
	}
	json_end_array(j);
	json_end_object(j);
	return r;
}

int export_speedscope(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct speedscope s = {.err = err};
	size_t n_codes;
	int r = export_stacks_init(&s.stacks, q, o, err);

	if (r < 0)
		return r;
	store_table(s.stacks.store, STORE_CODES, &n_codes);
	s.first_frame = calloc(n_codes + 1, sizeof(*s.first_frame));
	if (!s.first_frame) {
		r = err_set_memory(err, n_codes * sizeof(*s.first_frame));
		goto out;
	}
	json_init(&s.json, out);
	json_object(&s.json, NULL);
	json_text(&s.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&s.json, "name", export_title(o));
	json_text(&s.json, "exporter", "memory-profiler@" MEMORY_PROFILER_VERSION);
	json_u64(&s.json, "activeProfileIndex", 0);
	r = put_frames(&s);
	json_array(&s.json, "profiles");
	for (unsigned c = 0; c < EXPORT_N_COSTS && r == 0; c++)
		r = put_profile(&s, c);
	json_end_array(&s.json);
	json_end_object(&s.json);
	json_line(&s.json);
out:
	free(s.first_frame);
	export_stacks_fini(&s.stacks);
	return r;
}
