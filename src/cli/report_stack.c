/* cli/report_stack.c - see report_stack.h.
 *
 * Frames become lines. A run of allocator and runtime frames folds into one line, which shows the
 * outermost frame of the run: the function that the program's own code called. A stack with more than
 * MAX_LINES lines loses lines in the middle.
 */
#include "cli/report_stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/frame_name.h"
#include "util/clean_path.h"
#include "util/human.h"
#include "util/vec.h"

#define MAX_LINES 10
#define FIRST_LINES 7 /* of a stack with more than MAX_LINES */
#define INDENT 6
#define NAME_COLUMNS 44 /* locations start after it, unless a name is longer */
#define PATH_COLUMNS 40

struct line {
	const struct frame *frame; /* NULL: the line shows only the number of frames */
	enum frame_class class;
	size_t n_folded; /* frames that the line stands for, besides frame */
	bool is_cut; /* the frames are left out because the stack is long */
};

struct lines {
	struct line *line;
	size_t n, cap;
};

static int add_line(struct lines *l, struct line line, struct err *err)
{
	int n = vec_reserve(&l->line, &l->cap, l->n + 1, sizeof(*l->line), err);

	if (n == 0)
		l->line[l->n++] = line;
	return n;
}

static enum frame_class class_of(struct report_view *v, const struct frame *f)
{
	return frame_class_by(query_rules(v->report.query), f);
}

/* The class of a run: allocator if all frames are allocator frames, else runtime. */
static enum frame_class class_of_run(struct report_view *v, const struct frame **frame, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (class_of(v, frame[i]) != FRAME_CLASS_ALLOCATOR)
			return FRAME_CLASS_RUNTIME;
	}
	return FRAME_CLASS_ALLOCATOR;
}

/* Adds the line of a run of folded frames. The outermost run of a stack shows no frame. */
static int add_run(struct lines *l, struct report_view *v, const struct frame **frame, size_t n,
		   bool is_outermost, struct err *err)
{
	struct line line = {.class = class_of_run(v, frame, n)};

	if (is_outermost && n > 1) {
		line.n_folded = n;
	} else {
		line.frame = frame[n - 1];
		line.n_folded = n - 1;
	}
	return add_line(l, line, err);
}

/* Is there a frame that is not folded? */
static bool has_visible_frame(struct report_view *v, const struct frame **frame, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!frame_class_is_folded(class_of(v, frame[i])))
			return true;
	}
	return false;
}

/* Makes the lines of a stack. Nothing is folded if all frames would be. */
static int fold(struct lines *l, struct report_view *v, const struct frame **frame, size_t n_frames,
		struct err *err)
{
	bool is_folded = !v->options->is_full && has_visible_frame(v, frame, n_frames);
	int n = 0;

	for (size_t i = 0; i < n_frames && n == 0;) {
		enum frame_class class = class_of(v, frame[i]);
		size_t end = i + 1;

		if (!is_folded || !frame_class_is_folded(class)) {
			n = add_line(l, (struct line){.frame = frame[i], .class = class}, err);
			i++;
			continue;
		}
		while (end < n_frames && frame_class_is_folded(class_of(v, frame[end])))
			end++;
		n = add_run(l, v, frame + i, end - i, end == n_frames, err);
		i = end;
	}
	return n;
}

/* The number of frames that the lines from `from` to `to` - 1 stand for. */
static size_t frames_of_lines(const struct lines *l, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += l->line[i].n_folded + (l->line[i].frame != NULL);
	return n;
}

/* Keeps the innermost lines of a long stack and the outermost line of the program's own code. */
static void cut_middle(struct lines *l)
{
	struct line tail = {0};
	size_t last = 0, n_outer, n_cut, n = FIRST_LINES;

	if (l->n <= MAX_LINES)
		return;
	for (size_t i = FIRST_LINES + 1; i < l->n; i++) {
		if (l->line[i].frame && l->line[i].class == FRAME_CLASS_OWN)
			last = i;
	}
	if (last > 0)
		tail = l->line[last];
	n_cut = frames_of_lines(l, n, last > 0 ? last : l->n);
	n_outer = last > 0 ? frames_of_lines(l, last + 1, l->n) : 0;
	l->line[n++] = (struct line){.n_folded = n_cut, .is_cut = true};
	if (last > 0)
		l->line[n++] = tail;
	if (n_outer > 0)
		l->line[n++] = (struct line){.n_folded = n_outer, .is_cut = true};
	l->n = n;
}

/* Shortens the path of a source: relative to the program's working directory, or the last three
 * parts of a long path, with *prefix ".../". */
