/* cli/cmd_top.c - `memory-profiler-cli top`: who holds memory and who allocates now, again and
 * again. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/open_args.h"
#include "cli/top_table.h"
#include "gather/remote_copy.h"
#include "query/frame_name.h"
#include "util/human.h"

#define DEFAULT_INTERVAL_S 2
#define BATCH_LINES 20
#define HEAD_LINES 4

struct top {
	struct open_args open;
	const char *path, *target;
	uint64_t interval_s, n_rounds; /* n_rounds 0: until the user ends it */
	enum top_sort sort;
	bool is_terminal;
	struct top_history history;
	struct termios before; /* of the terminal */
};

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
	(void)number;
	is_over = 1;
}

static unsigned lines_of_screen(const struct top *t, unsigned *columns)
{
	struct winsize w;

	*columns = 0;
	if (!t->is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 ||
	    w.ws_row < HEAD_LINES + 2)
		return BATCH_LINES;
	*columns = w.ws_col;
	return w.ws_row - HEAD_LINES - 1u;
}

static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return (uint64_t)((double)n * 1e9 / (double)ns);
}

static void print_line(const struct top_line *l, uint64_t window_ns, const char *name,
		       unsigned columns)
{
	char a[HUMAN_BYTES], b[HUMAN_BYTES], c[HUMAN_BYTES], d[HUMAN_BYTES],
		row[FRAME_NAME_BYTES + 80];
	int n = snprintf(row, sizeof(row), "%10s %10s %10s/s %8s/s  ", human_size(l->held_bytes, a),
			 human_rough(l->held_count, b),
			 human_size(per_second(l->now_bytes, window_ns), c),
			 human_rough(per_second(l->now_count, window_ns), d));
	size_t room = columns > (unsigned)n ? columns - (unsigned)n : 0;

	fputs(row, stdout);
	if (columns == 0 || room > strlen(name))
		room = strlen(name);
	human_print_text(stdout, name, room);
	putchar('\n');
}

static void print_head(const struct top *t, const struct open_recording *o)
{
	const struct store_facts *f = store_facts(o->store);
	char a[HUMAN_BYTES], b[HUMAN_BYTES];
	const char *executable = store_string(o->store, f->executable, NULL);

	human_print_text(stdout, executable, strlen(executable));
	printf(" (%" PRIu64 "), %s, peak %s%s\n", f->pid, human_duration(f->duration_ns, a),
	       human_size(f->peak_bytes, b), o->is_growing ? "" : ", ended");
	if (t->is_terminal)
		printf("h: who holds, a: who allocates, q: quit\n");
	printf("%10s %10s %12s %10s  %s\n", t->sort == TOP_HELD ? "HOLDS*" : "HOLDS", "BLOCKS",
	       t->sort == TOP_RATE ? "ALLOCATES*" : "ALLOCATES", "CALLS", "FUNCTION");
}

static int show(struct top *t, struct open_recording *o, struct err *err)
{
	char name[FRAME_NAME_BYTES];
	struct top_table table;
	unsigned columns, n_lines = lines_of_screen(t, &columns);
	int n = top_table_make(o, t->interval_s * NS_PER_S, t->sort, &t->history, &table, err);

	if (n == 0) {
		if (t->is_terminal)
			fputs("\033[H\033[J", stdout);
		print_head(t, o);
		print_line(&table.total, table.window_ns, "(all)", columns);
		for (size_t i = 0; i < table.n && i < n_lines; i++)
			print_line(&table.line[i], table.window_ns,
				   frame_name_short(table.line[i].function, name), columns);
		fflush(stdout);
	}
	top_table_fini(&table);
	return n;
}

