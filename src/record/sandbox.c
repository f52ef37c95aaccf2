/* record/sandbox.c - see sandbox.h. */
#include "record/sandbox.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "record/options.h"

/* A system call of the recorder. Essential: nothing works if it is refused. The others may fail,
 * but must not kill. */
struct call {
	int number;
	bool is_essential;
	uint64_t arg[4]; /* what filters look at */
};

#define RW (PROT_READ | PROT_WRITE)

static const struct call in_threads[] = {
	{SYS_futex, true, {0, FUTEX_WAIT_PRIVATE}},
	{SYS_futex, true, {0, FUTEX_WAKE_PRIVATE}},
	{SYS_clock_gettime, true, {0}},
	{SYS_getpid, true, {0}},
	{SYS_gettid, true, {0}},
	{SYS_rt_sigprocmask, true, {0}},
	{SYS_mmap, true, {0, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}},
	{SYS_madvise, true, {0, 4096, MADV_WIPEONFORK}},
	{SYS_munmap, false, {0}},
	{SYS_process_vm_readv, false, {0}},
	{SYS_openat, false, {0}},
	{SYS_pread64, false, {0}},
	{SYS_statx, false, {0}},
	{SYS_close, false, {0}},
};

static const struct call in_writer[] = {
	{SYS_futex, true, {0, FUTEX_WAIT_PRIVATE}},
	{SYS_futex, true, {0, FUTEX_WAKE_PRIVATE}},
	{SYS_clock_gettime, true, {0}},
	{SYS_pwrite64, true, {0}},
	{SYS_fallocate, true, {0}},
	{SYS_mmap, true, {0, 4096, RW, MAP_SHARED}},
	{SYS_madvise, true, {0, 4096, MADV_DONTFORK}},
	{SYS_munmap, false, {0}},
	{SYS_openat, false, {0}},
	{SYS_read, false, {0}},
	{SYS_write, false, {0}},
	{SYS_pread64, false, {0}},
	{SYS_close, false, {0}},
	{SYS_close_range, false, {0}},
	{SYS_exit, false, {0}},
	{SYS_fchown, false, {0}},
	{SYS_fcntl, false, {0}},
	{SYS_flock, false, {0}},
	{SYS_fstat, false, {0}},
	{SYS_ftruncate, false, {0}},
	{SYS_getdents64, false, {0}},
	{SYS_getgid, false, {0}},
	{SYS_getppid, false, {0}},
	{SYS_getrandom, false, {0}},
	{SYS_getresgid, false, {0}},
	{SYS_getresuid, false, {0}},
	{SYS_getuid, false, {0}},
	{SYS_ioctl, false, {0}},
	{SYS_readlinkat, false, {0}},
	{SYS_renameat, false, {0}},
	{SYS_sched_getaffinity, false, {0}},
	{SYS_setgroups, false, {0}},
	{SYS_setresgid, false, {0}},
	{SYS_setresuid, false, {0}},
	{SYS_sysinfo, false, {0}},
	{SYS_tgkill, false, {0}},
	{SYS_uname, false, {0}},
	{SYS_unlinkat, false, {0}},
};

/* The same with MEMORY_PROFILER_ENABLE_SERVER. */
static const struct call in_server[] = {
	{SYS_accept4, false, {0}},
	{SYS_bind, false, {0}},
	{SYS_fcntl, false, {0, F_DUPFD_CLOEXEC}},
	{SYS_listen, false, {0}},
	{SYS_recvfrom, false, {0}},
	{SYS_sendto, false, {0}},
	{SYS_setsockopt, false, {0}},
	{SYS_socket, false, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK}},
	{SYS_socket, false, {AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK}},
	{SYS_socket, false, {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK}},
};

/* State of the filter machine. */
struct machine {
	uint32_t a, x;
	uint32_t mem[BPF_MEMWORDS];
	const struct seccomp_data *data;
};

