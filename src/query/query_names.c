/* query/query_names.c - see query_names.h. */
#include "query/query_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "query/frame_class.h"
#include "util/vec.h"

static uint64_t text_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;
	size_t len = strlen(text), i = 0;
	uint64_t word;

	for (; i + 8 <= len; i += 8) {
		memcpy(&word, text + i, 8);
		h = hash_pair64(h, word);
	}
	word = 0;
	memcpy(&word, text + i, len - i);
	return hash_pair64(h, word ^ (uint64_t)len << 56);
}

/* ---- texts ---- */

static uint32_t find_text(const struct query_names *n, const char *text, uint64_t hash)
{
	const uint64_t *slot = map_find(&n->text_of_hash, hash);
	uint32_t number = slot ? (uint32_t)*slot : 0;

	while (number && strcmp(n->text[number], text) != 0)
		number = n->text_next[number];
	return number;
}

uint32_t query_names_find(const struct query_names *n, const char *text)
{
	return find_text(n, text, text_hash(text));
}

static int add_text(struct query_names *n, const char *text, uint32_t *ret, struct err *err)
{
	uint64_t hash = text_hash(text), *slot;
	uint32_t number = find_text(n, text, hash);
	int r;

	if (!number) {
		r = vec_reserve(&n->text, &n->cap_texts, n->n_texts + 1, sizeof(*n->text), err);
		if (r >= 0)
			r = vec_reserve(&n->text_next, &n->cap_text_next, n->n_texts + 1,
					sizeof(*n->text_next), err);
		if (r >= 0)
			r = map_add(&n->text_of_hash, hash, &slot, NULL, err);
		if (r < 0)
			return r;
		number = (uint32_t)n->n_texts++;
		n->text[number] = text;
		n->text_next[number] = (uint32_t)*slot;
		*slot = number;
	}
	*ret = number;
	return 0;
}

static int text_number(struct query_names *n, const char *text, uint32_t *ret, struct err *err)
{
	uint64_t *slot;
	bool is_new;
	uint32_t number;
	int r;

	*ret = 0;
	if (!text || !*text)
		return 0;
	r = map_add(&n->text_of_pointer, (uintptr_t)text, &slot, &is_new, err);
	if (r < 0)
		return r;
	if (is_new) {
		r = add_text(n, text, &number, err);
		if (r < 0)
			return r;
		*slot = number;
	}
	*ret = (uint32_t)*slot;
	return 0;
}

/* ---- frames ---- */

/* "libfoo.so.1+0x1234", "0x7f0012345678" */
static int make_name(const struct frame *f, char **ret, struct err *err)
{
	int n = f->module
			? asprintf(ret, "%s+0x%" PRIx64, text_basename(f->module), f->module_offset)
			: asprintf(ret, "0x%" PRIx64, f->addr);

	return n < 0 ? err_set_memory(err, 64) : 0;
}

static int name_identity(struct query_names *n, struct query_name_identity *identity,
			 struct err *err)
{
	char *name;
	int r;

	identity->name = identity->function;
	if (identity->name)
		return 0;
	r = vec_reserve(&n->made, &n->cap_made, n->n_made + 1, sizeof(*n->made), err);
	if (r >= 0)
		r = make_name(identity->frame, &name, err);
	if (r < 0)
		return r;
	n->made[n->n_made++] = name;
	return add_text(n, name, &identity->name, err);
}

static int identity_number(struct query_names *n, const struct query_name_identity *want,
			   uint32_t *ret, struct err *err)
{
	uint64_t hash = hash_pair64(hash_pair64(want->function, want->source), want->module), *slot;
	uint32_t number;
	int r = map_add(&n->identity_of, hash, &slot, NULL, err);

	if (r < 0)
		return r;
	for (number = (uint32_t)*slot; number; number = n->identity_next[number]) {
		const struct query_name_identity *have = &n->identity[number];

		/* Code without a name is never the same as other code without a name. */
		if (have->function == want->function && have->source == want->source &&
		    have->module == want->module &&
		    (want->function || have->frame->addr == want->frame->addr))
			break;
	}
	if (!number) {
		r = vec_reserve(&n->identity, &n->cap_identities, n->n_identities + 1,
				sizeof(*n->identity), err);
		if (r >= 0)
			r = vec_reserve(&n->identity_next, &n->cap_identity_next,
					n->n_identities + 1, sizeof(*n->identity_next), err);
		if (r < 0)
			return r;
		number = (uint32_t)n->n_identities;
		n->identity[number] = *want;
		r = name_identity(n, &n->identity[number], err);
		if (r < 0)
			return r;
		n->n_identities++;
		n->identity_next[number] = (uint32_t)*slot;
		*slot = number;
	}
	*ret = number;
	return 0;
}

static int line_number(struct query_names *n, uint32_t source, uint32_t line, uint32_t *ret,
		       struct err *err)
{
	uint64_t *slot;
	bool is_new;
	int r;