/* Keys come one by one, and are not shown. */
static void set_terminal(struct top *t)
{
	struct sigaction a = {.sa_handler = on_signal};
	struct termios now;

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	if (!t->is_terminal || tcgetattr(STDIN_FILENO, &t->before) < 0)
		return;
	now = t->before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

/* Waits for the next round, or for a key that asks for one. */
static void wait_for_user(struct top *t)
{
	struct pollfd p = {.fd = t->is_terminal ? STDIN_FILENO : -1, .events = POLLIN};
	char key = 0;

	if (poll(&p, 1, (int)(t->interval_s * 1000)) <= 0)
		return;
	if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q')
		is_over = 1;
	if (key == 'h')
		t->sort = TOP_HELD;
	if (key == 'a')
		t->sort = TOP_RATE;
}

static int run_rounds(struct top *t, struct err *err)
{
	int n = 0;

	for (uint64_t i = 0; n == 0 && !is_over && (!t->n_rounds || i < t->n_rounds); i++) {
		struct open_recording o = {0};
		bool is_growing;

		if (i > 0)
			wait_for_user(t);
		if (is_over)
			break;
		n = open_recording_open(t->path, &t->open.options, &o, err);
		if (n < 0)
			return n;
		is_growing = o.is_growing;
		n = show(t, &o, err);
		open_recording_close(&o);
		if (!is_growing && !t->is_terminal)
			break;
	}
	return n;
}

static int run(struct top *t)
{
	struct remote_copy copy = {0};
	struct err err = {0};
	int n = t->target ? remote_copy_open(t->target, &copy, &err) : 0;

	if (n == 0) {
		if (copy.path)
			t->path = copy.path;
		t->open.options.no_cache = false;
		set_terminal(t);
		n = run_rounds(t, &err);
		if (t->is_terminal)
			tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	}
	remote_copy_close(&copy);
	if (n < 0)
		args_complain("%s", err.text);
	return n < 0 ? CLI_FAILED : CLI_OK;
}

static bool read_number(const char *text, const char *option, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!text)
		return true;
	*ret = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *ret <= max)
		return true;
	args_complain("'%s %s': write a number up to %" PRIu64, option, text, max);
	return false;
}

int cmd_top(int argc, char **argv)
{
	struct top t = {.interval_s = DEFAULT_INTERVAL_S};
	const char *interval = NULL, *rounds = NULL, *sort = NULL;
	const struct args_option option[] = {
		{.name = "connect",
		 .value = "HOST:PORT",
		 .help = "look at a program on another host",
		 .text = &t.target},
		{.letter = 's',
		 .name = "interval",
		 .value = "SECONDS",
		 .help = "time between two looks (2)",
		 .text = &interval},
		{.letter = 'n',
		 .name = "rounds",
		 .value = "N",
		 .help = "end after N looks",
		 .text = &rounds},
		{.name = "sort", .value = "ORDER", .help = "held (default) or rate", .text = &sort},
		OPEN_ARGS(t.open),
	};
	const struct args_command command = {
		.name = "top",
		.operands = "RECORDING | --connect HOST:PORT",
		.help = "Shows which functions hold memory and which allocate now, while the "
			"program "
			"runs.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
	};
	struct err err = {0};
	int first, end, status = args_parse(&command, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	if (!read_number(interval, "--interval", 86400, &t.interval_s) ||
	    !read_number(rounds, "--rounds", UINT32_MAX, &t.n_rounds))
		return CLI_USAGE;
	if (sort && strcmp(sort, "held") != 0 && strcmp(sort, "rate") != 0) {
		args_complain("'--sort %s': write held or rate", sort);
		return CLI_USAGE;
	}
	t.sort = sort && !strcmp(sort, "rate") ? TOP_RATE : TOP_HELD;
	if ((end - first == 1) == (t.target != NULL)) {
		args_complain("one RECORDING, or --connect HOST:PORT; see '" PROGRAM
			      " top --help'");
		return CLI_USAGE;
	}
	t.interval_s += t.interval_s == 0;
	t.path = argv[first];
	t.is_terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	if (open_args_finish(&t.open, &err) < 0) {
		args_complain("top: %s", err.text);
		return CLI_USAGE;
	}
	status = run(&t);
	top_history_fini(&t.history);
	return status;
}