static const char *short_path(const struct report_view *v, const char *path, const char **prefix)
{
	size_t len;
	const char *cwd = store_string(v->store, v->report.facts->cwd, &len);
	const char *at = path + strlen(path);

	*prefix = "";
	if (len > 1 && strncmp(path, cwd, len) == 0 && path[len] == '/')
		return path + len + 1;
	if (at - path <= PATH_COLUMNS)
		return path;
	*prefix = ".../";
	for (unsigned n_slashes = 0; at > path; at--) {
		if (at[-1] == '/' && ++n_slashes == 3)
			return at;
	}
	return path;
}

static void print_text(FILE *out, const char *text)
{
	human_print_text(out, text, strlen(text));
}

static void print_name(const struct report_view *v, const struct frame *f, FILE *out)
{
	char buf[FRAME_NAME_BYTES];

	if (f->function && *f->function) {
		print_text(out,
			   v->options->is_full ? f->function : frame_name_short(f->function, buf));
	} else if (f->module) {
		print_text(out, text_basename(f->module));
		fprintf(out, "+0x%" PRIx64, f->module_offset);
	} else {
		fprintf(out, "0x%" PRIx64, f->addr);
	}
}

/* Prints source and line, and the module of code that is not the program's own. */
static void print_location(const struct report_view *v, const struct frame *f,
			   enum frame_class class, FILE *out)
{
	const char *space = "";

	if (f->source && *f->source) {
		const char *prefix = "", *path = f->source;
		char buf[CLEAN_PATH_BYTES];

		if (!v->options->is_full)
			path = short_path(v, clean_path(path, buf), &prefix);
		fputs(prefix, out);
		print_text(out, path);
		if (f->line)
			fprintf(out, ":%" PRIu32, f->line);
		if (v->options->is_full && f->column)
			fprintf(out, ":%" PRIu32, f->column);
		space = " ";
	}
	if (f->module && f->function && (class != FRAME_CLASS_OWN || !f->source)) {
		fprintf(out, "%s[", space);
		print_text(out, v->options->is_full ? f->module : text_basename(f->module));
		fputc(']', out);
	}
}

void report_stack_print_location(const struct report_view *v, const struct frame *f, FILE *out)
{
	print_location(v, f, FRAME_CLASS_OWN, out);
}

void report_stack_print_frame(const struct report_view *v, const struct frame *f, FILE *out)
{
	print_name(v, f, out);
	if (f->source && *f->source) {
		fputs(" at ", out);
		report_stack_print_location(v, f, out);
	} else if (f->function && f->module) {
		fprintf(out, " in ");
		print_text(out, text_basename(f->module));
	}
}

/* The width of UTF-8 text; every character counts as one column. */
static size_t columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Prints at most n columns of text; a longer text ends with "..". */
static void print_cut(FILE *out, const char *text, size_t n)
{
	bool is_cut = columns(text) > n;
	size_t left = is_cut ? n - 2 : n;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80 && left-- == 0)
			break;
		fputc(*text, out);
	}
	fputs(is_cut ? ".." : "", out);
}

static const char *word_of(enum frame_class class, bool is_cut)
{
	return is_cut ? "more" : class == FRAME_CLASS_ALLOCATOR ? "allocator" : "runtime";
}

/* The location without as many outer folders as it takes to fit into n columns. */
static const char *fit_location(const char *location, size_t n)
{
	const char *slash;

	while (columns(location) > n && (slash = strchr(location, '/')) && slash[1])
		location = slash + 1;
	return location;
}

/* The location of a frame as a text, to free(). NULL: no memory. */
static char *location_of(const struct report_view *v, const struct frame *f, enum frame_class class)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	print_location(v, f, class, out);
	return fclose(out) == 0 ? text : NULL;
}

/* Its name, with "(inlined)" where that is so. */
static char *name_of(const struct report_view *v, const struct frame *f, bool says_inlined)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	print_name(v, f, out);
	fputs(says_inlined && f->is_inline ? " (inlined)" : "", out);
	return fclose(out) == 0 ? text : NULL;
}

int report_stack_print_cut(const struct report_view *v, const struct frame *f, size_t n_columns,
			   const struct paint *paint, struct err *err)
{
	enum frame_class class = frame_class_by(query_rules(v->report.query), f);
	char *name = name_of(v, f, false), *location = location_of(v, f, class);
	int n = name && location ? 0 : err_set_memory(err, 1);

	if (n == 0) {
		size_t n_name = columns(name);
		size_t room = n_columns > n_name + 2 ? n_columns - n_name - 2 : 0;
		const char *place = fit_location(location, room);

		paint_start(paint, PAINT_BOLD);
		print_cut(paint->out, name, n_columns);
		paint_end(paint, PAINT_BOLD);
		if (*place && columns(place) <= room) {
			fputs("  ", paint->out);
			paint_text(paint, PAINT_DIM, "%s", place);
		}
	}
	free(name);
	free(location);
	return n;
}

