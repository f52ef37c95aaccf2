/* Finding symbols and asking for them, with this very program as the module. What the names and
 * lines of many compilers and files must be is in tests/e2e/test_symbol.py. */
#include "harness/test.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/symbol.h"

#define MAX_FRAMES 64

struct frames {
	unsigned n;
	struct {
		char function[128], source[256];
		uint32_t line;
		bool is_inline;
	} frame[MAX_FRAMES];
};

static void take_frame(void *user, const struct symbol_frame *f)
{
	struct frames *fs = user;

	if (fs->n < MAX_FRAMES) {
		snprintf(fs->frame[fs->n].function, 128, "%s", f->function ? f->function : "");
		snprintf(fs->frame[fs->n].source, 256, "%s", f->source ? f->source : "");
		fs->frame[fs->n].line = f->line;
		fs->frame[fs->n].is_inline = f->is_inline;
	}
	fs->n++;
}

static int get_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the first one is the program */
}

static uint64_t to_elf(const void *address)
{
	uint64_t bias = 0;

	dl_iterate_phdr(get_bias, &bias);
	return (uint64_t)(uintptr_t)address - bias;
}

static const void *inlined_at; /* a return address in inlined() */
static volatile unsigned sink;
static unsigned line_of_mark, line_of_call;

__attribute__((noinline)) static void mark(void)
{
	inlined_at = __builtin_return_address(0);
	sink++;
}

static inline __attribute__((always_inline)) void inlined(void)
{
	line_of_mark = __LINE__ + 1;
	mark();
	sink++;
}

__attribute__((noinline)) static void around(void)
{
	line_of_call = __LINE__ + 1;
	inlined();
	sink++;
}

static struct symbol_image *open_self(int fd)
{
	static const struct symbol_options options = {.use_local_files = false};
	struct symbol_module module = {.path = "/nonexistent/self", .embedded_fd = fd};
	struct symbol_image *image = NULL;
	struct err err = {0};

	CHECK_OK(symbol_image_open(&module, &options, &image, &err));
	CHECK_NOT_NULL(image);
	return image;
}

static int open_exe(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

TEST(frames_come_innermost_first)
{
	int fd = open_exe();
	struct symbol_image *image = open_self(fd);
	struct frames fs = {0};
	struct err err = {0};

	close(fd); /* may be closed after opening */
	around();
	CHECK_EQ(symbol_image_resolve(image, to_elf(inlined_at) - 1, take_frame, &fs, &err), 2);
	CHECK_EQ(fs.n, 2);
	CHECK_STR_EQ(fs.frame[0].function, "inlined");
	CHECK_EQ(fs.frame[0].line, line_of_mark);
	CHECK(fs.frame[0].is_inline);
	CHECK_STR_EQ(fs.frame[1].function, "around");
	CHECK_EQ(fs.frame[1].line, line_of_call);
	CHECK(!fs.frame[1].is_inline);
	CHECK(strstr(fs.frame[1].source, "test_image.c"));
	symbol_image_close(image);
}

TEST(addresses_outside_have_no_frames)
{
	static const uint64_t addr[] = {0, 1, 0x1000, 1ull << 40, 1ull << 63, UINT64_MAX};
	int fd = open_exe();
	struct symbol_image *image = open_self(fd);
	struct frames fs = {0};
	struct err err = {0};

	close(fd);
	for (size_t i = 0; i < sizeof(addr) / sizeof(*addr); i++) {
		if (addr[i] != 0x1000) /* there may be code */
			CHECK_EQ(symbol_image_resolve(image, addr[i], take_frame, &fs, &err), 0);
	}
	CHECK_EQ(symbol_image_resolve(image, to_elf((const void *)&sink), take_frame, &fs, &err),
		 0);
	CHECK_EQ(fs.n, 0);
	symbol_image_close(image);
}

TEST(a_missing_module_is_no_error)
{
	struct symbol_options options = {.use_local_files = true};
	struct symbol_module module = {.path = "/nonexistent/lib.so", .embedded_fd = -1};
	struct symbol_image *image = NULL;
	struct frames fs = {0};
	struct err err = {0};

	CHECK_OK(symbol_image_open(&module, &options, &image, &err));
	CHECK_EQ(symbol_image_resolve(image, 0x1234, take_frame, &fs, &err), 0);
	CHECK(strstr(symbol_image_origin(image), "no symbols"));
	symbol_image_close(image);
	symbol_image_close(NULL);
}

/* Reads the program into memory, and makes a file of changed bytes. */
static uint8_t *read_exe(size_t *len)
{
	int fd = open_exe();
	struct stat st;
	uint8_t *bytes;

	CHECK_EQ(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	bytes = malloc(*len);
	CHECK_NOT_NULL(bytes);
	CHECK_EQ(pread(fd, bytes, *len, 0), *len);
	close(fd);
	return bytes;
}

static void resolve_bytes(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("module", MFD_CLOEXEC);
	struct symbol_image *image;
	struct err err = {0};

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, len), len);
	image = open_self(fd);
	close(fd);
	for (uint64_t at = to_elf((void *)around) & ~0xfffull, i = 0; i < 0x2000; i += 61) {
		struct frames fs = {0};

		CHECK(symbol_image_resolve(image, at + i, take_frame, &fs, &err) >= 0);
	}
	symbol_image_close(image);
}

TEST(files_cut_anywhere_do_no_harm)
{
	size_t len;
	uint8_t *bytes = read_exe(&len);

	for (size_t i = 0; i < 64; i++)
		resolve_bytes(bytes, len / 64 * i + i % 8);
	free(bytes);
}

TEST(flipped_bytes_do_no_harm)
{
	size_t len;
	uint8_t *bytes = read_exe(&len), *copy = malloc(len);
	uint64_t seed = 1;

	CHECK_NOT_NULL(copy);
	for (int i = 0; i < 100; i++) {
		memcpy(copy, bytes, len);
		for (int k = 0; k < 200; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* the second half has the debug sections and the headers of all */
			copy[len / 2 * (k % 2) + (seed >> 33) % (len / 2)] = (uint8_t)(seed >> 24);
		}
		memcpy(copy, bytes, 64);
		resolve_bytes(copy, len);
	}
	free(copy);
	free(bytes);
}

static void *resolve_in_thread(void *user)
{
	static const struct symbol_options options = {.use_local_files = false};
	struct symbol_module module = {.path = "/nonexistent/self"};
	struct symbol_image *image = NULL;
	uint64_t at = to_elf((void *)around);
	struct err err = {0};
	size_t n = 0;

	module.embedded_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (symbol_image_open(&module, &options, &image, &err) == 0) {
		for (uint64_t i = 0; i < 4000; i++) {
			struct frames fs = {0};
			int r = symbol_image_resolve(image, at - 2000 + i, take_frame, &fs, &err);

			n += r > 0 ? (size_t)r : 0;
		}
	}
	symbol_image_close(image);
	close(module.embedded_fd);
	*(size_t *)user = n;
	return NULL;
}

TEST(threads_with_their_own_images_agree)
{
	pthread_t thread[4];
	size_t n[4] = {0};

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, resolve_in_thread, &n[i]), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	CHECK(n[0] > 1000);
	for (int i = 1; i < 4; i++)
		CHECK_EQ(n[i], n[0]);
}