	*ret = 0;
	if (!source || !line)
		return 0;
	r = map_add(&n->line_of, (uint64_t)source << 32 | line, &slot, &is_new, err);
	if (r < 0)
		return r;
	if (is_new) {
		r = vec_reserve(&n->line, &n->cap_lines, n->n_lines + 1, sizeof(*n->line), err);
		if (r < 0)
			return r;
		n->line[n->n_lines] = (struct query_name_line){source, line};
		*slot = n->n_lines++;
	}
	*ret = (uint32_t)*slot;
	return 0;
}

static int add_frame(struct query_names *n, const struct frame *frame, struct err *err)
{
	struct query_name_identity identity = {.frame = frame};
	struct query_name_frame f = {.frame = frame};
	int r;

	r = text_number(n, frame->function ? frame->function : frame->raw_function,
			&identity.function, err);
	if (r >= 0)
		r = text_number(n, frame->source, &identity.source, err);
	if (r >= 0)
		r = text_number(n, frame->module, &identity.module, err);
	if (r >= 0)
		r = identity_number(n, &identity, &f.identity, err);
	if (r >= 0)
		r = line_number(n, identity.source, frame->line, &f.line, err);
	if (r >= 0)
		r = vec_reserve(&n->frame, &n->cap_frames, n->n_frames + 1, sizeof(*n->frame), err);
	if (r < 0)
		return r;
	n->frame[n->n_frames++] = f;
	return 0;
}

static int add_codes(struct query_names *n, struct frames *frames, struct err *err)
{
	for (size_t code = 0; code < n->n_codes; code++) {
		const struct frame *frame = NULL;
		size_t n_frames = 0;

		n->first[code] = (uint32_t)n->n_frames;
		if (code) /* 0 is not used */
			frame = frames_of_code(frames, (uint32_t)code, &n_frames);
		for (size_t i = 0; i < n_frames; i++) {
			int r = add_frame(n, &frame[i], err);

			if (r < 0)
				return r;
		}
	}
	n->first[n->n_codes] = (uint32_t)n->n_frames;
	return 0;
}

/* Number 0 of each list. */
static int add_unknown(struct query_names *n, struct err *err)
{
	int r = vec_reserve(&n->text, &n->cap_texts, 1, sizeof(*n->text), err);

	if (r >= 0)
		r = vec_reserve(&n->text_next, &n->cap_text_next, 1, sizeof(*n->text_next), err);
	if (r >= 0)
		r = vec_reserve(&n->identity, &n->cap_identities, 1, sizeof(*n->identity), err);
	if (r >= 0)
		r = vec_reserve(&n->identity_next, &n->cap_identity_next, 1,
				sizeof(*n->identity_next), err);
	if (r >= 0)
		r = vec_reserve(&n->line, &n->cap_lines, 1, sizeof(*n->line), err);
	if (r < 0)
		return r;
	n->text[0] = NULL;
	n->text_next[0] = 0;
	n->identity[0] = (struct query_name_identity){0};
	n->identity_next[0] = 0;
	n->line[0] = (struct query_name_line){0};
	n->n_texts = n->n_identities = n->n_lines = 1;
	return 0;
}

/* What only the creation needs. */
static void forget_maps(struct query_names *n)
{
	map_fini(&n->text_of_pointer);
	map_fini(&n->identity_of);
	map_fini(&n->line_of);
	free(n->identity_next);
	n->identity_next = NULL;
}

int query_names_create(const struct store *store, struct frames *frames, struct query_names **ret,
		       struct err *err)
{
	struct query_names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return err_set_memory(err, sizeof(*n));
	r = frames_need_all(frames, err);
	if (r < 0)
		goto out;
	store_table(store, STORE_CODES, &n->n_codes);
	n->first = calloc(n->n_codes + 1, sizeof(*n->first));
	if (!n->first) {
		r = err_set_memory(err, n->n_codes * sizeof(*n->first));
		goto out;
	}
	r = add_unknown(n, err);
	if (r >= 0)
		r = add_codes(n, frames, err);
	if (r < 0)
		goto out;
	forget_maps(n);
	*ret = n;
	n = NULL;
out:
	query_names_destroy(n);
	return r;
}

int query_names_classify(struct query_names *n, struct frame_rules *rules, struct err *err)
{
	if (n->is_classified)
		return 0; /* several queries may share the names: nothing is written any more */
	for (size_t i = 1; i < n->n_identities; i++) {
		struct query_name_identity *of = &n->identity[i];

		of->class = (uint8_t)frame_class_by(rules, of->frame);
		of->is_thin = of->class == FRAME_CLASS_OWN && frame_class_is_thin(rules, of->frame);
	}
	if (rules->failure.code)
		return err_set(err, rules->failure.code, "%s", rules->failure.text);
	n->is_classified = true;
	return 0;
}

void query_names_destroy(struct query_names *n)
{
	if (!n)
		return;
	forget_maps(n);
	map_fini(&n->text_of_hash);
	free(n->text);
	free(n->text_next);
	for (size_t i = 0; i < n->n_made; i++)
		free(n->made[i]);
	free(n->made);
	free(n->identity);
	free(n->line);
	free(n->frame);
	free(n->first);
	free(n);
}
