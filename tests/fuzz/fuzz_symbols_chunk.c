/* Any bytes as the payload of SYMBOLS and DROPPED chunks. What is read is written again and must read
 * the same. */
#include "harness/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "open/symbols_chunk.h"
#include "recording/dropped_chunk.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

struct again {
	struct symbols_writer w;
	uint64_t hash;
};

static void mix(uint64_t *h, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		*h = (*h ^ p[i]) * 0x100000001b3ull;
}

static void mix_text(uint64_t *h, const char *text)
{
	mix(h, text ? text : "\1", text ? strlen(text) + 1 : 2);
}

static void mix_place(uint64_t *h, const struct symbols_location *p)
{
	mix(h, &p->module_id, 8);
	mix(h, &p->offset, 8);
	for (size_t i = 0; i < p->n_frames; i++) {
		mix_text(h, p->frame[i].function);
		mix_text(h, p->frame[i].raw_function);
		mix_text(h, p->frame[i].source);
		mix(h, &p->frame[i].line, 4);
		mix(h, &p->frame[i].column, 4);
		mix(h, &p->frame[i].is_inline, 1);
	}
}

static int on_place(void *user, const struct symbols_location *p, struct err *err)
{
	struct again *a = user;

	mix_place(&a->hash, p);
	return symbols_writer_add(&a->w, p, err);
}

static int on_place_again(void *user, const struct symbols_location *p, struct err *err)
{
	(void)err;
	mix_place(user, p);
	return 0;
}

static void on_node(void *user, const struct dropped_node *n)
{
	struct dropped_node copy = *n;
	struct err err = {0};

	check(n->parent < n->number);
	check(dropped_writer_node(user, &copy, &err) == 0 && copy.number == n->number);
}

static void on_group(void *user, const struct dropped_group *g)
{
	struct err err = {0};

	check(dropped_writer_group(user, g, &err) == 0);
}

static void on_summary(void *user, const struct dropped_summary *s)
{
	struct err err = {0};

	check(dropped_writer_summary(user, s, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct again a = {.hash = 1};
	struct dropped_writer d = {0};
	const struct dropped_callbacks first = {&d, on_summary, on_node, on_group};
	const struct dropped_callbacks second = {NULL, NULL, NULL, NULL};
	struct err err = {0};
	uint64_t hash = 1;

	symbols_chunk_decode(data, size_bytes, on_place, &a, &err);
	check(symbols_chunk_decode(a.w.data, a.w.len, on_place_again, &hash, &err) == 0);
	check(hash == a.hash);
	symbols_writer_fini(&a.w);
	dropped_chunk_decode(data, size_bytes, &first, &err);
	check(dropped_chunk_decode(d.data, d.len, &second, &err) == 0);
	dropped_writer_fini(&d);
	return 0;
}
