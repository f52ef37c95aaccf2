/* serve/start_page.c - a plain page over the API: the recordings and links to what can be asked.
 *
 * Nothing but HTML: no script, nothing from elsewhere. Names from recordings are escaped. It shows
 * itself without a token, but then lists nothing.
 */
#include "base/text.h"
#include "serve/handlers.h"
#include "serve/wire.h"

#include <string.h>

#include "util/human.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<title>memory-profiler</title><style>"
	"body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
	"color:#171c26;background:#fff}"
	"h1{font-size:1.4em}h2{font-size:1.1em;margin:1.5em 0 .3em}"
	"table{border-collapse:collapse}td,th{text-align:left;padding:.15em 1.2em .15em 0;"
	"font-variant-numeric:tabular-nums}th{font-weight:600;color:#4a5464}"
	"a{color:#4150cf}p.links a{margin-right:1em}.weak{color:#586272}"
	"@media(prefers-color-scheme:dark){body{color:#e8ebf1;background:#14181f}"
	"th{color:#b3bcc9}a{color:#9aa6ff}.weak{color:#9ba5b3}}"
	"</style></head><body><h1>memory-profiler</h1>\n";

static void put_html(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\0':
			putc(' ', out);
			break;
		default:
			putc(text[i], out);
		}
	}
}

/* For a value in a query. */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		bool is_plain = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
				(*text >= 'A' && *text <= 'Z') || strchr("-._~", *text);

		if (is_plain)
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*text);
	}
}

static void put_link(struct request *rq, struct shelf_item *i, const char *path, const char *query,
		     const char *label)
{
	const char *token = url_find(&rq->url, "token");

	fprintf(rq->out, "<a href=\"%s", strncmp(path, "api/", 4) == 0 ? "/api/v1/" : "/data/");
	fprintf(rq->out, "%s/%s", shelf_id(i), strncmp(path, "api/", 4) == 0 ? path + 4 : path);
	if (query || token)
		fprintf(rq->out, "?%s", query ? query : "");
	if (token) {
		fprintf(rq->out, "%stoken=", query ? "&amp;" : "");
		put_escaped(rq->out, token);
	}
	fprintf(rq->out, "\">%s</a> ", label);
}

static void put_figure(FILE *out, const char *label, const char *value)
{
	fprintf(out, "<tr><th>%s</th><td>%s</td></tr>\n", label, value);
}

static void put_figures(FILE *out, const struct store *s)
{
	const struct store_facts *f = store_facts(s);
	char buf[HUMAN_BYTES];
	size_t len;
	const char *cmdline = store_string(s, f->cmdline, &len);

	fputs("<table><tr><th>Command</th><td>", out);
	put_html(out, cmdline, len < 500 ? len : 500);
	fputs("</td></tr>\n", out);
	put_figure(out, "Started", human_time(f->start_realtime_ns, buf));
	put_figure(out, "Run time", human_duration(f->duration_ns, buf));
	put_figure(out, "Allocations", human_count(f->n_rows, buf));
	put_figure(out, "Peak", human_size(f->peak_bytes, buf));
	put_figure(out, "Leaked", human_size(f->live_bytes, buf));
	put_figure(out, "Temporary allocations", human_count(f->n_temporary, buf));
	fputs("</table>\n", out);
}

static void put_links(struct request *rq, struct shelf_item *i)
{
	static const struct {
		const char *path, *query, *label;
	} link[] = {
		{"export/flamegraph", "lifetime=only_leaked", "Flame graph of leaks"},
		{"export/flamegraph", "cost=peak", "of the peak"},
		{"export/flamegraph", NULL, "of all bytes"},
		{"allocation_ascii_tree", "lifetime=only_leaked", "Leaks as text"},
		{"export/html", NULL, "Report"},
		{"export/heaptrack", NULL, "heaptrack"},
		{"export/pprof", NULL, "pprof"},
		{"export/csv-groups", NULL, "CSV"},
		{"allocation_groups", "sort_by=all.size&amp;order=dsc&amp;count=20", "Call sites"},
		{"allocations", "sort_by=size&amp;order=dsc&amp;count=20", "Largest allocations"},
		{"timeline", NULL, "Timeline"},
		{"api/summary", NULL, "Summary"},
		{"api/groups", "by=function&amp;count=50", "By function"},
		{"api/threads", NULL, "Threads"},
		{"api/notes", NULL, "Notes"},
	};

	fputs("<p class=\"links\">", rq->out);
	for (size_t k = 0; k < ARRAY_LEN(link); k++)
		put_link(rq, i, link[k].path, link[k].query, link[k].label);
	fputs("</p>\n", rq->out);
}

static void put_item(struct request *rq, struct shelf_item *i)
{
	const char *name = text_basename(shelf_path(i));
	struct shelf_picture *p;

	fputs("<h2>", rq->out);
	put_html(rq->out, name, strlen(name));
	fputs("</h2>\n", rq->out);
	switch (shelf_state(i)) {
	case SHELF_LOADING:
		fprintf(rq->out, "<p>Being read: %.0f %%. Reload the page.</p>\n",
			shelf_percent(i));
		break;
	case SHELF_FAILED:
		fputs("<p>", rq->out);
		put_html(rq->out, shelf_error(i), strlen(shelf_error(i)));
		fputs("</p>\n", rq->out);
		break;
	case SHELF_READY:
		shelf_freshen(i, 0);
		p = shelf_take(i);
		put_figures(rq->out, shelf_store(p));
		shelf_give(p);
		put_links(rq, i);
		break;
	}
}

int start_page_answer(struct request *rq, struct err *err)
{
	(void)err;
	fputs(head, rq->out);
	if (!rq->is_trusted)
		fputs("<p>A token is needed: add <code>?token=...</code> to the address.</p>\n",
		      rq->out);
	else if (shelf_n_items(rq->shelf) == 0)
		fputs("<p><b>No recording is loaded.</b> Start the server with one: "
		      "<code>memory-profiler-cli server FILE...</code></p>\n",
		      rq->out);
	for (size_t k = shelf_n_items(rq->shelf); rq->is_trusted && k-- > 0;)
		put_item(rq, shelf_item(rq->shelf, k));
	fputs("<p class=\"weak\">The API: <a href=\"/api/v1/openapi.json\">openapi.json</a>, "
	      "<a href=\"/api/v1/filters\">filters</a>. memory-profiler " MEMORY_PROFILER_VERSION
	      "</p></body></html>\n",
	      rq->out);
	return 0;
}
