/* record/writer_process.c - see writer_process.h. */
#include "record/writer_process.h"

#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <poll.h>
#include <string.h>

#include "base/text.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define STACK_BYTES (64 * KIB)
#define SMALL_STACK_BYTES (8 * KIB)
#define TLS_BYTES                                                                                  \
	(8 * KIB) /* in place of thread-local data: nothing should use it; a mistake hits zeros */
#define LOOK_NS NS_PER_S
#define LOOK_SOON_NS NS_PER_MS
#define ENOUGH_DIFFERENCES 3
#define SYS_ECHILD (-10)
#define KCMP_VM 1
#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO of the kernel */

_Static_assert(STACK_BYTES + 2 * SMALL_STACK_BYTES + 3 * TLS_BYTES == WRITER_PROCESS_STACKS_BYTES,
	       "layout of the stacks");

static uint8_t *top_of_stack(const struct writer_process *p)
{
	return p->stack + STACK_BYTES;
}

static uint8_t *top_of_small_stack(const struct writer_process *p, unsigned n)
{
	return top_of_stack(p) + (n + 1) * SMALL_STACK_BYTES;
}

/* Thread-local variables lie below the pointer, which points to itself. */
static uint8_t *thread_pointer(const struct writer_process *p)
{
	uint8_t *tls = top_of_small_stack(p, 1) + TLS_BYTES;

	*(void **)tls = tls;
	return tls;
}

/* Do orphans become children of this process, or of one that it was forked from? Then the writer
 * must not be an orphan: wait() would return it to the program. */
static bool gets_orphans(void)
{
	static bool one_did; /* what a fork copies */
	int is_subreaper = 0;

	arch_syscall2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_subreaper);
	one_did = one_did || is_subreaper || sys_getpid() == 1;
	return one_did;
}

static int run_writer(void *arg)
{
	struct writer_process *p = arg;

	/* The kernel stores 0 there and wakes who waits when this task ends, however it does. */
	atomic_store(&p->rec->writer_tid, sys_gettid());
	arch_syscall1(SYS_set_tid_address, &p->rec->writer_tid);
	/* A signal to the program's group is none for the writer, least of all SIGKILL and SIGSTOP. */
	arch_syscall2(SYS_setpgid, 0, 0);
	arch_syscall5(SYS_prctl, PR_SET_NAME, WRITER_PROCESS_NAME, 0, 0, 0);
	p->main(p->arg);
	arch_syscall1(SYS_exit_group, 0); /* with the thread that watches */
	return 0;
}

static long clone_writer(struct writer_process *p)
{
	p->pid = arch_clone(CLONE_VM | CLONE_SETTLS | CLONE_UNTRACED, top_of_stack(p),
			    thread_pointer(p), run_writer, p);
	return p->pid;
}

static int run_between(void *arg)
{
	struct writer_process *p = arg;
	long pid;

	/* Should the target be killed now: hooks_wait.c knows this process by its name, too. */
	arch_syscall5(SYS_prctl, PR_SET_NAME, WRITER_PROCESS_NAME, 0, 0, 0);
	pid = clone_writer(p);
	p->error = pid < 0 ? pid : 0;
	return 0;
}

/* Shares descriptors and folders with the target: the writer gets its copies from here. */
static long clone_between(struct writer_process *p)
{
	unsigned long flags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SETTLS | CLONE_UNTRACED;
	long pid = arch_clone(flags, top_of_small_stack(p, 0), thread_pointer(p), run_between, p);

	if (pid < 0)
		return pid;
	arch_syscall4(SYS_wait4, pid, NULL, __WCLONE, NULL);
	return p->error;
}

/* Would the writer become process 1 of a new namespace (unshare(CLONE_NEWPID))? */
static bool would_be_in_another_namespace(void)
{
	char here[64] = {0}, children[64] = {0};
	long m = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid_for_children", children,
			       sizeof(children) - 1);
	long n;

	if (!strcmp(children, FIRST_PID_NAMESPACE)) /* has no parent: this process is there, too */
		return false;
	n = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", here, sizeof(here) - 1);
	return n > 0 && m != SYS_EINVAL && (m <= 0 || strcmp(here, children));
}

long writer_process_start(struct writer_process *p)
{
	uint64_t mask;
	long ret;

	if (would_be_in_another_namespace())
		return SYS_EINVAL;
	mask = sys_block_signals();
	p->pidfd = -1;
	atomic_store(&p->is_target_gone, 0);
	ret = gets_orphans() ? clone_writer(p) : clone_between(p);
	if (ret == SYS_EAGAIN) /* a limit may leave room for one process, not for two */
		ret = clone_writer(p);
	sys_restore_signals(mask);
	return ret < 0 ? ret : 0;
}

