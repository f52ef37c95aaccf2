/* Does what a replay file says (src/export/export_replay.c has the format): allocates, reallocates
 * and releases for real. Without anything else that allocates, so that a recording of this program
 * has the figures of the one that the file was made from.
 *
 * usage: replays_file FILE [CURVE]
 * CURVE gets two u64 after each operation: its time and the bytes alive. Exit status 2: the file
 * makes no sense.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum record {
	END,
	ALLOC,
	FREE,
	REALLOC,
	CALL,
	RETURN,
};

struct slot {
	void *block;
	uint64_t size;
	uint64_t is_used;
};

static uint64_t curve[2 * 4096];
static unsigned n_curve;
static int curve_fd = -1;
static uint64_t live_bytes;

static void write_curve(void)
{
	if (write(curve_fd, curve, n_curve * sizeof(*curve)) != (ssize_t)(n_curve * sizeof(*curve)))
		_exit(1);
	n_curve = 0;
}

static void note(uint64_t time)
{
	if (curve_fd < 0)
		return;
	curve[n_curve++] = time;
	curve[n_curve++] = live_bytes;
	if (n_curve == sizeof(curve) / sizeof(*curve))
		write_curve();
}

static void *map(size_t len, int fd)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

static void operate(const uint64_t *r, struct slot *s)
{
	if (s->is_used != (r[0] != ALLOC))
		_exit(2); /* a slot that is used twice, or released when empty */
	live_bytes -= s->size;
	if (r[0] == FREE) {
		free(s->block);
		*s = (struct slot){0};
	} else {
		s->block = r[0] == ALLOC ? malloc(r[3]) : realloc(s->block, r[3]);
		s->size = r[3];
		s->is_used = 1;
	}
	live_bytes += s->size;
	note(r[2]);
}

/* Whether the file ended in order: with a 0, all calls returned from, times that only grow. */
static int replay(const uint64_t *at, const uint64_t *end, struct slot *slot, uint64_t n_slots)
{
	uint64_t depth = 0, time = 0;

	while (end - at >= 4) {
		if (at[0] == CALL) {
			depth++;
		} else if (at[0] == RETURN) {
			if (depth-- == 0)
				return 0;
		} else if (at[0] >= ALLOC && at[0] <= REALLOC) {
			if (at[1] >= n_slots || at[2] < time)
				return 0;
			time = at[2];
			operate(at, &slot[at[1]]);
		} else {
			return 0;
		}
		at += 4;
	}
	return end - at == 1 && *at == END && depth == 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	const uint64_t *file;
	uint64_t n_words;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 1;
	n_words = (uint64_t)st.st_size / sizeof(*file);
	if (n_words < 2)
		return 2;
	if (argc > 2)
		curve_fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	file = map((size_t)st.st_size, fd);
	if (!replay(file + 1, file + n_words, map((file[0] + 1) * sizeof(struct slot), -1),
		    file[0]))
		return 2;
	if (curve_fd >= 0)
		write_curve();
	return 0;
}
