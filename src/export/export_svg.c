/* export/export_svg.c - the flame graph as one SVG file.
 *
 * The file holds a still graph, which viewers without scripts show, and the whole tree as text,
 * from which the script draws the part that the reader zooms into.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/export_i.h"
#include "export/flame_script.h"
#include "export/tree_order.h"
#include "query/frame_name.h"
#include "util/human.h"
#include "util/text_set.h"
#include "util/utf8.h"

#define MAX_NODES 500000u /* in the file; smaller ones are left out, and the heading says so */
#define STILL_SHARE 0.002 /* the still graph has frames from this share on: 2.4 of 1200 px */
#define STILL_DEPTH 300u /* and at most so many levels */
#define WIDTH 1200.0
#define TOP 64u
#define FRAME_HEIGHT 18u
#define CHAR_WIDTH 6.7 /* of 11 px monospace; the script has the same */
#define LABEL_BYTES 2048

static const char flame_style[] =
	".mpf{font:11px ui-monospace,Menlo,Consolas,monospace;background:#fff;outline:none}"
	".mpf text{fill:#111}.mpf .mpf-title{font:bold 15px system-ui,sans-serif}"
	".mpf .mpf-sub,.mpf .mpf-info{font-size:12px;fill:#555}.mpf .mpf-info{fill:#111}"
	".mpf .mpf-button{font-size:12px;fill:#06c;cursor:pointer;text-decoration:underline}"
	".mpf-f{cursor:pointer}.mpf-f text{pointer-events:none}.mpf-f:hover rect{stroke:#000}"
	".mpf-above{opacity:.55}.mpf-sel rect{stroke:#000;stroke-width:1.5}"
	".mpf-search{box-sizing:border-box;width:100%;height:24px;border:1px solid #999;"
	"border-radius:3px;font:12px ui-monospace,monospace;padding:2px 6px;background:#fff;"
	"color:#111}";

struct svg {
	FILE *out;
	struct err *err;
	const struct query_tree *tree;
	enum export_cost cost;
	struct tree_order order;
	struct text_set *labels; /* the script numbers them from 0, the set from 1 */
	uint32_t *label; /* by node that is reached */
};

/* "name\tsource\tmodule", and the name in full where that is longer: what the script shows. */
static void make_label(const struct frame *f, char text[LABEL_BYTES])
{
	char buf[FRAME_LABEL_BYTES], name[FRAME_NAME_BYTES];
	const char *full = export_frame_label(f, buf);
	bool is_short;

	if (f && f->function)
		frame_name_short(full, name);
	else
		snprintf(name, sizeof(name), "%s", full);
	is_short = strcmp(name, full) != 0;
	snprintf(text, LABEL_BYTES, "%s\t%.500s\t%.200s%s%.800s", name,
		 f && f->source ? f->source : "", f && f->module ? text_basename(f->module) : "",
		 is_short ? "\t" : "", is_short ? full : "");
}

static int label_nodes(struct svg *s)
{
	uint32_t i = 0;
	int r = 0;

	s->label = malloc(s->tree->n * sizeof(*s->label));
	if (!s->label)
		return err_set_memory(s->err, s->tree->n * sizeof(*s->label));
	do {
		char text[LABEL_BYTES] = "all";

		if (i != 0)
			make_label(s->tree->node[i].frame, text);
		r = text_set_add(s->labels, text, &s->label[i], s->err);
		i = tree_order_next(s->tree, i);
	} while (r == 0 && i != 0);
	return r;
}

static uint64_t cost(const struct svg *s, uint32_t node)
{
	return export_cost_of(&s->tree->node[node].cost, s->cost);
}

static char *amount(const struct svg *s, uint64_t value, char buf[HUMAN_BYTES])
{
	return export_cost_is_bytes(s->cost) ? human_size(value, buf) : human_count(value, buf);
}

/* The hash that gives a frame its colour: FNV-1a, as in flame_script.c, so that the still graph and
 * the script's graph have equal colours. Not hash_bytes(): numbers of JavaScript have 53 bits. */
static uint32_t colour_hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h;
}

