/* Where stores live, and which of them are good. */
#include "harness/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/store_synth.h"
#include "store/store_cache.h"

static char folder[200], xdg[256], recording[256];

static void begin(void)
{
	const char *tmp = getenv("TMPDIR");
	FILE *f;

	snprintf(folder, sizeof(folder), "%s/test_store_cache.XXXXXX",
		 tmp && tmp[0] ? tmp : "/tmp");
	CHECK_NOT_NULL(mkdtemp(folder));
	snprintf(xdg, sizeof(xdg), "%s/cache", folder);
	snprintf(recording, sizeof(recording), "%s/app.dat", folder);
	CHECK_EQ(setenv("XDG_CACHE_HOME", xdg, 1), 0);
	f = fopen(recording, "we");
	CHECK_NOT_NULL(f);
	fputs("a recording", f);
	fclose(f);
}

static void end(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	CHECK_EQ(system(command), 0);
}

static struct store_identity identity_now(void)
{
	struct store_identity identity = {{9, 8, 7}, 0, 0};
	struct stat st;

	CHECK_EQ(stat(recording, &st), 0);
	identity.size_bytes = (uint64_t)st.st_size;
	identity.changed_ns =
		(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return identity;
}

/* Makes an empty store where store_cache_paths() says, and returns its paths. */
static struct store_paths make_store(const struct store_identity *identity)
{
	struct store_paths p = {0};
	struct store_writer *w = NULL;
	struct err err = {0};

	CHECK_OK(store_cache_paths(recording, identity->recording_id, &p, &err));
	CHECK_OK(store_writer_create(p.store, identity, &w, &err));
	CHECK_OK(synth_store_put_tables(w, 0, &err));
	CHECK_OK(store_writer_commit(w, 0, &err));
	store_writer_destroy(w);
	return p;
}

static bool is_found(const struct store_identity *identity, bool is_beside)
{
	struct store_paths p = {0};
	struct store *s = NULL;
	struct err err = {0};
	bool is = false;

	CHECK_OK(store_cache_find(recording, identity, &s, &p, &err));
	if (s)
		is = p.is_beside == is_beside && p.names && p.store;
	store_close(s);
	store_paths_fini(&p);
	return is;
}

static void put_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "we");

	CHECK_NOT_NULL(f);
	fputs(content, f);
	fclose(f);
}

TEST(a_store_lies_beside_its_recording)
{
	struct store_identity identity;
	struct store_paths p;
	char want[300];

	begin();
	identity = identity_now();
	CHECK(!is_found(&identity, true));
	p = make_store(&identity);
	snprintf(want, sizeof(want), "%s.store", recording);
	CHECK_STR_EQ(p.store, want);
	snprintf(want, sizeof(want), "%s.symbols", recording);
	CHECK_STR_EQ(p.names, want);
	CHECK(p.is_beside);
	CHECK(is_found(&identity, true));
	CHECK(access(xdg, F_OK) != 0); /* not made when it is not needed */
	store_paths_fini(&p);
	end();
}

TEST(another_identity_is_not_found)
{
	struct store_identity identity, other;
	struct store_paths p;

	begin();
	identity = identity_now();
	p = make_store(&identity);
	other = identity;
	other.recording_id[15]++;
	CHECK(!is_found(&other, true));
	other = identity;
	other.size_bytes++;
	CHECK(!is_found(&other, true));
	other = identity;
	other.changed_ns++;
	CHECK(!is_found(&other, true));
	CHECK(is_found(&identity, true));
	/* the new store replaces the old one */
	store_paths_fini(&p);
	p = make_store(&other);
	CHECK(is_found(&other, true));
	CHECK(!is_found(&identity, true));
	store_paths_fini(&p);
	end();
}

TEST(a_foreign_file_of_that_name_stays_and_the_cache_folder_is_used)
{
	static const char *const endings[] = {"store", "symbols"};

	for (size_t i = 0; i < 2; i++) {
		struct store_identity identity;
		struct store_paths p;
		char foreign[300], text[10] = "";
		FILE *f;

		begin();
		identity = identity_now();
		snprintf(foreign, sizeof(foreign), "%s.%s", recording, endings[i]);
		put_file(foreign, "a shop");
		p = make_store(&identity);
		CHECK(!p.is_beside);
		CHECK_EQ(strncmp(p.store, xdg, strlen(xdg)), 0);
		CHECK(is_found(&identity, false));
		f = fopen(foreign, "re");
		CHECK_NOT_NULL(f);
		CHECK_EQ(fread(text, 1, 6, f), 6);
		fclose(f);
		CHECK_STR_EQ(text, "a shop");
		store_paths_fini(&p);
		end();
	}
}

/* Spoils the store or the names beside the recording. False: this user cannot do that. */
static bool spoil(const char *path, unsigned how)
{
	char elsewhere[400];

	switch (how) {
	case 0:
		return chmod(path, 0620) == 0; /* the group may write */
	case 1:
		return chmod(path, 0602) == 0; /* everybody may write */
	case 2:
		return chown(path, 4242, 4242) == 0; /* as root only */
	default:
		snprintf(elsewhere, sizeof(elsewhere), "%s.moved", path);
		return rename(path, elsewhere) == 0 && symlink(elsewhere, path) == 0;
	}
}

