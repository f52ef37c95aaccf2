/* cli/cmd_server.c - `memory-profiler-cli server`: recordings over HTTP. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/open_args.h"
#include "gather/remote_copy.h"
#include "recording/header_page.h"
#include "recording/pieces.h"
#include "serve/serve.h"
#include "serve/source_file.h"

#define TOKEN_BYTES 512
#define DEFAULT_PORT 8080u

/* Everything that the command line sets. */
struct server_command {
	struct open_args open; /* for every recording */
	struct args_list host, origin, source;
	struct pieces_group *group; /* of recordings; several paths: the pieces of one */
	size_t n_groups;
	const char *interface, *port, *token;
	const char *target; /* --connect; NULL: none */
	bool wants_openapi;
	pthread_mutex_t lock; /* guards loaded */
	FILE *loaded; /* where to say that a recording is loaded; NULL: nowhere */
};

/* ---- recordings: the callbacks of serve_source ---- */

static int identify(void *user, const char *path, uint8_t id[16])
{
	struct header_page page;
	struct file f = FILE_NONE;
	int r = file_open(path, &f, NULL);

	(void)user;
	if (r == 0)
		r = header_page_read(&f, &page, NULL);
	if (r == 0)
		memcpy(id, page.header.recording_id, sizeof(page.header.recording_id));
	file_close(&f);
	return r;
}

static int report_progress(void *user, uint64_t n_done, uint64_t n_total)
{
	return registry_progress(user, n_done, n_total) ? 0 : -1;
}

/* The pieces of the recording whose first piece has this path. */
static const struct pieces_group *find_group(const struct server_command *c, const char *path)
{
	size_t i = 0;

	while (i < c->n_groups && c->group[i].path[0] != path)
		i++;
	return i < c->n_groups ? &c->group[i] : NULL;
}

static int open_recording(void *user, const char *path, struct registry_loading *l,
			  struct registry_opened *ret, struct err *err)
{
	const struct server_command *c = user;
	const struct pieces_group *group = find_group(c, path);
	struct open_options options = c->open.options;
	struct open_recording *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return err_set_memory(err, sizeof(*o));
	options.on_progress = report_progress;
	options.user = l;
	if (group) {
		options.piece = group->path + 1;
		options.n_pieces = group->n - 1;
	}
	r = open_recording_open(path, &options, o, err);
	if (r < 0) {
		free(o);
		if (r != -ERR_CANCELLED)
			args_complain("%s", err->text);
		return r;
	}
	for (size_t i = 0; i < o->n_notes; i++)
		args_complain("%s: %s", path, o->note[i]);
	*ret = (struct registry_opened){
		.store = o->store, .frames = o->frames, .handle = o, .is_growing = o->is_growing};
	return 0;
}

static void close_recording(void *user, struct registry_opened *opened)
{
	(void)user;
	open_recording_close(opened->handle);
	free(opened->handle);
}

/* The words are those of koute's server, which scripts wait for. Scripts also read the address from
 * the first line, so what is loaded before the address is known is reported after it. */
static void report_loaded(void *user, const char *path, uint64_t elapsed_ns)
{
	struct server_command *c = user;

	pthread_mutex_lock(&c->lock);
	if (c->loaded) {
		fprintf(c->loaded, "%s: Loaded data in %llus %03llu\n", path,
			(unsigned long long)(elapsed_ns / NS_PER_S),
			(unsigned long long)(elapsed_ns % NS_PER_S / NS_PER_MS));
		fflush(c->loaded);
	}
	pthread_mutex_unlock(&c->lock);
}

/* From now on report_loaded() writes to stdout. */
static void release_reports(struct server_command *c, FILE *early, char **text)
{
	pthread_mutex_lock(&c->lock);
	c->loaded = stdout;
	if (early && fclose(early) == 0)
		fputs(*text, stdout);
	fflush(stdout);
	pthread_mutex_unlock(&c->lock);
}

static bool has_grown(void *user, const char *path, const struct registry_opened *opened)
{
	(void)user;
	(void)path;
	return open_recording_has_grown(opened->handle);
}

/* ---- options ---- */

static bool read_port(const char *text, unsigned *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n > 65535) {
		args_complain("server: '--port %s': write a number from 0 to 65535", text);
		return false;
	}
	*ret = (unsigned)n;
	return true;
}