/* Writes as much of a text as fits into `room` characters, cut between characters. */
static void put_cut(FILE *out, const char *text, size_t len, size_t room)
{
	char part[256];
	size_t n = 0, n_chars = 0;

	while (n < len && n_chars < room && n + 8 < sizeof(part)) {
		unsigned c = utf8_length((const uint8_t *)text + n, len - n);

		c = c ? c : 1;
		memcpy(part + n, text + n, c);
		n += c;
		n_chars++;
	}
	part[n] = 0;
	export_put_xml(out, part);
	if (n < len)
		fputs("\xe2\x80\xa6", out);
}

static void put_still_frame(struct svg *s, uint32_t node, double x, double width, unsigned depth)
{
	const char *label = text_set_get(s->labels, s->label[node]);
	size_t name_len = strcspn(label, "\t");
	const char *module = strchr(label, '\t'); /* the source; the module follows it */
	size_t module_len;
	unsigned y = TOP + depth * FRAME_HEIGHT;
	uint64_t root = cost(s, 0);
	char buf[HUMAN_BYTES];

	module = module ? strchr(module + 1, '\t') : NULL;
	module = module ? module + 1 : "";
	module_len = strcspn(module, "\t");
	fprintf(s->out,
		"<g class=\"mpf-f\"><rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\" "
		"rx=\"1.5\" fill=\"hsl(%u,62%%,%u%%)\"/><title>",
		x, y, width > 0.7 ? width - 0.4 : 0.3, FRAME_HEIGHT - 1,
		module_len ? colour_hash(module, module_len) % 360 : 35,
		68 + colour_hash(label, name_len) % 14);
	export_put_xml(s->out, label);
	fprintf(s->out, " %s (%.2f %%)</title>", amount(s, cost(s, node), buf),
		root ? 100.0 * (double)cost(s, node) / (double)root : 0);
	if (width > 3 * CHAR_WIDTH) {
		fprintf(s->out, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 13);
		put_cut(s->out, label, name_len, (size_t)((width - 6) / CHAR_WIDTH));
		fputs("</text>", s->out);
	}
	fputs("</g>\n", s->out);
}

/* Writes the frames of the still graph. The x of a node is the x of its parent plus the widths of
 * its earlier siblings; next_x[depth] is the x of the next node at that depth. */
static int put_still(struct svg *s)
{
	uint64_t root = cost(s, 0);
	double *next_x;
	unsigned depth = 0, max_depth = 0;
	uint32_t i;

	for (i = 0; (i = tree_order_next(s->tree, i)) != 0;)
		max_depth = s->tree->node[i].depth > max_depth ? s->tree->node[i].depth : max_depth;
	next_x = calloc((size_t)max_depth + 2, sizeof(*next_x));
	if (!next_x)
		return err_set_memory(s->err, max_depth * sizeof(*next_x));
	i = 0;
	do {
		double width = root ? WIDTH * (double)cost(s, i) / (double)root : WIDTH;
		double x;

		depth = s->tree->node[i].depth;
		if (depth > max_depth) /* cannot be: max_depth is the deepest of these nodes */
			break;
		x = next_x[depth];
		next_x[depth] += width;
		next_x[depth + 1] = x;
		if (width >= STILL_SHARE * WIDTH && depth <= STILL_DEPTH)
			put_still_frame(s, i, x, width, depth);
		i = tree_order_next(s->tree, i);
	} while (i != 0);
	free(next_x);
	return export_check(s->out, s->err);
}

static void put_base36(FILE *out, uint64_t v)
{
	char text[13];
	unsigned at = sizeof(text);

	do {
		text[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[v % 36];
		v /= 36;
	} while (v);
	fwrite(text + at, 1, sizeof(text) - at, out);
}

/* The tree in pre-order: "label,value" and then ";" or "(" children ")". */
static void put_tree(struct svg *s)
{
	const struct query_tree_node *node = s->tree->node;
	uint32_t i = 0;

	for (;;) {
		put_base36(s->out, s->label[i] - 1);
		putc(',', s->out);
		put_base36(s->out, cost(s, i));
		if (node[i].first_child) {
			putc('(', s->out);
			i = node[i].first_child;
			continue;
		}
		putc(';', s->out);
		while (i != 0 && node[i].next_sibling == 0) {
			i = node[i].parent;
			putc(')', s->out);
		}
		if (i == 0)
			return;
		i = node[i].next_sibling;
	}
}

/* Writes a JavaScript string that ends neither the script nor the CDATA section. */
static void put_js_text(FILE *out, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t len = strlen(text);

	putc('"', out);
	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length(p + i, len - i);

		if (n == 0)
			fputs("\\ufffd", out);
		else if (n > 1 && !(n == 3 && p[i] == 0xef && p[i + 1] == 0xbf) &&
			 !(n == 3 && p[i] == 0xe2 && p[i + 1] == 0x80))
			fwrite(p + i, 1, n, out);
		else if (
			n ==
			3) /* U+2028 ends a line, U+FFFF is no XML: escape all that begin like these */
			fprintf(out, "\\u%04x",
				(unsigned)((p[i] & 15) << 12 | (p[i + 1] & 63) << 6 |
					   (p[i + 2] & 63)));
		else if (p[i] < 0x20 || strchr("\"\\<>&'", p[i]))
			fprintf(out, "\\u%04x", p[i]);
		else
			putc(p[i], out);
		i += n ? n : 1;
	}
	putc('"', out);
}

