/* gather/gather_text.c - see gather_text.h. */
#include "gather/gather_text.h"

#include <inttypes.h>
#include <string.h>

#include "util/human.h"
#include "util/monotonic.h"

void gather_text_init(struct gather_text *t, FILE *out, bool is_terminal)
{
	*t = (struct gather_text){
		.out = out,
		.is_terminal = is_terminal,
		.shown_ns = monotonic_ns(),
	};
}

/* Takes the rates off the terminal, so that another line can be printed. */
static void erase_rates(struct gather_text *t)
{
	if (t->is_terminal && t->n_lines > 0)
		fprintf(t->out, "\033[%uA\033[J", t->n_lines);
	t->n_lines = 0;
}

static void print_process(struct gather_text *t, const struct gather_link *l)
{
	if (l->process.pid == 0)
		return;
	human_print_text(t->out, l->process.name, strlen(l->process.name));
	fprintf(t->out, " (%" PRIu32 "): ", l->process.pid);
}

static const char *path_of(const struct gather_link *l)
{
	return l->file.path ? l->file.path : "nothing";
}

void gather_text_event(struct gather_text *t, const struct gather_link *l,
		       enum gather_link_event event)
{
	char size[HUMAN_BYTES];

	if (!t->out)
		return;
	erase_rates(t);
	print_process(t, l);
	human_size(l->file.size_bytes, size);
	switch (event) {
	case GATHER_LINK_BEGAN:
		fprintf(t->out, "receiving %s\n", path_of(l));
		break;
	case GATHER_LINK_CAME_BACK:
		fprintf(t->out, "connected again, receiving goes on\n");
		break;
	case GATHER_LINK_ENDED:
		fprintf(t->out, "ended, %s is complete (%s)\n", path_of(l), size);
		break;
	case GATHER_LINK_BROKE:
	case GATHER_LINK_CUT:
	case GATHER_LINK_FAILED:
		human_print_text(t->out, l->err.text, strlen(l->err.text));
		if (event == GATHER_LINK_BROKE)
			fprintf(t->out, "; trying again\n");
		else if (event == GATHER_LINK_CUT)
			fprintf(t->out, "; %s holds what has arrived (%s)\n", path_of(l), size);
		else
			fprintf(t->out, "\n");
		break;
	case GATHER_LINK_NOTHING:
		break;
	}
	fflush(t->out);
}

void gather_text_rates(struct gather_text *t, struct gather_link *const *link, size_t n)
{
	uint64_t now_ns = monotonic_ns(), elapsed_ns = now_ns - t->shown_ns;
	char rate[HUMAN_BYTES], size[HUMAN_BYTES], behind[HUMAN_BYTES];

	t->shown_ns = now_ns;
	if (!t->out || elapsed_ns == 0)
		return;
	erase_rates(t);
	for (size_t i = 0; i < n; i++) {
		struct gather_link *l = link[i];
		double bytes = (double)(l->n_received - l->n_shown);
		uint64_t left =
			l->piece.n_bytes > l->file.next ? l->piece.n_bytes - l->file.next : 0;

		l->n_shown = l->n_received;
		if (l->state != GATHER_LINK_RECEIVING)
			continue;
		print_process(t, l);
		fprintf(t->out, "%s/s, %s received",
			human_size((uint64_t)(bytes * 1e9 / (double)elapsed_ns), rate),
			human_size(l->file.size_bytes, size));
		if (left > 0) /* of what there was when the connection was made */
			fprintf(t->out, ", at least %s to come", human_size(left, behind));
		fputc('\n', t->out);
		t->n_lines++;
	}
	fflush(t->out);
}

void gather_text_end(struct gather_text *t)
{
	if (t->out)
		erase_rates(t);
}