static bool load(struct machine *m, const struct sock_filter *f, uint32_t *ret)
{
	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		*ret = f->k;
		return true;
	case BPF_LEN:
		*ret = sizeof(*m->data);
		return true;
	case BPF_MEM:
		*ret = f->k < BPF_MEMWORDS ? m->mem[f->k] : 0;
		return f->k < BPF_MEMWORDS;
	case BPF_ABS:
		if (f->k % 4 || f->k > sizeof(*m->data) - 4)
			return false;
		memcpy(ret, (const uint8_t *)m->data + f->k, 4);
		return true;
	default:
		return false;
	}
}

static bool calculate(struct machine *m, const struct sock_filter *f)
{
	uint32_t b = BPF_SRC(f->code) == BPF_X ? m->x : f->k;

	switch (BPF_OP(f->code)) {
	case BPF_ADD:
		m->a += b;
		return true;
	case BPF_SUB:
		m->a -= b;
		return true;
	case BPF_MUL:
		m->a *= b;
		return true;
	case BPF_DIV:
		m->a = b ? m->a / b : 0;
		return b != 0;
	case BPF_AND:
		m->a &= b;
		return true;
	case BPF_OR:
		m->a |= b;
		return true;
	case BPF_XOR:
		m->a ^= b;
		return true;
	case BPF_LSH:
		m->a = b < 32 ? m->a << b : 0;
		return true;
	case BPF_RSH:
		m->a = b < 32 ? m->a >> b : 0;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

/* How many instructions to skip; less than 0: there is no such jump. */
static int64_t jump(const struct machine *m, const struct sock_filter *f)
{
	uint32_t b = BPF_SRC(f->code) == BPF_X ? m->x : f->k;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		return m->a == b ? f->jt : f->jf;
	case BPF_JGT:
		return m->a > b ? f->jt : f->jf;
	case BPF_JGE:
		return m->a >= b ? f->jt : f->jf;
	case BPF_JSET:
		return m->a & b ? f->jt : f->jf;
	default:
		return -1;
	}
}

/* What the filter answers; "kill" for a filter that the kernel would refuse. Jumps only go forward,
 * so the loop ends. */
static uint32_t run(const struct sock_fprog *filter, const struct seccomp_data *data)
{
	struct machine m = {.data = data};
	int64_t over;

	for (size_t i = 0; i < filter->len; i++) {
		const struct sock_filter *f = &filter->filter[i];
		bool ok = true;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
			ok = load(&m, f, &m.a);
			break;
		case BPF_LDX:
			ok = load(&m, f, &m.x);
			break;
		case BPF_ST:
		case BPF_STX:
			ok = f->k < BPF_MEMWORDS;
			if (ok)
				m.mem[f->k] = BPF_CLASS(f->code) == BPF_ST ? m.a : m.x;
			break;
		case BPF_ALU:
			ok = calculate(&m, f);
			break;
		case BPF_JMP:
			over = jump(&m, f);
			ok = over >= 0;
			i += ok ? (size_t)over : 0;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
		if (!ok)
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* Does the filter let the recorder make this call, or refuse it without harm? */
static bool allows(const struct sock_fprog *filter, const struct call *call)
{
	struct seccomp_data data = {.nr = call->number, .arch = ARCH_AUDIT};
	uint32_t action;

	memcpy(data.args, call->arg, sizeof(call->arg));
	data.instruction_pointer = (uintptr_t)&sandbox_is_harmless;
	action = run(filter, &data) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && !call->is_essential);
}

bool sandbox_is_harmless(const struct sock_fprog *filter, bool with_writer)
{
	bool with_server = with_writer && options_active.ENABLE_SERVER;

	for (size_t i = 0; i < ARRAY_LEN(in_threads); i++) {
		if (!allows(filter, &in_threads[i]))
			return false;
	}
	for (size_t i = 0; with_writer && i < ARRAY_LEN(in_writer); i++) {
		if (!allows(filter, &in_writer[i]))
			return false;
	}
	for (size_t i = 0; with_server && i < ARRAY_LEN(in_server); i++) {
		if (!allows(filter, &in_server[i]))
			return false;
	}
	return true;
}
