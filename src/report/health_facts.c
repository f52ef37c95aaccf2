/* report/health_facts.c - see health.h: facts about the process, as names and texts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/health_i.h"
#include "util/human.h"

/* A text that is being written; out is NULL when there is no memory. */
struct value {
	char *text;
	size_t len;
	FILE *out;
};

static FILE *value_open(struct value *v)
{
	*v = (struct value){0};
	v->out = open_memstream(&v->text, &v->len);
	return v->out;
}

/* Adds the text as a fact, unless it is empty. -ERR_MEMORY. */
static int take_value(struct health *h, const char *name, struct value *v, struct err *err)
{
	if (fclose(v->out) != 0 || !v->text) {
		free(v->text);
		return err_set_memory(err, 1);
	}
	if (v->len == 0 || h->n_facts == HEALTH_MAX_FACTS) {
		free(v->text);
		return 0;
	}
	h->fact[h->n_facts++] = (struct health_fact){name, v->text};
	return 0;
}

/* The arguments; arguments with blanks are in quotes. */
static void put_command(const struct store *s, FILE *out)
{
	size_t len;
	const char *text = store_string(s, store_facts(s)->cmdline, &len);

	for (size_t at = 0; at < len;) {
		size_t n = strnlen(text + at, len - at);
		const char *quote = n == 0 || memchr(text + at, ' ', n) ? "'" : "";

		fprintf(out, "%s%s", at ? " " : "", quote);
		fwrite(text + at, 1, n, out);
		fputs(quote, out);
		at += n + 1;
	}
}

/* "glibc", with its version if the name of its file has one, or "musl". */
static void put_libc(const struct store *s, FILE *out)
{
	size_t n;
	const struct store_module *m = store_table(s, STORE_MODULES, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = text_basename(store_string(s, m[i].path, NULL));

		if (strcmp(name, "libc.so.6") == 0) {
			fputs(", glibc", out);
			return;
		}
		if (strncmp(name, "libc-2.", 7) == 0) {
			fprintf(out, ", glibc 2.%.*s", (int)strspn(name + 7, "0123456789"),
				name + 7);
			return;
		}
		if (strncmp(name, "ld-musl", 7) == 0) {
			fputs(", musl", out);
			return;
		}
	}
}

static void put_process(const struct store *s, FILE *out)
{
	const struct store_facts *f = store_facts(s);
	const char *arch = store_string(s, f->arch, NULL);
	size_t n_threads = store_count_threads(s);
	char a[HUMAN_BYTES];

	fprintf(out, "pid %" PRIu64, f->pid);
	if (*arch)
		fprintf(out, ", %s", arch);
	fprintf(out, ", %s thread%s", human_count(n_threads, a), n_threads == 1 ? "" : "s");
	put_libc(s, out);
	if (f->parent_pid)
		fprintf(out, ", forked by process %" PRIu64, f->parent_pid);
}

/* Whose blocks were recorded besides those of the C library's functions. */
static void put_allocators(const struct store *s, FILE *out)
{
	size_t n;
	const struct store_allocator *a = store_table(s, STORE_ALLOCATORS, &n);

	for (size_t i = 0; i < n; i++) {
		const char *prefix = store_string(s, a[i].prefix, NULL);
		const char *module = store_string(s, a[i].module, NULL);

		fprintf(out, "%s%s", i ? ", " : "", store_string(s, a[i].name, NULL));
		if (*prefix)
			fprintf(out, " (%s*)", prefix);
		fprintf(out, " in %s", *module ? text_basename(module) : "the program");
	}
}

/* Finds the soft limit in a line of /proc/PID/limits. False: unlimited, or not known. */
static bool find_limit(const char *limits, const char *name, uint64_t *ret)
{
	const char *line = strstr(limits, name);
	char *end;

	if (!line)
		return false;
	line += strlen(name);
	line += strspn(line, " ");
	*ret = strtoull(line, &end, 10);
	return end != line && *ret > 0;
}

/* The process's limits on memory (setrlimit()), from /proc/PID/limits. */
static void put_limits(const struct store *s, FILE *out)
{
	static const struct {
		const char *name, *words;
	} limit[] = {
		{"Max address space", "of address space (ulimit -v)"},
		{"Max data size", "of data (ulimit -d)"},
	};
	const char *text = store_string(s, store_facts(s)->limits, NULL), *separator = "";
	char a[HUMAN_BYTES];
	uint64_t n_bytes = store_facts(s)->memory_limit_bytes;

	if (n_bytes) {
		fprintf(out, "%s of memory (control group)", human_size(n_bytes, a));
		separator = ", ";
	}
	for (size_t i = 0; i < ARRAY_LEN(limit); i++) {
		if (find_limit(text, limit[i].name, &n_bytes)) {
			fprintf(out, "%s%s %s", separator, human_size(n_bytes, a), limit[i].words);
			separator = ", ";
		}
	}
}

/* The cgroup that limits memory, unless it is the root: "4:memory:/a" (version 1) or "0::/a". */
static void put_cgroup(const struct store *s, FILE *out)
{
	const char *line = store_string(s, store_facts(s)->cgroup, NULL);

	while (*line) {
		size_t len = strcspn(line, "\n");
		const char *end = line + len, *path = memchr(line, '/', len);
		const char *memory = memmem(line, len, ":memory:", 8);

		if (path && end - path > 1 && (memory || strncmp(line, "0::", 3) == 0)) {
			fwrite(path, 1, (size_t)(end - path), out);
			return;
		}
		line = end + (*end == '\n');
	}
}

static void put_start(const struct store *s, FILE *out)
{
	const struct store_facts *f = store_facts(s);
	char a[HUMAN_BYTES], b[HUMAN_BYTES];

	if (f->start_realtime_ns == 0)
		return;
	human_time(f->start_realtime_ns, a);
	fprintf(out, "%.10s %.8s UTC, ran %s", a, a + 11, human_duration(f->duration_ns, b));
}

static void put_machine(const struct store *s, FILE *out)
{
	const struct store_facts *f = store_facts(s);
	const char *host = store_string(s, f->host, NULL);
	const char *kernel = store_string(s, f->kernel, NULL), *separator = "";
	char a[HUMAN_BYTES];

	if (*host) {
		fputs(host, out);
		separator = ", ";
	}
	if (f->n_cpus) {
		fprintf(out, "%s%s CPU%s", separator, human_count(f->n_cpus, a),
			f->n_cpus == 1 ? "" : "s");
		separator = ", ";
	}
	if (f->memory_bytes) {
		fprintf(out, "%s%s of memory", separator, human_size(f->memory_bytes, a));
		separator = ", ";
	}
	if (*kernel)
		fprintf(out, "%sLinux %s", separator, kernel);
}

int health_add_facts(struct health *h, const struct store *store, struct err *err)
{
	static const struct {
		const char *name;
		void (*put)(const struct store *s, FILE *out);
	} fact[] = {
		{"Command", put_command}, {"Process", put_process}, {"Allocators", put_allocators},
		{"Limit", put_limits},    {"Cgroup", put_cgroup},   {"Started", put_start},
		{"Machine", put_machine},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(fact) && r == 0; i++) {
		struct value v;

		if (!value_open(&v))
			return err_set_memory(err, 1);
		fact[i].put(store, v.out);
		r = take_value(h, fact[i].name, &v, err);
	}
	return r;
}