/* Sets *ret to the token. "@FILE" stands for the first line of a file: other users cannot see it in
 * the list of processes. False after a complaint. */
static bool read_token(const char *text, char buf[TOKEN_BYTES], const char **ret)
{
	FILE *f;

	*ret = text;
	if (!text || text[0] != '@') {
		if (!text || *text)
			return true;
		args_complain("server: --token: the token is empty; give some text or @FILE");
		return false;
	}
	f = fopen(text + 1, "re");
	if (!f || !fgets(buf, TOKEN_BYTES, f))
		buf[0] = '\0';
	if (f)
		fclose(f);
	buf[strcspn(buf, "\r\n")] = '\0';
	if (!buf[0]) {
		args_complain(
			"server: --token %s: the file cannot be read, or its first line is empty",
			text);
		return false;
	}
	*ret = buf;
	return true;
}

/* False after a complaint about a --source. */
static bool are_sources(const struct args_list *source)
{
	struct err err = {0};

	for (size_t i = 0; i < source->n; i++) {
		if (source_file_check_rule(source->item[i], &err) < 0) {
			args_complain("server: --source %s", err.text);
			return false;
		}
	}
	return true;
}

/* False after a complaint about each file that cannot be opened. */
static bool can_be_read(char **path, size_t n)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		struct file f = FILE_NONE;
		struct err err = {0};

		if (file_open(path[i], &f, &err) < 0) {
			args_complain("%s: %s", path[i], err.text);
			ok = false;
		}
		file_close(&f);
	}
	return ok;
}

/* ---- running ---- */

static void announce(const struct server *s, const struct serve_options *o)
{
	if (o->port && serve_port(s) != o->port)
		args_complain("port %u is taken; using %u", o->port, serve_port(s));
	if (o->token)
		printf("Listening on %s?token=%s\n", serve_url(s), o->token);
	else
		printf("Listening on %s\n", serve_url(s));
	fflush(stdout);
	if (!o->token && !serve_is_loopback(s))
		args_complain("everybody who reaches this machine can read the recordings; "
			      "add --token to keep others out");
}

/* Keeps the resident memory of a server small that runs for weeks and answers from many threads. By
 * default glibc has a heap per thread, and after the first free of a large block it takes large
 * blocks from these heaps, where they leave holes. Here large blocks always go back to the system,
 * and there are few heaps. */
static void keep_memory_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 512 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_ARENA_MAX, 4);
}

static int run(struct server_command *c, const struct serve_options *o)
{
	char *text = NULL;
	size_t len;
	FILE *early = open_memstream(&text, &len);
	struct server *server = NULL;
	struct err err = {0};
	sigset_t ends;
	int signal_number;

	keep_memory_small();
	/* Blocked in all threads that start from here on; this thread waits for these signals. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	c->loaded = early;
	if (serve_start(o, &server, &err) < 0) {
		args_complain("%s", err.text);
		if (early)
			fclose(early);
		free(text);
		return CLI_FAILED;
	}
	announce(server, o);
	release_reports(c, early, &text);
	sigwait(&ends, &signal_number);
	pthread_sigmask(SIG_UNBLOCK, &ends, NULL); /* a second signal ends the process at once */
	serve_stop(server);
	free(text);
	return CLI_OK;
}

/* Serves the recordings; the pieces of a run are one recording. */
static int run_groups(struct server_command *c, struct serve_options *o, const char *const *path,
		      size_t n_paths)
{
	const char **first = calloc(n_paths + 1, sizeof(*first));
	struct err err = {0};
	int status = CLI_FAILED;
	int r = first ? pieces_group(path, n_paths, &c->group, &c->n_groups, &err)
		      : err_set_memory(&err, n_paths * sizeof(*first));

	for (size_t i = 0; i < c->n_groups; i++)
		first[i] = c->group[i].path[0];
	o->path = first;
	o->n_paths = c->n_groups;
	if (r == 0)
		status = run(c, o);
	else
		args_complain("%s", err.text);
	free(c->group);
	free(first);
	return status;
}

/* ---- the command ---- */

