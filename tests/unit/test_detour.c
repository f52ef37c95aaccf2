/* Functions that are led elsewhere still do what they did. */
#include "arch/arch.h"

#include <string.h>
#include <sys/mman.h>

#include "harness/test.h"

#define CODE_AT 0
#define STUB_AT 4096
#define PAGES_BYTES 16384

typedef uint64_t (*function_fn)(uint64_t a, uint64_t b);

static function_fn original;
static uint64_t seen_context;

/* What the hook of a function with two arguments does. */
static uint64_t hook(uint64_t a, uint64_t b, uint64_t context)
{
	seen_context = context;
	return original(a, b) + 1000;
}

struct world {
	uint8_t *memory; /* the function is at CODE_AT, its stub at STUB_AT */
	function_fn function;
};

static struct world make_world(const char *code, size_t n_bytes)
{
	struct world w = {.memory = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

	CHECK(w.memory != MAP_FAILED);
	memset(w.memory, 0xcc, PAGES_BYTES);
	memcpy(w.memory + CODE_AT, code, n_bytes);
	w.function = (function_fn)(uintptr_t)w.memory;
	return w;
}

/* Leads the function to hook() and calls it. */
static uint64_t call_led(struct world *w, size_t n_bytes, uint64_t a, uint64_t b)
{
	struct arch_detour d;
	size_t at;

	CHECK_NULL(arch_detour_check(w->memory, n_bytes, STUB_AT, &d));
	at = arch_detour_write_stub(w->memory, &d, w->memory + STUB_AT, (const void *)hook, 2,
				    (const void *)77);
	CHECK_NE(at, 0);
	original = (function_fn)(uintptr_t)(w->memory + STUB_AT + at);
	arch_detour_write_jump(w->memory, &d, w->memory + STUB_AT, w->memory + d.jump_at);
	return w->function(a, b);
}

static void check_same(const char *code, size_t n_bytes)
{
	for (uint64_t a = 0; a < 3; a++) {
		struct world w = make_world(code, n_bytes);
		uint64_t before = w.function(a, 40), after;

		seen_context = 0;
		after = call_led(&w, n_bytes, a, 40);
		CHECK_EQ(after, before + 1000);
		CHECK_EQ(seen_context, 77);
		munmap(w.memory, PAGES_BYTES);
	}
}

/* The code is 10 bytes; behind it come a sum, and at byte 16 the sum's address. */
static void check_same_through_memory(const char *code, size_t n_bytes)
{
	for (uint64_t a = 0; a < 3; a++) {
		struct world w = make_world(code, n_bytes);
		const uint8_t *sum = w.memory + n_bytes;
		uint64_t before, after;

		memcpy(w.memory + n_bytes, "\x48\x8d\x04\x37\xc3", 5);
		memcpy(w.memory + 16, &sum, sizeof(sum));
		before = w.function(a, 40);
		after = call_led(&w, n_bytes, a, 40);
		CHECK_EQ(after, before + 1000);
		CHECK_EQ(seen_context, 77);
		munmap(w.memory, PAGES_BYTES);
	}
}

#define CHECK_SAME(code) check_same(code, sizeof(code) - 1)

TEST(function_that_is_led_elsewhere_does_the_same)
{
	/* lea (%rdi,%rsi), %rax; ret; and a nop in front */
	CHECK_SAME("\x48\x8d\x04\x37\x90\xc3");
	/* the same behind endbr64 and with a frame pointer */
	CHECK_SAME("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x8d\x04\x37\x5d\xc3");
	/* test %rdi,%rdi; je 1f; lea (%rdi,%rsi),%rax; ret; 1: mov %rsi,%rax; ret */
	CHECK_SAME("\x48\x85\xff\x74\x05\x48\x8d\x04\x37\xc3\x48\x89\xf0\xc3");
	/* mov 1f(%rip),%rax; add %rdi,%rax; ret; 1: .quad */
	CHECK_SAME("\x48\x8b\x05\x04\x00\x00\x00\x48\x01\xf8\xc3\x2a\x00\x00\x00\x00\x00\x00\x00");
	/* call 1f; inc %rax; ret; 1: lea (%rdi,%rsi),%rax; ret */
	CHECK_SAME("\xe8\x04\x00\x00\x00\x48\xff\xc0\xc3\x48\x8d\x04\x37\xc3");
	/* call *1f(%rip), which holds the address of lea (%rdi,%rsi),%rax; ret */
	check_same_through_memory("\xff\x15\x0a\x00\x00\x00\x48\xff\xc0\xc3", 10);
	/* jmp *1f(%rip) */
	check_same_through_memory("\xff\x25\x0a\x00\x00\x00\x90\x90\x90\x90", 10);
	/* jmp 1f; 1: mov %rsi,%rax; ret */
	CHECK_SAME("\xeb\x03\x90\x90\x90\x48\x89\xf0\xc3");
	/* mov %esi,%eax; ret; padding */
	CHECK_SAME("\x89\xf0\xc3");
}

static const char *refusal(const char *code, size_t n_bytes)
{
	unsigned char *copy = guard_buf_create(code, n_bytes);
	struct arch_detour d;
	const char *why = arch_detour_check(copy, n_bytes, n_bytes, &d);

	guard_buf_destroy(copy, n_bytes);
	return why;
}

#define CHECK_REFUSED(code, part)                                                                  \
	do {                                                                                       \
		const char *why_not = refusal(code, sizeof(code) - 1);                             \
		CHECK_NOT_NULL(why_not);                                                           \
		CHECK_NOT_NULL(strstr(why_not, part));                                             \
	} while (0)

TEST(function_that_cannot_be_led_elsewhere_is_refused)
{
	CHECK_REFUSED("\xc3", "too short");
	CHECK_REFUSED("\x55\x90\xc3\x50", "too short");
	CHECK_REFUSED("\x55\x48\x89\xe5\xcd\x80\xc3", "begins with");
	CHECK_REFUSED("\x48\x89\xf8\x48\xff\xc8\x75\xfb\xc3",
		      "a jump leads"); /* to its third byte */
	CHECK_REFUSED("\x48\xff\xcf\x48\x85\xff\x75\xf8\xc3", "a jump leads"); /* to its start */
	CHECK_REFUSED("\x48\x89\xf8\x48\x89\xf8\xff\xe0", "target is not known");
	CHECK_REFUSED("\x48\x89\xf8\x48\x89\xf8\x0f\x01\xc1\xc3", "does not know");
	CHECK_REFUSED("\xff\xd0\x48\x89\xf8\xc3", "cannot be moved");
	CHECK_REFUSED("\xe2\x02\x48\x89\xf8\xc3", "cannot be moved"); /* loop */
}

static const char *refusal_of_jump(const char *code, size_t n_bytes)
{
	struct arch_detour d;

	return arch_detour_check((const uint8_t *)code, n_bytes, n_bytes, &d);
}

#define REFUSAL_OF_JUMP(code) refusal_of_jump(code, sizeof(code) - 1)

TEST(call_of_a_pointer_at_the_end_is_no_jump_of_a_switch)
{
	/* push %rbp; mov %rsp,%rbp; mov 80(%rdi),%rax; pop %rbp; jmp *%rax */
	CHECK_NULL(REFUSAL_OF_JUMP("\x55\x48\x89\xe5\x48\x8b\x47\x50\x5d\xff\xe0"));
	/* the same with r14 */
	CHECK_NULL(REFUSAL_OF_JUMP("\x41\x56\x48\x89\xe5\x48\x8b\x47\x50\x41\x5e\xff\xe0"));
	/* pop %rbx is not the end of the frame; nor is pop %r13 that of push %rbp */
	CHECK_NOT_NULL(REFUSAL_OF_JUMP("\x55\x48\x89\xe5\x48\x8b\x47\x50\x5b\xff\xe0"));
	CHECK_NOT_NULL(REFUSAL_OF_JUMP("\x55\x48\x89\xe5\x48\x8b\x47\x50\x41\x5d\xff\xe0"));
	/* pop %rbp; nop; jmp *%rax: not at once */
	CHECK_NOT_NULL(REFUSAL_OF_JUMP("\x55\x48\x89\xe5\x48\x8b\x47\x50\x5d\x90\xff\xe0"));
	/* no frame, so no end of one */
	CHECK_NOT_NULL(REFUSAL_OF_JUMP("\x48\x8b\x47\x50\x48\x89\xf8\x5d\xff\xe0"));
}

TEST(part_that_is_elsewhere_is_looked_at)
{
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret ... and a part that jumps to its second byte */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3, 0xeb, 0xf9};
	struct arch_detour d;

	CHECK_NULL(arch_detour_check(code, 6, sizeof(code), &d));
	CHECK_NOT_NULL(arch_detour_check_part(code + 6, 2, code, &d));
}

TEST(mere_jump_is_recognized)
{
	static const uint8_t code[64] = {0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0x10, 0, 0, 0};

	CHECK_PTR_EQ(arch_detour_jump_target(code, 9), code + 9 + 0x10);
	CHECK_NULL(arch_detour_jump_target(code, 4));
}
