/* export/export_html.c - the GUI's Overview and flame graph as one file that opens without a
 * server.
 *
 * The page is the GUI itself with the answers of the API inside: the same sources, the same
 * figures. The GUI lists the questions that its two pages ask (ui/model/exported_questions.ts); the
 * caller answers them (export_options.answer).
 *
 * Names come from recordings: every '<' of an answer is written as an escape of JSON, so no name
 * can end the script element that holds the answers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export_i.h"
#include "gui/gui_files.h"

#define STYLE_LINK "<link rel=\"stylesheet\" href=\"app.css\" />"
#define SCRIPT_LINK "<script type=\"module\" src=\"app.js\"></script>"
#define QUESTION_BYTES 512

struct page {
	const struct export_options *options;
	FILE *out;
	char *html, *style, *script, *questions; /* files of the GUI, each ends with a zero byte */
	size_t n_answers;
};

static int load(const char *name, char **ret, struct err *err)
{
	const struct gui_file *file = gui_file_find(name);

	if (!file)
		return err_set(
			err, ERR_REFUSED,
			"this build has no GUI, which html needs: install nodejs and npm, and "
			"build again");
	return gui_file_unpack(file, ret, err);
}

/* Writes JSON so that it cannot end a script element. */
static void put_safely(FILE *out, const char *json, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (json[i] == '<')
			fputs("\\u003c", out);
		else if (json[i] != '\n')
			putc(json[i], out);
	}
}

/* Replaces {duration_ns} in a question. */
static void fill_in(const struct page *p, const char *question, size_t len,
		    char ret[QUESTION_BYTES])
{
	static const char word[] = "{duration_ns}";
	char text[QUESTION_BYTES];
	const char *at;

	snprintf(text, sizeof(text), "%.*s", (int)len, question);
	at = strstr(text, word);
	if (at)
		snprintf(ret, QUESTION_BYTES, "%.*s%" PRIu64 "%s", (int)(at - text), text,
			 store_facts(p->options->context->store)->duration_ns,
			 at + sizeof(word) - 1);
	else
		snprintf(ret, QUESTION_BYTES, "%s", text);
}

/* Writes everything before the answers. Called when the first answer is known to be good. */
static void put_head(struct page *p)
{
	const char *style = strstr(p->html, STYLE_LINK);
	const char *script = strstr(p->html, SCRIPT_LINK);

	fwrite(p->html, 1, (size_t)(style - p->html), p->out);
	fprintf(p->out, "<style>%s</style>", p->style);
	style += sizeof(STYLE_LINK) - 1;
	fwrite(style, 1, (size_t)(script - style), p->out);
	fputs("<script type=\"application/json\" id=\"exported-answers\">{\"answers\":{", p->out);
}

static int put_answer(struct page *p, const char *question, size_t len, struct err *err)
{
	const struct export_options *o = p->options;
	char filled[QUESTION_BYTES];
	char *json = NULL;
	size_t n_bytes;
	FILE *memory = open_memstream(&json, &n_bytes);
	int r;

	if (!memory)
		return err_set_memory(err, BUFSIZ);
	fill_in(p, question, len, filled);
	r = o->answer(o->answer_user, filled, memory, err);
	if (fclose(memory) != 0 && r == 0)
		r = err_set_memory(err, n_bytes);
	if (r == 0) {
		if (p->n_answers++ == 0)
			put_head(p);
		else
			putc(',', p->out);
		fprintf(p->out, "\n\"%s\":", filled);
		put_safely(p->out, json, n_bytes);
	}
	free(json);
	return r;
}

static int put_answers(struct page *p, struct err *err)
{
	const char *at = p->questions;
	int r = 0;

	while (*at && r == 0) {
		size_t len = strcspn(at, "\n");

		if (len > 0)
			r = put_answer(p, at, len, err);
		at += len + (at[len] == '\n');
	}
	return r;
}

static void put_tail(struct page *p)
{
	const char *script = strstr(p->html, SCRIPT_LINK);

	fprintf(p->out, "}}</script>\n<script type=\"module\">%s</script>", p->script);
	fputs(script + sizeof(SCRIPT_LINK) - 1, p->out);
}

int export_html(struct query *q, const struct export_options *o, FILE *out, struct err *err)
{
	struct page p = {.options = o, .out = out};
	int r = 0;

	(void)q; /* the answers come from queries of their own, with the same filter */
	if (!o->answer)
		return err_set(err, ERR_REFUSED, "nobody here can answer the page's questions");
	r = load("index.html", &p.html, err);
	if (r == 0)
		r = load("app.css", &p.style, err);
	if (r == 0)
		r = load("app.js", &p.script, err);
	if (r == 0)
		r = load("questions.txt", &p.questions, err);
	if (r == 0 && (!strstr(p.html, STYLE_LINK) || !strstr(p.html, SCRIPT_LINK)))
		r = err_set(err, ERR_FORMAT, "the GUI's page lacks the links that html replaces");
	if (r == 0)
		r = put_answers(&p, err);
	if (r == 0)
		put_tail(&p);
	free(p.html);
	free(p.style);
	free(p.script);
	free(p.questions);
	return r;
}
