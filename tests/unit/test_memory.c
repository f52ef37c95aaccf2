#include "arch/arch.h"
#include "harness/test.h"
#include "unwind/memory_i.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct memory m;

NOINLINE static uintptr_t here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

/* Two readable pages with an unreadable one behind them. */
static unsigned char *pages_create(void)
{
	unsigned char *p = mmap(NULL, 3 * PAGE_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK_EQ(mprotect(p + 2 * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
	return p;
}

static void pages_destroy(unsigned char *p)
{
	munmap(p, 3 * PAGE_BYTES);
}

static void start(void)
{
	memory_init();
	memset(&m, 0, sizeof(m));
}

static void check_copy(void)
{
	unsigned char *p = pages_create();
	unsigned char buf[32] = {0};

	memset(p, 'x', 2 * PAGE_BYTES);
	CHECK(memory_copy(buf, (uintptr_t)p + PAGE_BYTES - 8, 16));
	CHECK_MEM_EQ(buf, "xxxxxxxxxxxxxxxx", 16);
	CHECK(memory_copy(buf, (uintptr_t)p + 2 * PAGE_BYTES - 16, 16));
	CHECK(!memory_copy(buf, (uintptr_t)p + 2 * PAGE_BYTES - 15, 16));
	CHECK(!memory_copy(buf, (uintptr_t)p + 2 * PAGE_BYTES, 1));
	CHECK(!memory_copy(buf, 0, 8));
	CHECK(!memory_copy(buf, UINTPTR_MAX - 3, 8));
	CHECK(!memory_copy(buf, 0x8000000000000000ull, 8)); /* no user address */
	pages_destroy(p);
}

static void check_words(void)
{
	unsigned char *p = pages_create();
	uintptr_t end = (uintptr_t)p + 2 * PAGE_BYTES;
	uintptr_t word;

	memory_begin(&m, (uintptr_t)p);
	for (uintptr_t a = (uintptr_t)p; a < end; a += 8)
		*(uintptr_t *)a = ~a;
	for (uintptr_t a = (uintptr_t)p; a < end; a += 8) {
		CHECK(memory_word(&m, a, &word));
		CHECK_EQ(word, ~a);
	}
	CHECK(!memory_word(&m, end, &word));
	CHECK(!memory_word(&m, end - 4, &word));
	CHECK(memory_word(&m, end - 8, &word)); /* after a failure too */
	CHECK_EQ(word, ~(end - 8));
	memory_begin(&m, (uintptr_t)p);
	*(uintptr_t *)p = 1;
	CHECK(memory_word(&m, (uintptr_t)p, &word)); /* a new walk sees new contents */
	CHECK_EQ(word, 1);
	pages_destroy(p);
}

TEST(memory_copies_what_is_mapped_and_nothing_else)
{
	start();
	check_copy();
}

TEST(memory_reads_foreign_words_up_to_the_last)
{
	start();
	check_words();
}

TEST(memory_manages_when_the_kernel_refuses_to_copy)
{
	start();
	memory_refuse_copies(true);
	check_copy();
	check_words();
	memset(&m, 0, sizeof(m));
	memory_begin(&m, here());
	CHECK(memory_is_own(&m, here()));
	memory_refuse_copies(false);
}

TEST(memory_knows_the_main_stack)
{
	uintptr_t mark = 0x1234567;
	uintptr_t word = 0;

	start();
	memory_begin(&m, here());
	CHECK(memory_is_own(&m, here()));
	CHECK(memory_is_own(&m, (uintptr_t)&mark));
	CHECK_EQ(m.own.hi, memory_stack_end());
	CHECK(memory_word(&m, (uintptr_t)&mark, &word));
	CHECK_EQ(word, mark);
}

NOINLINE static uintptr_t go_deeper(unsigned n_pages)
{
	volatile char page[PAGE_BYTES];

	page[0] = (char)n_pages;
	if (n_pages)
		return go_deeper(n_pages - 1) + (uintptr_t)page[0] * 0;
	memory_begin(&m, here());
	CHECK(memory_is_own(&m, here()));
	return here() + (uintptr_t)page[0];
}

TEST(memory_follows_a_stack_that_grows)
{
	start();
	memory_begin(&m, here());
	go_deeper(3);
	go_deeper(40);
	go_deeper(200);
	CHECK(memory_is_own(&m, here()));
	CHECK_EQ(m.own.hi, memory_stack_end());
}

TEST(memory_heap_is_not_the_stack)
{
	unsigned char *p = pages_create();

	start();
	memory_begin(&m, (uintptr_t)p + 100);
	CHECK(!memory_is_own(&m, (uintptr_t)p + 100));
	memory_begin(&m, here());
	CHECK(memory_is_own(&m, here()));
	CHECK(!memory_is_own(&m, (uintptr_t)p + 100));
	pages_destroy(p);
}

static bool is_own_in_thread;

static void *look_in_thread(void *arg)
{
	static struct memory mine;

	(void)arg;
	memset(&mine, 0, sizeof(mine));
	memory_begin(&mine, here());
	is_own_in_thread = memory_is_own(&mine, here()) && mine.own.hi > here() &&
			   mine.own.hi <= arch_thread_pointer();
	return NULL;
}

TEST(memory_knows_the_stack_of_a_thread)
{
	pthread_t t;

	start();
	CHECK_EQ(pthread_create(&t, NULL, look_in_thread, NULL), 0);
	pthread_join(t, NULL);
	CHECK(is_own_in_thread);
}

TEST(memory_knows_a_stack_that_the_program_made)
{
	size_t size = 4 << 20; /* sanitizers want much of it */
	void *stack = aligned_alloc(4096, size);
	pthread_attr_t attr;
	pthread_t t;

	start();
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, size);
	CHECK_EQ(pthread_create(&t, &attr, look_in_thread, NULL), 0);
	pthread_join(t, NULL);
	CHECK(is_own_in_thread);
	pthread_attr_destroy(&attr);
	free(stack);
}

TEST(memory_tells_code_from_data)
{
	unsigned char *p = pages_create();

	start();
	CHECK(memory_is_executable(&m, (uintptr_t)here));
	CHECK(memory_is_executable(&m, (uintptr_t)getpid));
	CHECK(!memory_is_executable(&m, (uintptr_t)&m));
	CHECK(!memory_is_executable(&m, here()));
	CHECK(!memory_is_executable(&m, 0));
	CHECK(!memory_is_executable(&m, UINTPTR_MAX));
	CHECK(!memory_is_executable(&m, (uintptr_t)p));
	mprotect(p, PAGE_BYTES, PROT_READ | PROT_EXEC);
	for (unsigned i = 0; i < 2000; i++) /* an answer is believed for a while, not for ever */
		memory_is_executable(&m, (uintptr_t)p);
	CHECK(memory_is_executable(&m, (uintptr_t)p));
	CHECK(!memory_is_executable(&m, (uintptr_t)p + PAGE_BYTES));
	pages_destroy(p);
}

TEST(memory_asking_for_code_leaves_no_descriptor_open)
{
	int before = dup(0);

	start();
	close(before);
	memory_is_executable(&m, (uintptr_t)here);
	CHECK_EQ(dup(0), before);
	close(before);
}

static void *look_without_first_thread(void *arg)
{
	static struct memory mine;
	uintptr_t word = 0;
	struct iovec local = {&word, sizeof(word)};
	struct iovec remote = {&m, sizeof(word)};

	(void)arg;
	while (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) >= 0)
		sched_yield(); /* until the kernel has taken its memory away */
	_exit(memory_copy(&word, (uintptr_t)&m, sizeof(word)) &&
			      memory_is_executable(&mine, (uintptr_t)here)
		      ? 0
		      : 1);
}

/* The process's id then names a thread that has no memory any more. */
TEST(memory_is_there_after_the_first_thread_has_ended)
{
	int status = 1;
	pid_t child;

	start();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		pthread_t thread;

		pthread_create(&thread, NULL, look_without_first_thread, NULL);
		pthread_exit(NULL);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* Code is believed for a moment, but not longer than the generation in which it was read. */
TEST(memory_code_is_read_anew_in_each_generation)
{
	uint8_t *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t got[MEMORY_CODE_BYTES] = {0};

	start();
	CHECK(page != MAP_FAILED);
	memset(page, 1, 64);
	CHECK(memory_code(&m, (uintptr_t)page + 8, 7, 2, got));
	CHECK_EQ(got[0], 1);
	page[8] = 2;
	CHECK(memory_code(&m, (uintptr_t)page + 8, 7, 4, got));
	CHECK_EQ(got[0], 2);
	page[8] = 3;
	CHECK(memory_code(&m, (uintptr_t)page + 8, 7, 5, got)); /* odd: nothing is kept */
	CHECK_EQ(got[0], 3);
	page[8] = 4;
	CHECK(memory_code(&m, (uintptr_t)page + 8, 7, 5, got));
	CHECK_EQ(got[0], 4);
	munmap(page, PAGE_BYTES);
	CHECK(!memory_code(&m, (uintptr_t)page + 16, 7, 4, got));
	CHECK(!memory_code(&m, UINTPTR_MAX - 3, 7, 4, got));
}
