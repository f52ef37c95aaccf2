/* export/export_text.c - names, titles and escaping that several formats need. See export_i.h. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/export_i.h"
#include "util/utf8.h"

const char *export_frame_label(const struct frame *f, char buf[FRAME_LABEL_BYTES])
{
	return f ? frame_label(f, buf) : "[stack cut off]";
}

const char *export_title(const struct export_options *o)
{
	const struct store *s = o->context->store;
	const char *executable;

	if (o->title && o->title[0])
		return o->title;
	executable = store_string(s, store_facts(s)->executable, NULL);
	return executable[0] ? text_basename(executable) : "recording";
}

void export_put_clean(FILE *out, const char *text, const char *also, char with)
{
	size_t left = strlen(text);

	while (left > 0) {
		unsigned n = utf8_length((const uint8_t *)text, left);

		if (n == 0)
			fputs(EXPORT_REPLACEMENT, out);
		else if (n > 1)
			fwrite(text, 1, n, out);
		else
			putc((unsigned char)*text < 0x20 || *text == 0x7f || strchr(also, *text)
				     ? with
				     : *text,
			     out);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
}

int export_valid_text(const char *text, char **ret, struct err *err)
{
	size_t len = strlen(text), n_bad = 0, at = 0;
	char *copy;

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length((const uint8_t *)text + i, len - i);

		n_bad += n == 0;
		i += n ? n : 1;
	}
	*ret = NULL;
	if (n_bad == 0)
		return 0;
	copy = malloc(len + n_bad * strlen(EXPORT_REPLACEMENT) + 1);
	if (!copy)
		return err_set_memory(err, len);
	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length((const uint8_t *)text + i, len - i);

		memcpy(copy + at, n ? text + i : EXPORT_REPLACEMENT,
		       n ? n : strlen(EXPORT_REPLACEMENT));
		at += n ? n : strlen(EXPORT_REPLACEMENT);
		i += n ? n : 1;
	}
	copy[at] = 0;
	*ret = copy;
	return 0;
}

void export_put_cmdline(const struct export_options *o, FILE *out)
{
	const struct store *s = o->context->store;
	size_t len = 0;
	const char *text = store_string(s, store_facts(s)->cmdline, &len);

	if (len == 0) {
		export_put_clean(out, store_string(s, store_facts(s)->executable, NULL), "", ' ');
		return;
	}
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		if (at > 0)
			putc(' ', out);
		export_put_clean(out, text + at, "", ' ');
	}
}

void export_put_xml(FILE *out, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t len = strlen(text);

	for (size_t i = 0; i < len;) {
		unsigned n = utf8_length(p + i, len - i);
		/* U+FFFE and U+FFFF are UTF-8 but no XML */
		bool is_odd =
			n == 0 || (n == 3 && p[i] == 0xef && p[i + 1] == 0xbf && p[i + 2] > 0xbd);

		if (is_odd)
			fputs(EXPORT_REPLACEMENT, out);
		else if (n > 1)
			fwrite(p + i, 1, n, out);
		else if (p[i] == '<')
			fputs("&lt;", out);
		else if (p[i] == '>')
			fputs("&gt;", out);
		else if (p[i] == '&')
			fputs("&amp;", out);
		else if (p[i] == '"')
			fputs("&quot;", out);
		else
			putc(p[i] < 0x20 ? ' ' : p[i], out);
		i += n ? n : 1;
	}
}
