/* cli/rewrite.c - see rewrite.h. */
#include "cli/rewrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/args.h"

int rewrite_parse_pieces(const struct args_command *c, int argc, char **argv,
			 const char *const *output, const bool *is_quiet, size_t *n)
{
	int first, end;
	int status = args_parse(c, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	*n = (size_t)(end - first);
	if (!*output) {
		args_complain("%s: the output is missing: add -o NAME; see '" PROGRAM " %s --help'",
			      c->name, c->name);
		return CLI_USAGE;
	}
	if (file_is_same(argv[1], *output)) {
		args_complain("%s: the output is the recording itself; give another name after -o",
			      c->name);
		return CLI_USAGE;
	}
	if (*is_quiet)
		progress_disable();
	return -1;
}

int rewrite_parse(const struct args_command *c, int argc, char **argv, const char *const *output,
		  const bool *is_quiet)
{
	size_t n = 0;
	int status = rewrite_parse_pieces(c, argc, argv, output, is_quiet, &n);

	if (status >= 0 || n == 1)
		return status;
	args_complain("%s: more than one recording is given; see '" PROGRAM " %s --help'", c->name,
		      c->name);
	return CLI_USAGE;
}

int rewrite_begin_pieces(struct rewrite *w, const char *const *in_path, size_t n_paths,
			 const char *verb, unsigned n_passes, struct err *err)
{
	char label[PROGRESS_LABEL_BYTES];
	int r;

	w->in_path = in_path[0];
	r = recording_open_pieces(in_path, n_paths, &w->rec, err);
	if (r < 0)
		return r;
	snprintf(label, sizeof(label), "%s %s", verb, in_path[0]);
	progress_start(&w->progress, label, n_passes * w->rec->event_bytes, PROGRESS_BYTES);
	w->rec->progress = &w->progress;
	return 0;
}

int rewrite_begin(struct rewrite *w, const char *in_path, const char *verb, unsigned n_passes,
		  struct err *err)
{
	return rewrite_begin_pieces(w, &in_path, 1, verb, n_passes, err);
}

static void report_damage(const struct rewrite *w)
{
	const struct damage *d = &w->rec->damage;

	if (d->n_ranges == 0)
		return;
	args_complain("%s: %" PRIu64 " damaged bytes in %" PRIu64
		      " ranges were left out (offset %" PRIu64 ": %s%s)",
		      w->in_path, d->n_bytes, d->n_ranges, d->range[0].offset, d->range[0].text,
		      d->n_ranges > 1 ? "; 'info' lists all" : "");
}

int rewrite_end(struct rewrite *w, int r, struct err *err)
{
	progress_end(&w->progress);
	if (r < 0)
		args_complain("%s", err->text);
	else if (w->rec)
		report_damage(w);
	recording_close(w->rec);
	w->rec = NULL;
	return r < 0 ? CLI_FAILED : CLI_OK;
}

const char *rewrite_folder(const char *path, char *buf, size_t capacity)
{
	const char *slash = strrchr(path, '/');

	if (!slash || (size_t)(slash - path) >= capacity)
		return ".";
	if (slash == path)
		return "/";
	memcpy(buf, path, (size_t)(slash - path));
	buf[slash - path] = 0;
	return buf;
}
