/* sandboxes_itself HOW - allocates, forbids itself system calls, allocates on.
 *
 * HOW: strict (prctl, nothing but read, write and exit is left); kill, kill_all (all threads), errno:
 * a filter that permits what a small program needs and kills or refuses otherwise; prctl: the same as
 * kill, the old way; files: kills for openat, process_vm_readv and MADV_WIPEONFORK; refuses: lets
 * no file be opened, and forks three times; harmless: forbids something that nobody does; threads: as kill_all, while threads allocate; asks: libseccomp's
 * question whether there is seccomp, and calls that fail. The allocations afterwards fit into what the
 * heap has. Then it asks to be recorded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define N_BLOCKS 60000
#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

void memory_profiler_start(void) __attribute__((weak));

static _Atomic int n_ready; /* threads that need no other system calls any more */

static void work(void)
{
	void *block[100] = {0};

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		free(block[i % 100]);
		block[i % 100] = malloc(1 + i % 1000);
	}
	for (unsigned i = 0; i < 100; i++)
		free(block[i]);
}

static void *work_on(void *arg)
{
	work();
	atomic_fetch_add(&n_ready, 1);
	for (;;)
		work();
	return arg;
}

static int install(uint32_t otherwise, unsigned flags, int by_prctl)
{
	struct sock_filter permit[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write), /* what follows is for exit and for threads */
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(futex),
		ALLOW(madvise),
		ALLOW(munmap),
		ALLOW(rt_sigprocmask),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(mprotect),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_filter forbid[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(permit) / sizeof(*permit), permit};

	if (!otherwise)
		filter = (struct sock_fprog){sizeof(forbid) / sizeof(*forbid), forbid};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (by_prctl)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

static void *work_once(void *arg)
{
	work();
	return arg;
}

static int work_in_thread(void)
{
	pthread_t t;

	return pthread_create(&t, NULL, work_once, NULL) || pthread_join(t, NULL) ? -1 : 0;
}

static int forbid_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (work_in_thread() || /* the first one: libc opens files */
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &program);
}

static int refuse_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int work_in_child(void)
{
	if (fork() == 0) {
		errno = EXDEV; /* which the recorder must not change */
		free(malloc(4321));
		_exit(errno == EXDEV ? 0 : 1);
	}
	int status = 0;

	return wait(&status) > 0 && !status ? 0 : -1;
}

/* The kernel is to be asked about what lies on this stack: it is not the thread's own. */
static ucontext_t back, fiber;

static void work_on_fiber(void)
{
	work();
	swapcontext(&fiber, &back);
}

static int work_elsewhere(void)
{
	static char stack[128 * 1024];

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof(stack);
	makecontext(&fiber, work_on_fiber, 0);
	swapcontext(&back, &fiber);
	if (work_in_thread())
		return -1;
	return work_in_child();
}

static int forbid(const char *how)
{
	const unsigned all = SECCOMP_FILTER_FLAG_TSYNC;
	struct sock_fprog empty = {0, NULL};

	if (!strcmp(how, "asks")) {
		syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0xffff, NULL);
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &empty);
		install(SECCOMP_RET_KILL_PROCESS, 0x4000, 0); /* no such flag */
		prctl(PR_SET_SECCOMP, 7, NULL);
		return 0;
	}
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "kill"))
		return install(SECCOMP_RET_KILL_PROCESS, 0, 0);
	if (!strcmp(how, "kill_all") || !strcmp(how, "threads"))
		return install(SECCOMP_RET_KILL_PROCESS, all, 0);
	if (!strcmp(how, "errno"))
		return install(SECCOMP_RET_ERRNO | EPERM, all, 0);
	if (!strcmp(how, "prctl"))
		return install(SECCOMP_RET_KILL_PROCESS, 0, 1);
	if (!strcmp(how, "files"))
		return forbid_files();
	if (!strcmp(how, "refuses"))
		return refuse_files();
	return install(0, all, 0);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t[4];
	int n_threads = strcmp(how, "threads") ? 0 : 4;

	work();
	for (int i = 0; i < n_threads; i++)
		if (pthread_create(&t[i], NULL, work_on, NULL))
			return 2;
	while (atomic_load(&n_ready) < n_threads)
		sched_yield();
	if (forbid(how)) {
		perror("forbid");
		return 2;
	}
	if (!strcmp(how, "files") && work_elsewhere())
		return 3;
	for (int i = 0; i < 3 && !strcmp(how, "refuses"); i++)
		if (work_in_child())
			return 3;
	say("in the sandbox\n");
	if (memory_profiler_start)
		memory_profiler_start();
	for (int i = 0; i < 5; i++)
		work();
	say("done\n");
	if (!strcmp(how, "strict"))
		syscall(SYS_exit, 9);
	exit(9);
}