void writer_process_await_end(struct writer_process *p)
{
	uint32_t tid;
	long ret = SYS_EINTR;

	for (unsigned i = 0; i < 1000 && (tid = atomic_load(&p->rec->writer_tid)); i++)
		sys_futex_wait(&p->rec->writer_tid, tid, NS_PER_MS);
	if (p->pid <= 0 || atomic_load(&p->rec->writer_tid))
		return;
	while (ret == SYS_EINTR)
		ret = arch_syscall4(SYS_wait4, p->pid, NULL, __WCLONE, NULL);
	p->pid = 0;
}

bool writer_process_is_dead(const struct recorder *rec)
{
	return atomic_load(&rec->ready) && !atomic_load(&rec->writer_tid);
}

static int watch(void *arg)
{
	struct writer_process *p = arg;
	struct pollfd poll = {.fd = p->pidfd, .events = POLLIN};
	long ret;

	do
		ret = arch_syscall5(SYS_ppoll, &poll, 1, NULL, NULL, 8);
	while (ret == SYS_EINTR);
	if (ret == 1)
		atomic_store(&p->is_target_gone, 1);
	record_wake_writer(p->rec);
	return 0;
}

static void drop_descriptors(bool keep_stderr)
{
	arch_syscall3(SYS_close_range, 0, 1, 0);
	if (!keep_stderr)
		sys_close(2);
	if (arch_syscall3(SYS_close_range, 3, ~0u, 0) == SYS_ENOSYS) {
		for (int fd = 0; fd < 65536; fd++) {
			if (fd != 2)
				sys_close(fd);
		}
	}
}

void writer_process_settle(struct writer_process *p, bool keep_stderr)
{
	unsigned long flags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM | CLONE_SETTLS | CLONE_UNTRACED;
	long fd;

	drop_descriptors(keep_stderr);
	fd = arch_syscall2(SYS_pidfd_open, p->rec->pid, 0);
	if (fd >= 0 && fd <= 2) { /* these numbers stay free: 2 is where a log would go */
		long higher = arch_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);

		sys_close((int)fd);
		fd = higher;
	}
	p->pidfd = (int)fd;
	if (fd >= 0)
		arch_clone(flags, top_of_small_stack(p, 1), thread_pointer(p), watch, p);
}

bool writer_process_is_safe(void)
{
	char name[64] = {0};

	arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", name, sizeof(name) - 1);
	return !strcmp(name, FIRST_PID_NAMESPACE);
}

/* Reads two numbers of /proc/PID/statm, in pages: all memory and that of code. pid 0: of this process.
 * False: the file cannot be read. */
static bool read_statm(uint32_t pid, uint64_t *total, uint64_t *code)
{
	char path[64], content[128] = {0};
	struct text text = text_make(path, sizeof(path));
	uint64_t number[4] = {0};
	unsigned n = 0;

	text_put(&text, "/proc/");
	if (pid)
		text_put_u64(&text, pid);
	else
		text_put(&text, "self");
	text_put(&text, "/statm");
	if (sys_read_file(path, content, sizeof(content) - 1) <= 0)
		return false;
	for (const char *c = content; *c && n < 4; c++) {
		if (*c == ' ')
			n++;
		else if (*c >= '0' && *c <= '9')
			number[n] = number[n] * 10 + (uint64_t)(*c - '0');
	}
	*total = number[0];
	*code = number[3];
	return true;
}

/* Does the target have other memory than this process? Sizes that differ show it; but the target
 * may be mapping memory, so the sizes must differ repeatedly. */
static bool has_other_sizes(struct writer_process *p)
{
	uint64_t before, now, other, code, other_code;

	if (!read_statm(0, &before, &code) || !read_statm(p->rec->pid, &other, &other_code) ||
	    !read_statm(0, &now, &code))
		return false;
	if (before != now)
		return false;
	p->n_differences = other == now && other_code == code ? 0 : p->n_differences + 1;
	return p->n_differences >= ENOUGH_DIFFERENCES;
}

/* Has the first thread of the target ended? /proc/PID shows no memory then; the other threads may go
 * on. */
static bool has_lost_first_thread(const struct writer_process *p)
{
	uint64_t total, code;

	return read_statm(p->rec->pid, &total, &code) && !total;
}