/* Prints name and location of a line, padded and cut for the width. */
static void print_columns(const struct report_view *v, const struct line *l, const char *name,
			  const char *location, const struct paint *paint)
{
	enum paint_style style = l->class == FRAME_CLASS_OWN       ? PAINT_BOLD
				 : frame_class_is_folded(l->class) ? PAINT_DIM
								   : PAINT_PLAIN;
	size_t room = v->options->width > INDENT + 2 + 20 ? v->options->width - INDENT - 2 : 0;
	size_t n_name = columns(name), n_location = columns(location);
	size_t n_pad = n_name < NAME_COLUMNS ? NAME_COLUMNS - n_name : 0;

	if (room > 0) {
		size_t for_name;

		location = fit_location(location, room > n_name + 2 ? room - n_name - 2 : 0);
		n_location = columns(location);
		for_name = room > n_location + 2 + 20 ? room - n_location - 2 : 20;

		if (n_name > for_name)
			n_name = for_name;
		n_pad = n_name + n_pad + 2 + n_location > room
				? (room > n_name + 2 + n_location ? room - n_name - 2 - n_location
								  : 0)
				: n_pad;
	}
	paint_start(paint, style);
	print_cut(paint->out, name, n_name);
	paint_end(paint, style);
	if (!*location)
		return;
	fprintf(paint->out, "%*s  ", (int)n_pad, "");
	paint_start(paint, l->class == FRAME_CLASS_OWN ? PAINT_PLAIN : PAINT_DIM);
	fputs(location, paint->out);
	paint_end(paint, PAINT_DIM);
}

/* What stands beside the name of a line: the location, or how many frames are folded. */
static char *beside_name(const struct report_view *v, const struct line *l)
{
	char *text;

	if (l->n_folded == 0)
		return location_of(v, l->frame, l->class);
	if (asprintf(&text, "... and %zu %s frame%s inside", l->n_folded, word_of(l->class, false),
		     l->n_folded == 1 ? "" : "s") < 0)
		return NULL;
	return text;
}

static int print_line(struct report_view *v, const struct line *l, const struct paint *paint,
		      struct err *err)
{
	char *name, *location;
	int n;

	fprintf(paint->out, "%*s%s ", INDENT, "",
		l->frame && l->class == FRAME_CLASS_OWN ? ">" : " ");
	if (!l->frame) {
		paint_text(paint, PAINT_DIM, "... %zu %s frame%s\n", l->n_folded,
			   word_of(l->class, l->is_cut), l->n_folded == 1 ? "" : "s");
		return 0;
	}
	name = name_of(v, l->frame, true);
	location = beside_name(v, l);
	n = name && location ? 0 : err_set_memory(err, 1);
	if (n == 0) {
		print_columns(v, l, name, location, paint);
		fputc('\n', paint->out);
	}
	free(name);
	free(location);
	return n;
}

/* Prints why a stack is cut, and that frames may be wrong. */
static void print_end(struct report_view *v, uint32_t stack, const struct paint *paint)
{
	const struct store_node *node = store_node(v->store, store_stack(v->store, stack)->node);

	if (node->end != 0)
		paint_text(paint, PAINT_DIM, "%*s  (the stack was cut here: %s)\n", INDENT, "",
			   health_end_words(node->end));
	if (node->has_guess)
		paint_text(paint, PAINT_DIM,
			   "%*s  (some callers were found by the frame pointer alone)\n", INDENT,
			   "");
}

int report_stack_print(struct report_view *v, uint32_t stack, const struct paint *paint,
		       struct err *err)
{
	const struct frame **frame = NULL;
	struct lines l = {0};
	size_t n_frames = 0;
	int n = frames_list(v->frames, stack, &frame, &n_frames, err);

	if (n == 0)
		n = fold(&l, v, frame, n_frames, err);
	if (n == 0 && !v->options->is_full)
		cut_middle(&l);
	for (size_t i = 0; i < l.n && n == 0; i++)
		n = print_line(v, &l.line[i], paint, err);
	if (n == 0 && n_frames == 0)
		paint_text(paint, PAINT_DIM, "%*s  (no call stack)\n", INDENT, "");
	if (n == 0)
		print_end(v, stack, paint);
	free(l.line);
	free(frame);
	return n;
}

int report_stack_text(struct report_view *v, uint32_t stack, char **ret, struct err *err)
{
	struct paint paint = {0};
	char *text = NULL;
	size_t len;
	int n;

	paint.out = open_memstream(&text, &len);
	if (!paint.out)
		return err_set_memory(err, 1);
	n = report_stack_print(v, stack, &paint, err);
	fclose(paint.out);
	if (n < 0) {
		free(text);
		return n;
	}
	*ret = text;
	return 0;
}