static void put_data(struct svg *s)
{
	fprintf(s->out, "mpFlame({\"id\":0,\"bytes\":%s,\"n\":%zu,\"l\":[\n",
		export_cost_is_bytes(s->cost) ? "true" : "false", s->order.n_kept);
	for (uint32_t i = 1; i < text_set_count(s->labels); i++) {
		if (i > 1)
			fputs(",\n", s->out);
		put_js_text(s->out, text_set_get(s->labels, i));
	}
	fputs("],\n\"t\":\"", s->out);
	put_tree(s);
	fputs("\"});\n", s->out);
}

/* Title, the cost that is added up, and what is left out. */
static void put_heading(struct svg *s, const struct export_options *o)
{
	uint64_t root = s->tree->n ? cost(s, 0) : 0;
	char buf[HUMAN_BYTES], cut[HUMAN_BYTES], note[TREE_ORDER_NOTE_BYTES];

	fputs("<text x=\"8\" y=\"20\" class=\"mpf-title\">", s->out);
	put_cut(s->out, export_title(o), strlen(export_title(o)), 60);
	fprintf(s->out, "</text><text x=\"8\" y=\"36\" class=\"mpf-sub\">%s %s%s",
		amount(s, root, buf), export_cost_label(s->cost),
		o->is_inverted ? ", innermost frames on top" : "");
	if (s->order.n_cut > 0)
		fprintf(s->out, "; %zu frames below %s each are left out, %s (%.3f %%) in all",
			s->order.n_cut, amount(s, s->order.min_cost, buf),
			amount(s, s->order.cut_cost, cut),
			root ? 100.0 * (double)s->order.cut_cost / (double)root : 0);
	if (*tree_order_note(s->tree, note))
		fprintf(s->out, "; %s", note);
	fputs("</text>\n", s->out);
}

static int put_svg(struct svg *s, const struct export_options *o)
{
	unsigned depth = 0, height;
	int r = 0;

	for (uint32_t i = 0; s->tree->n && (i = tree_order_next(s->tree, i)) != 0;) {
		unsigned d = s->tree->node[i].depth;

		if ((double)cost(s, i) >= STILL_SHARE * (double)cost(s, 0) && d > depth &&
		    d <= STILL_DEPTH)
			depth = d;
	}
	height = TOP + (depth + 1) * FRAME_HEIGHT + 8;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", s->out);
	fprintf(s->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mpf\" id=\"mpf-0\" "
		"tabindex=\"0\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
		(unsigned)WIDTH, height, (unsigned)WIDTH, height);
	fprintf(s->out, "<style>%s</style>\n", flame_style);
	put_heading(s, o);
	fputs("<g class=\"still\">\n", s->out);
	if (s->tree->n > 0)
		r = put_still(s);
	fputs("</g>\n<script><![CDATA[\n", s->out);
	fputs(flame_script, s->out);
	if (s->tree->n > 0)
		put_data(s);
	fputs("]]></script>\n</svg>\n", s->out);
	return r < 0 ? r : export_check(s->out, s->err);
}

int export_svg(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct query_tree tree = {0};
	struct svg s = {.out = out, .err = err, .tree = &tree, .cost = o->cost};
	int r = tree_order_query(q, o, MAX_NODES, &tree, &s.order, err);

	if (r == 0)
		r = text_set_create(true, &s.labels, err);
	if (r == 0 && tree.n > 0)
		r = label_nodes(&s);
	if (r == 0)
		r = put_svg(&s, o);
	free(s.label);
	text_set_destroy(s.labels);
	query_tree_fini(&tree);
	return r;
}
