/* unwind/memory.c - reading stacks and tables without ever touching unmapped memory.
 *
 * Nearly every word that a walk wants lies in the thread's own stack, between the stack pointer and
 * a limit that no frame is above: the first stack pointer of the process for the main thread, the
 * thread control block (which libc places at the top of each stack it makes) for the others. The
 * kernel is asked about that range once, page by page. From then on the range is read with plain
 * loads: it lives as long as the thread does. All other addresses (fibers, alternate signal stacks,
 * whatever an expression points at) are copied by the kernel, which answers EFAULT instead of a
 * signal.
 */
#include "unwind/memory_i.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "base/bits.h"
#include "base/units.h"
#include "unwind/maps_i.h"

#define MAX_STACK_BYTES (256 * MIB) /* larger ones are read through the kernel */
#define PROBE_PAGES 16 /* pages asked about in one system call */
#define PAGE_USES 1024 /* answers to is_executable before /proc is read again */

#define CODE_TICKS (1u << 21) /* how long code is believed: about a millisecond */

extern void *__libc_stack_end __attribute__((weak));

static uintptr_t stack_end; /* the process's first stack pointer */
static uintptr_t main_thread_pointer;
static _Atomic bool is_readv_refused; /* by seccomp, or not in this kernel */

/* A byte loop: sanitizers watch memcpy(), and these are not our objects. */
NO_SANITIZE static void load_bytes(uint8_t *dst, uintptr_t addr, size_t n)
{
	const volatile uint8_t *src = (const volatile uint8_t *)addr;

	for (size_t i = 0; i < n; i++)
		dst[i] = src[i];
}

/* Without process_vm_readv: rt_sigprocmask() copies the new set before it finds `how` to be
 * nonsense. So it fails with EFAULT if eight bytes cannot be read, with EINVAL if they can, and
 * does nothing. */
static bool is_page_readable(uintptr_t addr)
{
	uintptr_t word = align_down(addr, sizeof(uint64_t));

	return arch_syscall4(SYS_rt_sigprocmask, -1, word, 0, sizeof(uint64_t)) == -EINVAL;
}

static size_t copy_page_wise(uint8_t *dst, uintptr_t addr, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t in_page = PAGE_BYTES - (addr + done) % PAGE_BYTES;
		size_t part = n - done < in_page ? n - done : in_page;

		if (!is_page_readable(addr + done))
			break;
		load_bytes(dst + done, addr + done, part);
		done += part;
	}
	return done;
}

/* Copies up to n bytes and returns how many could be read. The kernel is asked for the memory of
 * this thread, not of the process: a process whose first thread has ended has no memory any more.
 * The thread's id is asked for each time: after a raw clone() a kept id would name the parent,
 * whose memory looks like ours. */
static size_t copy_some(void *dst, uintptr_t addr, size_t n)
{
	struct iovec local = {dst, n};
	struct iovec remote = {(void *)addr, n};
	long got;

	if (addr + n < addr)
		return 0;
	if (atomic_load_explicit(&is_readv_refused, memory_order_relaxed))
		return copy_page_wise(dst, addr, n);
	got = arch_syscall6(SYS_process_vm_readv, arch_syscall0(SYS_gettid), (long)&local, 1,
			    (long)&remote, 1, 0);
	if (got == -ENOSYS || got == -EPERM) {
		atomic_store_explicit(&is_readv_refused, true, memory_order_relaxed);
		return copy_page_wise(dst, addr, n);
	}
	return got < 0 ? 0 : (size_t)got;
}

bool memory_copy(void *dst, uintptr_t addr, size_t n)
{
	return copy_some(dst, addr, n) == n;
}

/* The first page of [page, hi) that cannot be read, or hi. page is aligned. */
static uintptr_t find_unreadable(uintptr_t page, uintptr_t hi)
{
	struct iovec remote[PROBE_PAGES];
	uint8_t bytes[PROBE_PAGES];
	struct iovec local = {bytes, sizeof(bytes)};

	while (page < hi && !atomic_load_explicit(&is_readv_refused, memory_order_relaxed)) {
		long n = 0;
		long got;

		for (; n < PROBE_PAGES && page + (uintptr_t)n * PAGE_BYTES < hi; n++)
			remote[n] = (struct iovec){(void *)(page + (uintptr_t)n * PAGE_BYTES), 1};
		got = arch_syscall6(SYS_process_vm_readv, arch_syscall0(SYS_gettid), (long)&local,
				    1, (long)remote, n, 0);
		if (got == -ENOSYS || got == -EPERM) {
			atomic_store_explicit(&is_readv_refused, true, memory_order_relaxed);
			break;
		}
		if (got < n)
			return page + (got > 0 ? (uintptr_t)got * PAGE_BYTES : 0);
		page += (uintptr_t)n * PAGE_BYTES;
	}
	while (page < hi && is_page_readable(page))
		page += PAGE_BYTES;
	return page < hi ? page : hi;
}

void memory_init(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	stack_end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	/* Only the first time, in the main thread: a forked child may go on in another one. */
	if (!main_thread_pointer && here < stack_end && stack_end - here < MAX_STACK_BYTES &&
	    find_unreadable(align_down(here, PAGE_BYTES), stack_end) == stack_end)
		main_thread_pointer = arch_thread_pointer();
}

void memory_refuse_copies(bool on)
{
	atomic_store(&is_readv_refused, on);
}

uintptr_t memory_stack_end(void)
{
	return stack_end;
}