static bool has_other_memory(struct writer_process *p)
{
	long ret = arch_syscall5(SYS_kcmp, sys_getpid(), p->rec->pid, KCMP_VM, 0, 0);

	if (ret == 0 || has_lost_first_thread(p))
		return false;
	return ret < 0 ? has_other_sizes(p) : true;
}

/* Has the target ended? Without a pidfd. A process that is dead and not waited for still has its pid. */
static bool is_gone(const struct writer_process *p)
{
	char path[64];
	struct text text = text_make(path, sizeof(path));
	struct stat st = {.st_nlink = 0};

	if (arch_syscall2(SYS_kill, p->rec->pid, 0) == SYS_ESRCH)
		return true;
	text_put(&text, "/proc/");
	text_put_u64(&text, p->rec->pid);
	text_put(&text, "/task");
	arch_syscall4(SYS_newfstatat, AT_FDCWD, path, &st, 0);
	return has_lost_first_thread(p) && st.st_nlink <= 2 + 1;
}

bool writer_process_has_lost_target(struct writer_process *p, bool is_exec_due)
{
	uint64_t now_ns;

	if (atomic_load(&p->is_target_gone))
		return true;
	now_ns = sys_clock_ns(CLOCK_MONOTONIC);
	if (now_ns < p->next_look_ns && !is_exec_due)
		return false;
	p->next_look_ns = now_ns + (is_exec_due ? LOOK_SOON_NS : LOOK_NS);
	if ((p->pidfd < 0 && is_gone(p)) || has_other_memory(p))
		atomic_store(&p->is_target_gone, 1);
	return atomic_load(&p->is_target_gone);
}

bool writer_process_target_is_stopped(const struct writer_process *p)
{
	char path[64], content[256] = {0};
	struct text text = text_make(path, sizeof(path));
	const char *state;

	text_put(&text, "/proc/");
	text_put_u64(&text, p->rec->pid);
	text_put(&text, "/task/"); /* of one thread: the process's own adds up all threads */
	text_put_u64(&text, p->rec->pid);
	text_put(&text, "/stat");
	if (sys_read_file(path, content, sizeof(content) - 1) <= 0)
		return false;
	state = strrchr(content, ')');
	return state && state[1] == ' ' && state[2] == 'T';
}

/* The exit status of a process that is dead and not waited for: the last number of /proc/PID/stat.
 * Less than 0: the process is in another state, or the kernel does not show the status. */
static int read_exit_code(uint32_t pid)
{
	char path[64], content[1024] = {0};
	struct text text = text_make(path, sizeof(path));
	const char *state, *last;
	int code = 0;

	text_put(&text, "/proc/");
	text_put_u64(&text, pid);
	text_put(&text, "/stat");
	if (sys_read_file(path, content, sizeof(content) - 1) <= 0)
		return -1;
	state = strrchr(content, ')');
	last = strrchr(content, ' ');
	if (!state || !last || state[1] != ' ' || (state[2] != 'Z' && state[2] != 'X'))
		return -1;
	for (last++; *last >= '0' && *last <= '9'; last++)
		code = code * 10 + (*last - '0');
	return code ? code : -1; /* also 0 where we lack the right to see it */
}

#define PIDFD_INFO_BYTES 64 /* of Linux 6.13 */
#define PIDFD_GET_INFO_CALL 0xc040ff0b /* _IOWR(0xff, 11, 64 bytes) */
#define PIDFD_INFO_HAS_EXIT (1u << 3)
#define PIDFD_EXIT_CODE_OFFSET 60
#define MAX_TRIES 20

int writer_process_target_status(const struct writer_process *p)
{
	const struct timespec pause = {.tv_nsec = (long)NS_PER_MS};
	uint8_t info[PIDFD_INFO_BYTES];
	int status = read_exit_code(p->rec->pid);

	/* A pidfd has the status once somebody has waited for the target. */
	for (unsigned i = 0; status < 0 && p->pidfd >= 0 && i < MAX_TRIES; i++) {
		uint64_t mask = PIDFD_INFO_HAS_EXIT;

		memset(info, 0, sizeof(info));
		memcpy(info, &mask, sizeof(mask));
		if (arch_syscall3(SYS_ioctl, p->pidfd, PIDFD_GET_INFO_CALL, info) < 0)
			return -1;
		memcpy(&mask, info, sizeof(mask));
		if (mask & PIDFD_INFO_HAS_EXIT)
			memcpy(&status, info + PIDFD_EXIT_CODE_OFFSET, sizeof(status));
		else
			arch_syscall2(SYS_nanosleep, &pause, NULL);
	}
	return status;
}
