/* record/redirect.c - see redirect.h. */
#include "record/redirect.h"

#include <string.h>

#include "base/bits.h"
#include "record/sys.h"

const char *redirect_check(struct redirect *r)
{
	return arch_detour_check(r->function, r->n_bytes, r->n_readable, &r->detour);
}

/* Maps at exactly this address, if nothing is there. */
static uint8_t *map_at(uintptr_t addr, size_t n_bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	long ret = arch_syscall6(SYS_mmap, (long)addr, (long)n_bytes, PROT_READ | PROT_WRITE, flags,
				 -1, 0);

	if (sys_failed(ret))
		return NULL;
	if ((uintptr_t)ret == addr)
		return (uint8_t *)ret;
	sys_unmap((void *)ret, n_bytes); /* a kernel before 4.17 takes the address as a hint */
	return NULL;
}

/* Below the module: behind the program lies the space into which brk() grows. Close by first, then
 * in larger steps, then far behind the module. */
bool redirect_area_open(struct redirect_area *area, uintptr_t start, uintptr_t end, size_t n_bytes)
{
	const uintptr_t reach = ARCH_DETOUR_REACH_BYTES, step = 64 * KIB, large_step = 16 * MIB;
	uintptr_t low = end > reach ? end - reach : 0, at = align_down(start, step);

	n_bytes = align_up(n_bytes, PAGE_BYTES);
	*area = (struct redirect_area){.n_bytes = n_bytes};
	for (unsigned i = 0; i < 16 && at > low + n_bytes + step && !area->memory; i++) {
		at -= step;
		area->memory = map_at(at, n_bytes);
	}
	while (!area->memory && at > low + n_bytes + large_step) {
		at -= large_step;
		area->memory = map_at(at, n_bytes);
	}
	at = align_up(start + reach, step);
	while (!area->memory && at > align_up(end, step) + large_step) {
		at -= large_step;
		area->memory = map_at(at, n_bytes);
	}
	return area->memory != NULL;
}

void redirect_area_close(struct redirect_area *area)
{
	if (area->memory)
		sys_unmap(area->memory, area->n_bytes);
	*area = (struct redirect_area){0};
}

void *redirect_area_take(struct redirect_area *area, size_t n_bytes)
{
	uint8_t *taken = area->memory + area->n_used;

	n_bytes = align_up(n_bytes, 16);
	if (n_bytes > area->n_bytes - area->n_used)
		return NULL;
	area->n_used += n_bytes;
	return taken;
}

bool redirect_prepare(struct redirect *r, struct redirect_area *area, const void *hook,
		      unsigned context_argument, const void *context)
{
	size_t original;

	r->stub = redirect_area_take(area, ARCH_DETOUR_STUB_BYTES);
	if (!r->stub)
		return false;
	original = arch_detour_write_stub(r->function, &r->detour, r->stub, hook, context_argument,
					  context);
	r->original = r->stub + original;
	return original != 0;
}

static bool protect(void *memory, size_t n_bytes, int protection)
{
	return !sys_failed(arch_syscall3(SYS_mprotect, memory, n_bytes, protection));
}

bool redirect_area_seal(struct redirect_area *area)
{
	return protect(area->memory, area->n_bytes, PROT_READ | PROT_EXEC);
}

/* The kernel lets a process write to its own read-only pages here, unless it was configured not
 * to. */
static bool write_by_proc(uint8_t *at, const uint8_t *bytes, size_t n_bytes)
{
	long fd = sys_open("/proc/self/mem", O_RDWR, 0);
	long n;

	if (fd < 0)
		return false;
	n = sys_pwrite((int)fd, bytes, n_bytes, (uintptr_t)at);
	sys_close((int)fd);
	return n == (long)n_bytes;
}

/* The page is not executable meanwhile. */
static bool write_by_mprotect(uint8_t *at, const uint8_t *bytes, size_t n_bytes)
{
	uint8_t *page = (uint8_t *)align_down((uintptr_t)at, PAGE_BYTES);
	size_t len = align_up((uintptr_t)at + n_bytes, PAGE_BYTES) - (uintptr_t)page;

	if (!protect(page, len, PROT_READ | PROT_WRITE))
		return false;
	memcpy(at, bytes, n_bytes);
	return protect(page, len, PROT_READ | PROT_EXEC);
}

static bool write_code(uint8_t *at, const uint8_t *bytes, size_t n_bytes)
{
	return (write_by_proc(at, bytes, n_bytes) || write_by_mprotect(at, bytes, n_bytes)) &&
	       !memcmp(at, bytes, n_bytes);
}

bool redirect_apply(struct redirect *r)
{
	uint8_t bytes[ARCH_DETOUR_JUMP_BYTES];
	uint8_t *at = r->function + r->detour.jump_at;

	memcpy(r->saved, at, sizeof(r->saved));
	arch_detour_write_jump(r->function, &r->detour, r->stub, bytes);
	return write_code(at, bytes, sizeof(bytes));
}

void redirect_undo(struct redirect *r)
{
	write_code(r->function + r->detour.jump_at, r->saved, sizeof(r->saved));
}
