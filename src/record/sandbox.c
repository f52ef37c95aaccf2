/* record/sandbox.c - see sandbox.h. */
#include "record/sandbox.h"

#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/wait.h>
#include <string.h>

#include "record/own_memory.h"
#include "record/sys.h"

/* A system call of the recorder. Essential: nothing works if it is refused. The others may fail,
 * but must not kill. */
struct call {
	int number;
	enum sandbox_effect effect; /* if the call would kill */
	bool is_essential;
	uint64_t arg[4]; /* what filters look at */
};

#define RW (PROT_READ | PROT_WRITE)

static const struct call in_threads[] = {
	{SYS_futex, SANDBOX_FATAL, true, {0, FUTEX_WAIT_PRIVATE}},
	{SYS_futex, SANDBOX_FATAL, true, {0, FUTEX_WAKE_PRIVATE}},
	{SYS_clock_gettime, SANDBOX_FATAL, true, {0}},
	{SYS_getpid, SANDBOX_FATAL, true, {0}},
	{SYS_gettid, SANDBOX_FATAL, true, {0}},
	{SYS_rt_sigprocmask, SANDBOX_FATAL, true, {SIG_SETMASK}},
	{SYS_mmap, SANDBOX_FATAL, true, {0, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE}},
	{SYS_madvise, SANDBOX_NO_WIPING, true, {0, 4096, MADV_WIPEONFORK}},
	{SYS_munmap, SANDBOX_FATAL, false, {0}},
	{SYS_process_vm_readv, SANDBOX_NO_COPIES, false, {0}},
	{SYS_openat, SANDBOX_NO_FILES, false, {0}},
	{SYS_pread64, SANDBOX_NO_FILES, false, {0}},
	{SYS_statx, SANDBOX_NO_FILES, false, {0}},
	{SYS_close, SANDBOX_NO_FILES, false, {0}},
};

/* How memory is read without process_vm_readv(): unwind/memory.c. */
static const struct call instead_of_copies = {
	SYS_rt_sigprocmask, SANDBOX_FATAL, true, {(uint64_t)-1}};

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
	data.instruction_pointer = (uintptr_t)&sandbox_effects;
	action = run(filter, &data) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (action == SECCOMP_RET_ERRNO && !call->is_essential);
}

unsigned sandbox_effects(const struct sock_fprog *filter)
{
	unsigned effects = SANDBOX_HARMLESS;

	for (size_t i = 0; i < ARRAY_LEN(in_threads); i++) {
		if (!allows(filter, &in_threads[i]))
			effects |= in_threads[i].effect;
	}
	if ((effects & SANDBOX_NO_COPIES) && !allows(filter, &instead_of_copies))
		effects |= SANDBOX_FATAL;
	return effects;
}

#define TRIAL_STACK_BYTES (16 * KIB)
#define TRIAL_TLS_BYTES (4 * KIB)
#define TRIAL_STEP_NS (50 * 1000)
#define TRIAL_STEPS 20000

struct trial {
	long number;
	const unsigned long *arg;
	long result;
	_Atomic uint32_t is_done;
};

/* Afterwards this process may make no system call that it could be killed for: it waits for that. */
static int try(void *arg)
{
	struct trial *t = arg;

	t->result = arch_syscall5(t->number, t->arg[0], t->arg[1], t->arg[2], t->arg[3], t->arg[4]);
	atomic_store(&t->is_done, 1);
	for (;;)
		;
	return 0;
}

bool sandbox_would_begin(long number, const unsigned long arg[5])
{
	const struct timespec pause = {.tv_nsec = TRIAL_STEP_NS};
	struct trial t = {.number = number, .arg = arg};
	uint8_t *memory = own_memory_map(TRIAL_STACK_BYTES + 2 * TRIAL_TLS_BYTES);
	uint8_t *tls = memory + TRIAL_STACK_BYTES + TRIAL_TLS_BYTES;
	uint64_t mask = sys_block_signals();
	long pid = -1;

	if (memory) {
		*(void **)tls = tls;
		pid = arch_clone(CLONE_VM | CLONE_FILES | CLONE_SETTLS | CLONE_UNTRACED,
				 memory + TRIAL_STACK_BYTES, tls, try, &t);
	}
	for (unsigned i = 0; pid > 0 && i < TRIAL_STEPS && !atomic_load(&t.is_done); i++)
		arch_syscall2(SYS_nanosleep, &pause, NULL);
	if (pid > 0) {
		arch_syscall2(SYS_kill, pid, SIGKILL);
		arch_syscall4(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
	sys_restore_signals(mask);
	if (memory)
		own_memory_unmap(memory, TRIAL_STACK_BYTES + 2 * TRIAL_TLS_BYTES);
	return !atomic_load(&t.is_done) || t.result >= 0;
}