/* Where the stack must end, if sp is on the stack that this thread began on. */
static uintptr_t stack_limit(uintptr_t sp)
{
	uintptr_t tp = arch_thread_pointer();

	if (tp != main_thread_pointer && tp > sp)
		return align_down(tp, sizeof(uintptr_t));
	return stack_end;
}

void memory_forget(struct memory *m)
{
	m->own = m->piece = (struct memory_range){0, 0};
	memset(m->foreign, 0, sizeof(m->foreign));
	memset(m->page, 0, sizeof(m->page));
	memset(m->code, 0, sizeof(m->code));
}

void memory_begin(struct memory *m, uintptr_t sp)
{
	m->piece = (struct memory_range){0, 0};
	if (unlikely(!memory_is_own(m, sp)))
		memory_enter(m, sp);
}

COLD void memory_enter(struct memory *m, uintptr_t sp)
{
	bool has_own = m->own.hi != 0;
	uintptr_t page = align_down(sp, PAGE_BYTES);
	uintptr_t until;
	uintptr_t stop;

	if (memory_is_own(m, sp))
		return;
	for (unsigned i = 0; i < MEMORY_N_FOREIGN; i++)
		if (sp >= m->foreign[i].lo && sp < m->foreign[i].hi)
			return;
	/* A stack grows down: only the pages below those that we know are new. */
	until = has_own ? m->own.lo : stack_limit(sp);
	if (until <= sp || until - sp > MAX_STACK_BYTES)
		return;
	stop = find_unreadable(page, until);
	if (stop == until) {
		m->own.lo = page;
		m->own.hi = has_own ? m->own.hi : until;
		return;
	}
	m->foreign[m->next_foreign++ % MEMORY_N_FOREIGN] = (struct memory_range){page, stop};
}

/* Fetches the piece around addr: a little below addr, because the saved registers of a frame lie
 * below its return address, and as much as there is above addr, where the walk is going. */
static bool fetch_piece(struct memory *m, uintptr_t addr)
{
	uintptr_t lo = addr % PAGE_BYTES > 256 ? addr - 256 : align_down(addr, PAGE_BYTES);
	size_t n = copy_some(m->piece_bytes, lo, MEMORY_PIECE_BYTES);

	m->piece = (struct memory_range){lo, lo + n};
	return n > 0;
}

static bool is_in_piece(const struct memory *m, uintptr_t addr, size_t n)
{
	return addr >= m->piece.lo && addr < m->piece.hi && n <= m->piece.hi - addr;
}

bool memory_read(struct memory *m, uintptr_t addr, size_t n, uint64_t *ret)
{
	uint64_t value = 0;

	if (addr + n < addr)
		return false;
	if (memory_is_own(m, addr) && n <= m->own.hi - addr) {
		load_bytes((uint8_t *)&value, addr, n);
		*ret = value;
		return true;
	}
	if (!is_in_piece(m, addr, n) && (!fetch_piece(m, addr) || !is_in_piece(m, addr, n)))
		return false;
	memcpy(&value, m->piece_bytes + (addr - m->piece.lo), n);
	*ret = value;
	return true;
}

struct memory_value memory_word_foreign(struct memory *m, uintptr_t addr)
{
	uint64_t value = 0;
	bool is_ok = memory_read(m, addr, sizeof(uintptr_t), &value);

	return (struct memory_value){(uintptr_t)value, is_ok};
}

bool memory_code(struct memory *m, uintptr_t addr, size_t n, uint32_t generation, uint8_t *ret)
{
	struct memory_code *c = &m->code[(addr ^ addr >> 8) % MEMORY_N_CODE];
	uint64_t now = arch_ticks();

	if (c->addr != addr || now - c->ticks > CODE_TICKS || c->generation != generation ||
	    generation & 1 || (c->n && c->n < n)) {
		bool is_ok = memory_copy(c->bytes, addr, n);

		c->addr = addr;
		c->ticks = now;
		c->generation = generation;
		c->n = is_ok ? (uint8_t)n : 0;
	}
	if (!c->n)
		return false;
	memcpy(ret, c->bytes, n);
	return true;
}

/* --- what is executable ----------------------------------------------------------------------- */

struct maps_search {
	uintptr_t addr;
	bool is_executable;
};

static bool search_line(const struct maps_line *line, void *arg)
{
	struct maps_search *s = arg;

	if (s->addr >= line->hi)
		return true;
	s->is_executable = s->addr >= line->lo && line->is_executable;
	return false;
}

static bool ask_maps(uint8_t *buf, uintptr_t addr)
{
	struct maps_search s = {.addr = addr};

	_Static_assert(MAPS_BUFFER_BYTES <= MEMORY_PIECE_BYTES, "the piece is the buffer");
	maps_each(buf, search_line, &s);
	return s.is_executable;
}

bool memory_is_executable(struct memory *m, uintptr_t addr)
{
	uintptr_t page = align_down(addr, PAGE_BYTES);
	struct memory_page *p = &m->page[addr / PAGE_BYTES % MEMORY_N_PAGES];

	if (page == 0)
		return false;
	if (p->addr == page && p->n_uses_left) {
		p->n_uses_left--;
		return p->is_executable;
	}
	m->piece = (struct memory_range){0, 0}; /* ask_maps() overwrites its buffer */
	*p = (struct memory_page){page, PAGE_USES, ask_maps(m->piece_bytes, addr)};
	return p->is_executable;
}
