/* gather/gather_command.c - see gather_command.h. */
#include "gather/gather_command.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gather/gather.h"

#define TOKEN_BYTES 1024
#define DEFAULT_WAIT_S 600
#define MAX_WAIT_S (30u * 24 * 3600)

enum {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE
};

static void print_help(const char *program, FILE *out)
{
	fprintf(out,
		"Usage: %s [OPTION]... [HOST[:PORT]]\n"
		"\n"
		"Receives recordings over the network while they are written, each into a file\n"
		"YYYYMMDD_HHMMSS_PID_NAME.dat. The program to record runs with\n"
		"MEMORY_PROFILER_ENABLE_SERVER=1 and, for other hosts, a "
		"MEMORY_PROFILER_SERVER_TOKEN.\n"
		"\n"
		"With a HOST: receives from one recorder (port 8100 unless given) until it ends.\n"
		"Without: receives from every recorder that announces itself\n"
		"(MEMORY_PROFILER_ENABLE_BROADCAST=1), until Ctrl-C.\n"
		"\n"
		"A connection that breaks is made again, and receiving goes on where it stopped.\n"
		"\n"
		"Options:\n"
		"  -o, --output-dir DIR   write the files there (default: the current folder)\n"
		"      --token-file FILE  read the token from the first line of a file (default: "
		"the\n"
		"                         variable MEMORY_PROFILER_SERVER_TOKEN)\n"
		"      --wait SECONDS     how long to wait for a host that does not answer (600)\n"
		"  -q, --quiet            say nothing but errors\n"
		"  -h, --help             show this help\n",
		program);
}

static bool read_token(const char *program, const char *path, char *token)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(token, TOKEN_BYTES, f);

	if (!ok)
		fprintf(stderr, "%s: %s: %s\n", program, path,
			f && !ferror(f) ? "the file is empty" : strerror(errno));
	if (f)
		fclose(f);
	token[strcspn(token, "\r\n")] = 0;
	return ok;
}

static bool parse_wait(const char *text, unsigned *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || end == text || text[0] == '-' || v > MAX_WAIT_S)
		return false;
	*ret = (unsigned)v;
	return true;
}

static void on_signal(int number)
{
	(void)number;
	gather_stop();
}

static void catch_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static int run(const char *program, const struct gather_options *o)
{
	struct err err = {0};
	unsigned n_cut = 0;
	int n;

	catch_signals();
	if (!o->target && o->out) {
		fprintf(o->out,
			"waiting for recorders that announce themselves "
			"(MEMORY_PROFILER_ENABLE_BROADCAST=1); HOST as argument needs none; Ctrl-C "
			"ends\n");
		fflush(o->out);
	}
	n = gather_run(o, &n_cut, &err);
	if (n < 0) {
		fprintf(stderr, "%s: %s\n", program, err.text);
		return n == -ERR_USAGE ? STATUS_USAGE : STATUS_FAILED;
	}
	return n_cut > 0 ? STATUS_FAILED : STATUS_OK;
}

/* Is this a folder in which files can be made? */
static bool check_folder(const char *program, const char *folder)
{
	struct stat st;

	if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && access(folder, W_OK) == 0)
		return true;
	fprintf(stderr, "%s: %s: %s\n", program, folder,
		stat(folder, &st) == 0 && !S_ISDIR(st.st_mode) ? "not a folder" : strerror(errno));
	return false;
}

int gather_command(const char *program, int argc, char **argv)
{
	static const struct option options[] = {
		{"output-dir", required_argument, NULL, 'o'},
		{"token-file", required_argument, NULL, 't'},
		{"wait", required_argument, NULL, 'w'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *variable = getenv("MEMORY_PROFILER_SERVER_TOKEN");
	char token[TOKEN_BYTES] = "";
	struct gather_options o = {
		.link = {.folder = ".",
			 .token = variable ? variable : "",
			 .wait_s = DEFAULT_WAIT_S},
		.out = stdout,
		.is_terminal = isatty(STDOUT_FILENO),
	};
	int c;

	optind = 0; /* another part of the program may have used getopt() */
	argv[0] = (char *)program;
	while ((c = getopt_long(argc, argv, "o:qh", options, NULL)) != -1) {
		if (c == 'h') {
			print_help(program, stdout);
			return STATUS_OK;
		}
		if (c == 't' && !read_token(program, optarg, token))
			return STATUS_FAILED;
		if (c == 't')
			o.link.token = token;
		if (c == 'o')
			o.link.folder = optarg;
		if (c == 'q')
			o.out = NULL;
		if (c == '?' || (c == 'w' && !parse_wait(optarg, &o.link.wait_s))) {
			if (c == 'w')
				fprintf(stderr, "%s: --wait: '%s' is no number of seconds\n",
					program, optarg);
			return STATUS_USAGE;
		}
	}
	if (argc - optind > 1) {
		fprintf(stderr, "%s: one HOST[:PORT] at most; see '%s --help'\n", program, program);
		return STATUS_USAGE;
	}
	o.target = optind < argc ? argv[optind] : NULL;
	return check_folder(program, o.link.folder) ? run(program, &o) : STATUS_FAILED;
}