static int parse(struct server_command *c, int argc, char **argv, int *first, int *end)
{
	const struct args_option option[] = {
		{.name = "connect",
		 .value = "HOST:PORT",
		 .help = "no FILE, but a program that runs there with a server",
		 .text = &c->target},
		OPEN_ARGS(c->open),
		SUPPRESSION_ARGS(c->open),
		{.letter = 'i',
		 .name = "interface",
		 .value = "ADDRESS",
		 .help = "address to listen on (127.0.0.1)",
		 .text = &c->interface},
		{.letter = 'p',
		 .name = "port",
		 .value = "PORT",
		 .help = "port (8080), or the next free one; 0: any free port",
		 .text = &c->port},
		{.name = "token",
		 .value = "TOKEN",
		 .help = "answer only requests with this token; @FILE reads it from a file",
		 .text = &c->token},
		{.name = "allow-host",
		 .value = "NAME",
		 .help = "a host name that clients may use for this machine; may be repeated",
		 .list = &c->host},
		{.name = "allow-origin",
		 .value = "ORIGIN",
		 .help = "a web page that may send requests: http://host:port; may be repeated",
		 .list = &c->origin},
		{.name = "source",
		 .value = "DIR|FROM=TO",
		 .help = "folder with source files, or a replacement for the start of their paths; "
			 "may be repeated",
		 .list = &c->source},
		{.name = "openapi",
		 .help = "print the description of the API (OpenAPI 3.1) and exit",
		 .flag = &c->wants_openapi},
	};
	const struct args_command command = {
		.name = "server",
		.operands = "[FILE]...",
		.help = "Serves recordings over HTTP: the web GUI and the REST API "
			"(docs/REST.md). Each\n"
			"recording can be queried as soon as it is loaded; files that are pieces "
			"of one run\n"
			"are one recording. Prints the address and runs until SIGINT or SIGTERM.\n",
		.option = option,
		.n_options = ARRAY_LEN(option),
	};

	return args_parse(&command, argc, argv, first, end);
}

/* Serves a program that runs on another host. */
static int run_remote(struct server_command *c, struct serve_options *o, int n_files)
{
	struct remote_copy copy = {0};
	struct err err = {0};
	int status = CLI_FAILED;

	if (n_files > 0) {
		args_complain("server: write FILEs or --connect HOST:PORT, not both");
		return CLI_USAGE;
	}
	if (remote_copy_open(c->target, &copy, &err) < 0)
		args_complain("%s", err.text);
	else
		status = run_groups(c, o, (const char *const *)&copy.path, 1);
	remote_copy_close(&copy);
	return status;
}

int cmd_server(int argc, char **argv)
{
	struct server_command c = {.interface = "127.0.0.1", .lock = PTHREAD_MUTEX_INITIALIZER};
	struct serve_options o = {
		.port = DEFAULT_PORT,
		.source = {.identify = identify,
			   .open = open_recording,
			   .close = close_recording,
			   .loaded = report_loaded,
			   .has_grown = has_grown,
			   .user = &c},
	};
	char token_text[TOKEN_BYTES];
	struct err err = {0};
	int first, end;
	int status = parse(&c, argc, argv, &first, &end);

	if (status >= 0)
		return status;
	if (c.wants_openapi) {
		serve_write_openapi(stdout);
		return CLI_OK;
	}
	if ((c.port && !read_port(c.port, &o.port)) || !read_token(c.token, token_text, &o.token) ||
	    !are_sources(&c.source))
		return CLI_USAGE;
	if (open_args_finish(&c.open, &err) < 0) {
		args_complain("server: %s", err.text);
		open_args_fini(&c.open);
		return CLI_USAGE;
	}
	o.interface = c.interface;
	o.allow_host = c.host.item;
	o.n_allow_hosts = c.host.n;
	o.allow_origin = c.origin.item;
	o.n_allow_origins = c.origin.n;
	o.source_rule = c.source.item;
	o.n_source_rules = c.source.n;
	if (c.target)
		status = run_remote(&c, &o, end - first);
	else if (!can_be_read(&argv[first], (size_t)(end - first)))
		status = CLI_FAILED;
	else
		status = run_groups(&c, &o, (const char *const *)&argv[first],
				    (size_t)(end - first));
	open_args_fini(&c.open);
	return status;
}
