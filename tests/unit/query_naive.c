/* query_naive.c - see query_naive.h. */
#include "query_naive.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "query/frame_class.h"

const struct naive_condition *naive_find(const struct naive *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (strcmp(f->condition[i].name, name) == 0)
			return &f->condition[i];
	}
	return NULL;
}

static bool naive_is(const struct naive_condition *c, const char *text)
{
	return strcmp(c->text, text) == 0;
}

static bool naive_regex(const char *pattern, const char *text)
{
	regex_t x;
	bool found;

	if (!text || !*text || regcomp(&x, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	found = regexec(&x, text, 0, NULL, 0) == 0;
	regfree(&x);
	return found;
}

unsigned naive_frames(const struct world *w, uint32_t stack, const struct world_frame **ret,
		      uint32_t *code)
{
	unsigned n = 0;

	for (uint32_t node = w->stack_node[stack]; node; node = w->node_parent[node]) {
		uint32_t c = w->node_code[node];

		for (unsigned i = 0; c && i < w->n_code_frames[c] && n < 1000; i++, n++) {
			ret[n] = &w->code_frame[c][i];
			if (code)
				code[n] = c;
		}
	}
	return n;
}

const char *naive_name(const struct world *w, const struct world_frame *f, uint32_t code,
		       char buf[NAIVE_NAME_BYTES])
{
	const char *module = w->code_module[code];

	if (f->function)
		return f->function;
	snprintf(buf, NAIVE_NAME_BYTES, "%s%s0x%" PRIx64, module ? basename(module) : "",
		 module ? "+" : "", w->code_offset[code]);
	return buf;
}

/* A copy of the frame that has a name. All copies are kept until the end. */
static const struct world_frame *named_frame(const struct world_frame *f, const char *name)
{
	static struct world_frame *kept[10000];
	static size_t n_kept;

	for (size_t i = 0; i < n_kept; i++) {
		if (strcmp(kept[i]->function, name) == 0 && kept[i]->source == f->source &&
		    kept[i]->module == f->module && kept[i]->line == f->line)
			return kept[i];
	}
	CHECK(n_kept < ARRAY_LEN(kept));
	kept[n_kept] = malloc(sizeof(*f));
	*kept[n_kept] = *f;
	kept[n_kept]->function = strdup(name);
	return kept[n_kept++];
}

unsigned naive_named_frames(const struct world *w, uint32_t stack, const struct world_frame **ret)
{
	uint32_t code[1000];
	char buf[NAIVE_NAME_BYTES];
	unsigned n = naive_frames(w, stack, ret, code);

	for (unsigned i = 0; i < n; i++) {
		if (!ret[i]->function)
			ret[i] = named_frame(ret[i], naive_name(w, ret[i], code[i], buf));
	}
	return n;
}

/* Some frame matches all positive expressions, no frame a negative one. */
static bool naive_frames_fit(const struct world *w, const struct naive *f, uint32_t stack)
{
	const struct naive_condition *fn = naive_find(f, "function_regex");
	const struct naive_condition *src = naive_find(f, "source_regex");
	const struct naive_condition *mod = naive_find(f, "module_regex");
	const struct naive_condition *no_fn = naive_find(f, "negative_function_regex");
	const struct naive_condition *no_src = naive_find(f, "negative_source_regex");
	const struct naive_condition *no_mod = naive_find(f, "negative_module_regex");
	const struct naive_condition *any = naive_find(f, "frame_regex");
	const struct world_frame *frame[1000];
	uint32_t code[1000];
	unsigned n = naive_frames(w, stack, frame, code);
	bool found = !fn && !src && !mod, found_any = !any;

	for (unsigned i = 0; i < n; i++) {
		char buf[NAIVE_NAME_BYTES];
		const char *name = naive_name(w, frame[i], code[i], buf);

		if ((!fn || naive_regex(fn->text, name)) &&
		    (!src || naive_regex(src->text, frame[i]->source)) &&
		    (!mod || naive_regex(mod->text, frame[i]->module)))
			found = true;
		if (any &&
		    (naive_regex(any->text, name) || naive_regex(any->text, frame[i]->source)))
			found_any = true;
		if ((no_fn && naive_regex(no_fn->text, name)) ||
		    (no_src && naive_regex(no_src->text, frame[i]->source)) ||
		    (no_mod && naive_regex(no_mod->text, frame[i]->module)))
			return false;
	}
	return found && found_any;
}

/* The innermost frame of the best class, and what it is called. Thin own code that called a library is
 * passed over, with all own code outside of it. */
static bool naive_blame_fits(const struct world *w, const struct naive *f, uint32_t stack)
{
	const struct naive_condition *c = naive_find(f, "blame_regex");
	const struct frame_rules rules = {.executable = w->executable};
	const struct world_frame *frame[1000], *best = NULL;
	enum frame_class best_class = FRAME_N_CLASSES;
	uint32_t code[1000], best_code = 0;
	unsigned n = naive_frames(w, stack, frame, code);
	char buf[NAIVE_NAME_BYTES];

	for (unsigned i = 0; i < n; i++) {
		const struct frame real = {.function = frame[i]->function,
					   .source = frame[i]->source,
					   .module = w->code_module[code[i]]};
		enum frame_class class = frame_class_of(&real, w->executable);

		if (class == FRAME_CLASS_OWN && best_class == FRAME_CLASS_LIBRARY &&
		    frame_class_is_thin(&rules, &real))
			break;
		if (class == FRAME_CLASS_NATIVE) /* all libraries are alike */
			class = FRAME_CLASS_LIBRARY;
		if (class < best_class) {
			best = frame[i];
			best_code = code[i];
			best_class = class;
		}
	}
	if (!c || !best)
		return !c;
	return naive_regex(c->text, naive_name(w, best, best_code, buf));
}

/* value >= or <= number, for the pair name_min and name_max */
static bool naive_range(const struct naive *f, const char *name, unsigned long long value)
{
	const struct naive_condition *c;
	char full[64];

	snprintf(full, sizeof(full), "%s_min", name);
	c = naive_find(f, full);
	if (c && value < (unsigned long long)c->number)
		return false;
	snprintf(full, sizeof(full), "%s_max", name);
	c = naive_find(f, full);
	return !c || value <= (unsigned long long)c->number;
}

static bool naive_group_fits(const struct world *w, const struct naive *f, uint32_t stack)
{
	const struct store_stack *s = &w->figures[stack];
	const struct naive_condition *c;

	c = naive_find(f, "group_leaked_allocations_min");
	if (c && (c->is_share ? s->n_leaked * 100 < (uint64_t)c->number * s->n_allocs
			      : s->n_leaked < (uint64_t)c->number))
		return false;
	c = naive_find(f, "group_leaked_allocations_max");
	if (c && (c->is_share ? s->n_leaked * 100 > (uint64_t)c->number * s->n_allocs
			      : s->n_leaked > (uint64_t)c->number))
		return false;
	c = naive_find(f, "group_max_total_usage_first_seen_min");
	if (c && (long long)s->max_at_ns < c->number)
		return false;
	c = naive_find(f, "group_max_total_usage_first_seen_max");
	if (c && (long long)s->max_at_ns > c->number)
		return false;
	return naive_range(f, "group_allocations", s->n_allocs) &&
	       naive_range(f, "group_interval", s->last_ns - s->first_ns);
}

static bool naive_lifetime_kind(const struct world *w, const struct naive *f,
				const struct world_row *r)
{
	const struct naive_condition *c = naive_find(f, "lifetime");
	const struct naive_condition *to = naive_find(f, "to");
	bool never = r->free_ns == WORLD_NEVER;
	bool in_range = !never && (!to || (long long)r->free_ns <= to->number);

	if (!c || naive_is(c, "all"))
		return true;
	if (naive_is(c, "only_leaked"))
		return never;
	if (naive_is(c, "only_temporary"))
		return !never;
	if (naive_is(c, "only_chain_leaked"))
		return r->chain == WORLD_NEVER
			       ? never
			       : w->row[w->chain[r->chain].last].free_ns == WORLD_NEVER;
	if (naive_is(c, "only_whole_group_leaked"))
		return w->figures[r->stack].n_leaked == w->figures[r->stack].n_allocs;
	return naive_is(c, "only_deallocated_in_current_range") == in_range;
}

static bool naive_times_fit(const struct naive *f, const struct world_row *r)
{
	const struct naive_condition *c, *from = naive_find(f, "window_from");
	const struct naive_condition *to = naive_find(f, "window_to");
	long long alloc_ns = (long long)r->alloc_ns;
	long long free_ns = r->free_ns == WORLD_NEVER ? INT64_MAX : (long long)r->free_ns;
	bool allocated, freed;

	c = naive_find(f, "from");
	if (c && alloc_ns < c->number)
		return false;
	c = naive_find(f, "to");
	if (c && alloc_ns > c->number)
		return false;
	c = naive_find(f, "alive_at");
	if (c && !(alloc_ns <= c->number && c->number < free_ns))
		return false;
	c = naive_find(f, "alive_at_2");
	if (c && !(alloc_ns <= c->number && c->number < free_ns))
		return false;
	allocated = (!from || alloc_ns >= from->number) && (!to || alloc_ns <= to->number);
	freed = free_ns != INT64_MAX && (!from || free_ns >= from->number) &&
		(!to || free_ns <= to->number);
	c = naive_find(f, "allocated");
	if (c && naive_is(c, "inside") != allocated)
		return false;
	c = naive_find(f, "freed");
	return !c || naive_is(c, "inside") == freed;
}

static bool naive_flag_fits(const struct naive *f, const char *name, const char *yes, bool is_set)
{
	const struct naive_condition *c = naive_find(f, name);

	return !c || naive_is(c, yes) == is_set;
}

static bool naive_chain_fits(const struct world *w, const struct naive *f,
			     const struct world_row *r)
{
	const struct world_row *first = r, *last = r;
	uint64_t length = 1;

	if (r->chain != WORLD_NEVER) {
		first = &w->row[w->chain[r->chain].first];
		last = &w->row[w->chain[r->chain].last];
		length = w->chain[r->chain].length;
	}
	return naive_range(f, "first_size", first->size) &&
	       naive_range(f, "last_size", last->size) && naive_range(f, "chain_length", length) &&
	       naive_range(f, "position_in_chain", r->position) &&
	       naive_range(f, "chain_lifetime",
			   (last->free_ns == WORLD_NEVER ? w->duration : last->free_ns) -
				   first->alloc_ns);
}

static bool naive_ids_fit(const struct naive *f, const char *name, uint32_t id)
{
	const struct naive_condition *c = naive_find(f, name);
	const char *at = c ? c->text : NULL;

	if (!c)
		return true;
	while (at) {
		if ((uint32_t)atoi(at) == id)
			return true;
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static bool naive_allocator_fits(const struct world *w, const struct naive *f,
				 const struct world_row *r)
{
	const struct naive_condition *regex = naive_find(f, "allocator");
	const char *name = w->allocator[r->flags >> STORE_ALLOCATOR_SHIFT & 31];

	name = name ? name : "not known";
	return (!regex || naive_regex(regex->text, name)) &&
	       naive_flag_fits(f, "jemalloc", "yes", strcmp(name, "jemalloc") == 0);
}

bool naive_matches(const struct world *w, const struct naive *f, size_t row)
{
	const struct world_row *r = &w->row[row];
	const struct naive_condition *c;

	c = naive_find(f, "thread");
	if (c && w->tid[r->thread] != (uint64_t)c->number)
		return false;
	c = naive_find(f, "marker");
	if (c && r->marker != (uint64_t)c->number)
		return false;
	if (!naive_allocator_fits(w, f, r))
		return false;
	c = naive_find(f, "from_map");
	if (c && (r->addr < w->region_start[c->number] || r->addr >= w->region_end[c->number]))
		return false;
	if (naive_find(f, "negative_backtraces") &&
	    naive_ids_fit(f, "negative_backtraces", r->stack))
		return false;
	if (naive_find(f, "deallocation_backtraces") && r->free_ns == WORLD_NEVER)
		return false;
	return naive_times_fit(f, r) && naive_lifetime_kind(w, f, r) &&
	       naive_range(f, "size", r->size) && naive_range(f, "address", r->addr) &&
	       naive_range(f, "usable_size", r->size + r->extra) &&
	       naive_range(f, "lifetime",
			   (r->free_ns == WORLD_NEVER ? w->duration : r->free_ns) - r->alloc_ns) &&
	       naive_flag_fits(f, "mmaped", "yes", r->flags & STORE_FLAG_MMAPED) &&
	       naive_flag_fits(f, "arena", "main", r->flags & STORE_FLAG_MAIN_ARENA) &&
	       naive_flag_fits(f, "crossed", "yes", r->flags & STORE_FLAG_CROSSED) &&
	       naive_flag_fits(f, "temporary", "yes", r->flags & STORE_FLAG_TEMPORARY) &&
	       naive_chain_fits(w, f, r) && naive_ids_fit(f, "backtraces", r->stack) &&
	       naive_ids_fit(f, "deallocation_backtraces", r->free_stack) &&
	       naive_group_fits(w, f, r->stack);
}

bool naive_stack_matches(const struct world *w, const struct naive *f, uint32_t stack)
{
	const struct world_frame *frame[1000];

	return naive_range(f, "backtrace_depth", naive_frames(w, stack, frame, NULL)) &&
	       naive_frames_fit(w, f, stack) && naive_blame_fits(w, f, stack);
}

/* ---- random conditions ---- */

/* A time in one of its notations; the end of its unit where it is an upper bound. */
static void naive_time(struct world *w, struct naive_condition *c, bool is_upper)
{
	uint64_t ns = world_below(w, w->duration + w->duration / 10 + 1), unit;

	switch (world_below(w, 5)) {
	case 0:
		ns = world_below(w, 101);
		snprintf(c->text, sizeof(c->text), "%llu%%", (unsigned long long)ns);
		c->number = (long long)(w->duration * ns / 100);
		return;
	case 1: /* UNIX, seconds */
	case 2: /* or milliseconds */
		unit = world_below(w, 2) ? 1000000000 : 1000000;
		ns = (w->start_realtime + ns) / unit;
		if (world_below(w, 20) == 0)
			ns -= 1500; /* before the start */
		snprintf(c->text, sizeof(c->text), "%llu", (unsigned long long)ns);
		c->number = (long long)(ns * unit + (is_upper ? unit - 1 : 0)) -
			    (long long)w->start_realtime;
		return;
	case 3:
		snprintf(c->text, sizeof(c->text), "+%llu.%09llus",
			 (unsigned long long)(ns / 1000000000),
			 (unsigned long long)(ns % 1000000000));
		break;
	default:
		/* a moment at which something happened */
		ns = w->row[world_below(w, w->n_rows)].alloc_ns;
		snprintf(c->text, sizeof(c->text), "%lluns", (unsigned long long)ns);
	}
	c->number = (long long)ns;
}

static void naive_interval(struct world *w, struct naive_condition *c)
{
	uint64_t ns = world_below(w, 3) ? world_below(w, 6000) : world_below(w, w->duration + 1);

	c->number = (long long)ns;
	if (world_below(w, 2))
		snprintf(c->text, sizeof(c->text), "%lluus %lluns", (unsigned long long)(ns / 1000),
			 (unsigned long long)(ns % 1000));
	else
		snprintf(c->text, sizeof(c->text), "%llu.%09llu",
			 (unsigned long long)(ns / 1000000000),
			 (unsigned long long)(ns % 1000000000));
}

static void naive_count(struct naive_condition *c, uint64_t number, bool is_share)
{
	c->number = (long long)number;
	c->is_share = is_share;
	snprintf(c->text, sizeof(c->text), is_share ? "%llu%%" : "%llu",
		 (unsigned long long)number);
}

static bool naive_ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static void naive_choose(struct world *w, struct naive_condition *c, const char *choices)
{
	unsigned n = 1, want;
	const char *at = choices;

	for (const char *p = choices; *p; p++)
		n += *p == '|';
	for (want = (unsigned)world_below(w, n); want; want--)
		at = strchr(at, '|') + 1;
	snprintf(c->text, sizeof(c->text), "%.*s", (int)strcspn(at, "|"), at);
}

static void naive_numbers(struct world *w, struct naive_condition *c)
{
	const struct world_row *some = &w->row[world_below(w, w->n_rows)];

	if (strncmp(c->name, "address", 7) == 0) {
		naive_count(c, some->addr, false);
		if (world_below(w, 2))
			snprintf(c->text, sizeof(c->text), "0x%llx",
				 (unsigned long long)some->addr);
	} else if (strstr(c->name, "size")) {
		naive_count(c, world_below(w, 3) ? some->size : some->size + some->extra, false);
		if (c->number % 1024 == 0 && world_below(w, 2))
			snprintf(c->text, sizeof(c->text), "%lldk", c->number / 1024);
	} else if (strncmp(c->name, "group_leaked", 12) == 0) {
		bool is_share = world_below(w, 2);

		naive_count(c, world_below(w, is_share ? 101 : 40), is_share);
	} else if (strncmp(c->name, "group_allocations", 17) == 0) {
		naive_count(c, w->figures[some->stack].n_allocs, false);
	} else if (strncmp(c->name, "backtrace_depth", 15) == 0) {
		naive_count(c, world_below(w, 12), false);
	} else if (strcmp(c->name, "thread") == 0) {
		naive_count(c, w->tid[world_below(w, w->n_threads)] ^ !world_below(w, 9), false);
	} else if (strcmp(c->name, "from_map") == 0) {
		naive_count(c, world_below(w, w->n_regions), false);
	} else {
		naive_count(c, world_below(w, 4), false); /* chains, positions, markers */
	}
}

void naive_value(struct world *w, struct naive_condition *c, const char *type, const char *choices)
{
	static const char *const regexes[] = {
		"main",
		"^parse",
		"Cache::(fill|evict)",
		"e$",
		"[sS]erver",
		"vector",
		"x+y",
		"[.]c$",
		"tls|json",
		"new",
		"^/src/",
		"lib(tls|std)",
		"[.]cp+",
		"^(worker|read_all)$",
		".",
	};

	if (choices) {
		naive_choose(w, c, choices);
	} else if (strcmp(type, "time") == 0) {
		naive_time(w, c, naive_ends_with(c->name, "to") || naive_ends_with(c->name, "max"));
	} else if (strcmp(type, "regex") == 0) {
		snprintf(c->text, sizeof(c->text), "%s",
			 regexes[world_below(w, sizeof(regexes) / sizeof(regexes[0]))]);
	} else if (strcmp(type, "ids") == 0) {
		snprintf(c->text, sizeof(c->text), "%u", (unsigned)world_below(w, w->n_stacks));
		while (world_below(w, 3) && strlen(c->text) < 40)
			snprintf(c->text + strlen(c->text), 8, ",%u",
				 (unsigned)world_below(w, w->n_stacks < 15 ? w->n_stacks : 15));
	} else if (strncmp(type, "interval", 8) == 0) {
		if (type[8] && world_below(w, 2)) {
			naive_count(c, world_below(w, 101), true);
			c->number = (long long)(w->duration * (uint64_t)c->number / 100);
		} else {
			naive_interval(w, c);
		}
	} else {
		naive_numbers(w, c);
	}
}

void naive_add(struct world *w, struct naive *f, const struct filter_parameter *p)
{
	if (naive_find(f, p->name) || f->n == NAIVE_MAX ||
	    (strcmp(p->name, "from_map") == 0 && !w->n_regions))
		return;
	f->condition[f->n] = (struct naive_condition){.name = p->name};
	naive_value(w, &f->condition[f->n], p->type, p->choices);
	f->n++;
}

void naive_random(struct world *w, struct naive *f)
{
	size_t n_parameters;
	const struct filter_parameter *p = filter_parameters(&n_parameters);

	for (unsigned want = (unsigned)world_below(w, 5); want; want--)
		naive_add(w, f, &p[world_below(w, n_parameters)]);
}

int naive_set_filter(const struct naive *n, struct filter *f, struct err *err)
{
	filter_init(f);
	for (unsigned i = 0; i < n->n; i++) {
		int r = filter_set(f, n->condition[i].name, n->condition[i].text, err);

		if (r != 1)
			return r < 0 ? r : err_set(err, ERR_USAGE, "%s", n->condition[i].name);
	}
	return 0;
}

size_t naive_rows(const struct world *w, const struct naive *f, bool *chosen)
{
	bool *fits = calloc(w->n_stacks, 1);
	size_t n = 0;

	for (uint32_t i = 0; i < w->n_stacks; i++)
		fits[i] = naive_stack_matches(w, f, i);
	for (size_t i = 0; i < w->n_rows; i++) {
		chosen[i] = fits[w->row[i].stack] && naive_matches(w, f, i);
		n += chosen[i];
	}
	free(fits);
	return n;
}
