/* Output files appear complete or not at all. */
#include "harness/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/atomic_file.h"

struct folder {
	char path[64];
	char target[96];
};

static void folder_init(struct folder *f)
{
	strcpy(f->path, "/tmp/test_atomic_file.XXXXXX");
	CHECK_NOT_NULL(mkdtemp(f->path));
	snprintf(f->target, sizeof(f->target), "%s/out", f->path);
}

static unsigned count_files(const struct folder *f)
{
	DIR *d = opendir(f->path);
	unsigned n = 0;

	CHECK_NOT_NULL(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static void folder_fini(struct folder *f)
{
	unlink(f->target);
	CHECK_EQ(rmdir(f->path), 0); /* fails when a file was left over */
}

static void put_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	CHECK_NOT_NULL(out);
	fputs(text, out);
	fclose(out);
}

static void check_content(const char *path, const char *want)
{
	char text[256] = "";
	FILE *in = fopen(path, "r");

	CHECK_NOT_NULL(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	CHECK_STR_EQ(text, want);
}

static void check_replaces(unsigned flags)
{
	struct atomic_file *f = NULL;
	struct err err = {0};
	struct folder d;
	struct stat st;

	folder_init(&d);
	put_file(d.target, "old");
	CHECK_OK(atomic_file_create(d.target, 0600, flags, &f, &err));
	CHECK_OK(atomic_file_append(f, "new ", 4, &err));
	CHECK_OK(atomic_file_append(f, "text", 4, &err));
	CHECK_OK(atomic_file_pwrite(f, 1, "E", 1, &err));
	CHECK_OK(atomic_file_append(f, "!", 1, &err));
	CHECK_EQ(atomic_file_size(f), 9);
	check_content(d.target, "old");
	CHECK_OK(atomic_file_commit(f, &err));
	check_content(d.target, "nEw text!");
	CHECK_EQ(stat(d.target, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK_EQ(count_files(&d), 1);
	folder_fini(&d);
}

/* As a shell starts programs: nohup, say, has them ignore SIGHUP, and then so must we. */
__attribute__((constructor)) static void take_signals(void)
{
	signal(SIGHUP, SIG_DFL);
}

TEST(commit_replaces_an_existing_file)
{
	check_replaces(0);
	check_replaces(ATOMIC_FILE_NAMED);
}

static void check_discard(unsigned flags)
{
	struct atomic_file *f = NULL;
	struct err err = {0};
	struct folder d;

	folder_init(&d);
	put_file(d.target, "old");
	CHECK_OK(atomic_file_create(d.target, 0600, flags, &f, &err));
	CHECK_EQ(count_files(&d), flags & ATOMIC_FILE_NAMED ? 2 : 1);
	CHECK_OK(atomic_file_append(f, "new", 3, &err));
	CHECK_OK(atomic_file_flush(f, &err));
	atomic_file_discard(f);
	check_content(d.target, "old");
	folder_fini(&d);
}

TEST(discard_leaves_nothing)
{
	check_discard(0);
	check_discard(ATOMIC_FILE_NAMED);
}

TEST(kept_target_is_not_replaced)
{
	static const unsigned ways[] = {0, ATOMIC_FILE_NAMED};

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		unsigned flags = ATOMIC_FILE_KEEP_EXISTING | ways[i];
		struct atomic_file *f = NULL;
		struct err err = {0};
		struct folder d;

		folder_init(&d);
		CHECK_OK(atomic_file_create(d.target, 0600, flags, &f, &err));
		CHECK_OK(atomic_file_commit(f, &err));
		CHECK_ERR(atomic_file_create(d.target, 0600, flags, &f, &err), ERR_REFUSED);
		unlink(d.target);
		CHECK_OK(atomic_file_create(d.target, 0600, flags, &f, &err));
		put_file(d.target, "came meanwhile");
		CHECK_ERR(atomic_file_commit(f, &err), ERR_IO);
		check_content(d.target, "came meanwhile");
		folder_fini(&d);
	}
}

TEST(only_regular_files_are_replaced)
{
	struct atomic_file *f = NULL;
	struct err err = {0};
	struct folder d;
	char link_path[96];

	folder_init(&d);
	CHECK_ERR(atomic_file_create("/dev/null", 0600, 0, &f, &err), ERR_REFUSED);
	CHECK_ERR(atomic_file_create(d.path, 0600, 0, &f, &err), ERR_REFUSED);
	CHECK_ERR(atomic_file_create("", 0600, 0, &f, &err), ERR_USAGE);
	CHECK_ERR(atomic_file_create("/nowhere/at/all", 0600, 0, &f, &err), ERR_IO);
	CHECK(strstr(err.text, "/nowhere/at/all"));
	snprintf(link_path, sizeof(link_path), "%s/link", d.path);
	CHECK_EQ(symlink("out", link_path), 0);
	CHECK_ERR(atomic_file_create(link_path, 0600, 0, &f, &err), ERR_REFUSED);
	put_file(d.target, "old");
	CHECK_OK(atomic_file_create(link_path, 0600, 0, &f, &err));
	CHECK_OK(atomic_file_append(f, "new", 3, &err));
	CHECK_OK(atomic_file_commit(f, &err));
	check_content(d.target, "new");
	CHECK_EQ(unlink(link_path), 0); /* still a link: the target is another file */
	folder_fini(&d);
}

TEST(large_appends_arrive_whole)
{
	enum {
		N = 3000001
	};
	struct atomic_file *f = NULL;
	struct err err = {0};
	struct folder d;
	uint8_t *want = malloc(N), *got = malloc(N);
	size_t step = 1;
	FILE *in;

	folder_init(&d);
	for (size_t i = 0; i < N; i++)
		want[i] = (uint8_t)(i * 2654435761u >> 13);
	CHECK_OK(atomic_file_create(d.target, 0600, 0, &f, &err));
	for (size_t at = 0; at < N; at += step, step = step * 5 % 700001)
		CHECK_OK(atomic_file_append(f, want + at, step < N - at ? step : N - at, &err));
	CHECK_OK(atomic_file_commit(f, &err));
	in = fopen(d.target, "r");
	CHECK_EQ(fread(got, 1, N, in), N);
	CHECK_EQ(fgetc(in), EOF);
	fclose(in);
	CHECK_MEM_EQ(got, want, N);
	free(want);
	free(got);
	folder_fini(&d);
}

/* Begins a file, says so through the pipe, and waits to be ended. */
static void write_and_wait(const char *target, unsigned flags, int ready_fd)
{
	struct atomic_file *f = NULL;
	struct err err = {0};

	if (atomic_file_create(target, 0600, flags, &f, &err) < 0 ||
	    atomic_file_append(f, "half", 4, &err) < 0 || atomic_file_flush(f, &err) < 0)
		_exit(1);
	if (write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void check_signal(int sig, unsigned flags)
{
	struct folder d;
	int ready[2], status;
	pid_t pid;
	char byte;

	folder_init(&d);
	put_file(d.target, "old");
	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	CHECK_NE(pid, -1);
	if (pid == 0)
		write_and_wait(d.target, flags, ready[1]);
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	CHECK_EQ(count_files(&d), flags & ATOMIC_FILE_NAMED ? 2 : 1);
	kill(pid, sig);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), sig);
	check_content(d.target, "old");
	folder_fini(&d);
}

TEST(signals_leave_no_temporary_file)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_LEN(sigs); i++) {
		check_signal(sigs[i], 0);
		check_signal(sigs[i], ATOMIC_FILE_NAMED);
	}
	check_signal(SIGKILL, 0); /* a file without a name needs nobody to remove it */
}

TEST(a_limit_is_an_error_with_the_name)
{
	static const uint8_t block[65536];
	struct atomic_file *f = NULL;
	struct rlimit old, limit;
	struct err err = {0};
	struct folder d;
	int r = 0;

	folder_init(&d);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
	CHECK_OK(atomic_file_create(d.target, 0600, 0, &f, &err));
	limit = old;
	limit.rlim_cur = 1 << 20;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 64 && r == 0; i++)
		r = atomic_file_append(f, block, sizeof(block), &err);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
	CHECK_ERR(r, ERR_IO);
	CHECK(strstr(err.text, d.target));
	atomic_file_discard(f);
	folder_fini(&d);
}

TEST(a_file_that_is_extended_is_as_before_or_longer)
{
	struct atomic_file *f = NULL;
	struct err err = {0};
	struct folder d;

	folder_init(&d);
	CHECK_ERR(atomic_file_extend(d.target, &f, &err), ERR_IO);
	put_file(d.target, "0123");
	CHECK_OK(atomic_file_extend(d.target, &f, &err));
	CHECK_EQ(atomic_file_size(f), 4);
	CHECK_OK(atomic_file_append(f, "4567", 4, &err));
	CHECK_OK(atomic_file_flush(f, &err));
	check_content(d.target, "01234567"); /* nobody looks there yet */
	atomic_file_discard(f);
	check_content(d.target, "0123");
	CHECK_OK(atomic_file_extend(d.target, &f, &err));
	CHECK_OK(atomic_file_append(f, "ab", 2, &err));
	CHECK_OK(atomic_file_pwrite(f, 0, "X", 1, &err));
	CHECK_OK(atomic_file_commit(f, &err));
	check_content(d.target, "X123ab");
	CHECK_EQ(count_files(&d), 1);
	folder_fini(&d);
}