/* In a folder that others may write to, they can put a store beside a recording. */
TEST(a_store_that_others_could_have_written_is_not_used)
{
	for (unsigned i = 0; i < 8; i++) {
		struct store_identity identity;
		struct store_paths p;
		char names[300];
		bool is_spoiled;

		begin();
		identity = identity_now();
		p = make_store(&identity);
		snprintf(names, sizeof(names), "%s.symbols", recording);
		put_file(names, "MPNAMES");
		CHECK_EQ(truncate(names, 8), 0); /* with the 0 that is part of it */
		CHECK(is_found(&identity, true));
		CHECK_NULL(p.why_not_beside);
		is_spoiled = spoil(i % 2 ? names : p.store, i / 2);
		store_paths_fini(&p);
		if (is_spoiled) {
			CHECK(!is_found(&identity, true));
			p = make_store(&identity);
			CHECK(!p.is_beside);
			CHECK_NOT_NULL(strstr(p.why_not_beside,
					      i / 2 == 3 ? "symbolic link" : "another user"));
			CHECK(is_found(&identity, false));
			store_paths_fini(&p);
		}
		end();
	}
}

TEST(a_store_of_an_older_version_is_replaced)
{
	struct store_identity identity;
	struct store_paths p;
	int fd;

	begin();
	identity = identity_now();
	p = make_store(&identity);
	fd = open(p.store, O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, "\0", 1, 8), 1);
	close(fd);
	CHECK(!is_found(&identity, true));
	store_paths_fini(&p);
	p = make_store(&identity);
	CHECK(p.is_beside);
	CHECK(is_found(&identity, true));
	store_paths_fini(&p);
	end();
}

TEST(without_any_folder_for_it_there_is_an_error)
{
	struct store_paths p = {0};
	struct err err = {0};
	uint8_t id[16] = {0};
	char foreign[300];

	begin();
	snprintf(foreign, sizeof(foreign), "%s.store", recording);
	put_file(foreign, "x");
	put_file(xdg, "not a folder");
	CHECK_ERR(store_cache_paths(recording, id, &p, &err), ERR_IO);
	CHECK_NOT_NULL(strstr(err.text, "XDG_CACHE_HOME"));
	CHECK_EQ(unsetenv("XDG_CACHE_HOME"), 0);
	CHECK_EQ(setenv("HOME", "not/absolute", 1), 0);
	CHECK_ERR(store_cache_paths(recording, id, &p, &err), ERR_IO);
	CHECK_NULL(p.store);
	end();
}

/* ---- visiting ---- */

struct seen {
	unsigned n;
	unsigned n_by_state[STORE_CACHE_NAMES + 1];
	bool removes;
};

static int look(void *user, const struct store_cache_item *item, struct err *err)
{
	struct seen *seen = user;

	seen->n++;
	seen->n_by_state[item->state]++;
	if (item->state == STORE_CACHE_GOOD && strcmp(item->program, "a longer string") != 0)
		return err_set(err, ERR_FORMAT, "wrong program");
	return seen->removes ? store_cache_remove(item, err) : 0;
}

static struct seen visit(bool removes, bool by_name)
{
	char *list[] = {recording};
	struct seen seen = {.removes = removes};
	struct err err = {0};

	CHECK_OK(store_cache_each(list, by_name, look, &seen, &err));
	return seen;
}

TEST(stores_are_listed_and_removed)
{
	char foreign[300], names[600], other[600];
	struct store_identity identity;
	struct store_paths beside, cached;

	begin();
	CHECK_EQ(visit(false, false).n, 0);
	identity = identity_now();
	beside = make_store(&identity);
	CHECK_EQ(visit(false, false).n, 0); /* not in the cache folder */
	CHECK_EQ(visit(false, true).n_by_state[STORE_CACHE_GOOD], 1);
	snprintf(foreign, sizeof(foreign), "%s.symbols", recording);
	put_file(foreign, "foreign");
	CHECK(!is_found(&identity, true)); /* names would replace the foreign file */
	cached = make_store(&identity);
	CHECK(!cached.is_beside);
	CHECK_EQ(visit(false, false).n_by_state[STORE_CACHE_GOOD], 1);
	put_file(recording, "it has changed");
	CHECK_EQ(visit(false, true).n_by_state[STORE_CACHE_STALE], 1);
	/* what others put there is neither seen nor touched */
	snprintf(other, sizeof(other), "%s/memory-profiler/notes.store", xdg);
	put_file(other, "x");
	snprintf(names, sizeof(names),
		 "%s/memory-profiler/00112233445566778899aabbccddeeff-0123456789abcdef.symbols",
		 xdg);
	put_file(names, "x");
	CHECK_EQ(visit(false, false).n_by_state[STORE_CACHE_NAMES], 1);
	CHECK_EQ(visit(true, true).n, 1);
	CHECK(access(cached.store, F_OK) != 0);
	CHECK_EQ(access(foreign, F_OK), 0);
	CHECK_EQ(access(names, F_OK), 0); /* of another recording */
	CHECK_EQ(visit(true, false).n, 1);
	CHECK(access(names, F_OK) != 0);
	CHECK_EQ(access(other, F_OK), 0);
	CHECK_EQ(unlink(foreign), 0);
	CHECK_EQ(visit(true, true).n_by_state[STORE_CACHE_STALE], 1);
	CHECK(access(beside.store, F_OK) != 0);
	CHECK_EQ(access(recording, F_OK), 0);
	store_paths_fini(&beside);
	store_paths_fini(&cached);
	end();
}
