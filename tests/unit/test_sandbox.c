/* Which seccomp filters let the recorder live. */
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "harness/test.h"
#include "record/sandbox.h"

#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IS(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

#define EFFECTS(...)                                                                               \
	sandbox_effects(&(struct sock_fprog){                                                      \
		.len = sizeof((struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter),   \
		.filter = (struct sock_filter[]){__VA_ARGS__},                                     \
	})

#define JUDGE(...) (EFFECTS(__VA_ARGS__) == SANDBOX_HARMLESS)

TEST(sandbox_that_permits_all_is_harmless)
{
	CHECK(JUDGE(RETURN(SECCOMP_RET_ALLOW)));
	CHECK(JUDGE(RETURN(SECCOMP_RET_LOG)));
}

TEST(sandbox_that_kills_always_is_not)
{
	CHECK(!JUDGE(RETURN(SECCOMP_RET_KILL_PROCESS)));
	CHECK(!JUDGE(RETURN(SECCOMP_RET_KILL_THREAD)));
	CHECK(!JUDGE(RETURN(SECCOMP_RET_TRAP)));
	CHECK(!JUDGE(RETURN(SECCOMP_RET_TRACE)));
	CHECK(!JUDGE(RETURN(SECCOMP_RET_ERRNO | 1)));
	CHECK(EFFECTS(RETURN(SECCOMP_RET_KILL_PROCESS)) & SANDBOX_FATAL);
	CHECK(EFFECTS(RETURN(SECCOMP_RET_ERRNO | 1)) & SANDBOX_FATAL);
}

TEST(sandbox_without_a_call_of_the_writer_is_harmless)
{
	CHECK(JUDGE(NUMBER, IS(pwrite64), RETURN(SECCOMP_RET_KILL_PROCESS),
		    RETURN(SECCOMP_RET_ALLOW)));
}

#define KILLS_FOR(name)                                                                            \
	EFFECTS(NUMBER, IS(name), RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW))

TEST(sandbox_that_kills_for_what_the_recorder_can_do_without)
{
	CHECK(JUDGE(NUMBER, IS(process_vm_readv), RETURN(SECCOMP_RET_ERRNO),
		    RETURN(SECCOMP_RET_ALLOW)));
	CHECK_EQ(KILLS_FOR(process_vm_readv), SANDBOX_NO_COPIES);
	CHECK_EQ(KILLS_FOR(openat), SANDBOX_NO_FILES);
	CHECK_EQ(KILLS_FOR(madvise), SANDBOX_NO_WIPING);
	CHECK_EQ(KILLS_FOR(futex), SANDBOX_FATAL);
}

TEST(sandbox_without_any_way_to_ask_for_memory_is_fatal)
{
	/* process_vm_readv, and rt_sigprocmask unless the first argument is SIG_SETMASK */
	CHECK(EFFECTS(NUMBER, IS(process_vm_readv), RETURN(SECCOMP_RET_KILL_PROCESS),
		      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 3),
		      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIG_SETMASK, 1, 0),
		      RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)) &
	      SANDBOX_FATAL);
}

TEST(sandbox_that_looks_at_arguments)
{
	/* mmap with execute permission is forbidden: bit 2 of the third argument */
	CHECK(JUDGE(NUMBER, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS),
		    RETURN(SECCOMP_RET_ALLOW)));
	CHECK(!JUDGE(NUMBER, BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
		     RETURN(SECCOMP_RET_KILL_PROCESS), RETURN(SECCOMP_RET_ALLOW)));
}

TEST(sandbox_of_another_architecture_is_not_ours)
{
	CHECK(!JUDGE(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40000003, 0, 1),
		     RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS)));
}

TEST(sandbox_calculates_as_the_kernel_does)
{
	CHECK(JUDGE(BPF_STMT(BPF_LD | BPF_IMM, 7), BPF_STMT(BPF_MISC | BPF_TAX, 0),
		    BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 3),
		    BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 4), BPF_STMT(BPF_ST, 15),
		    BPF_STMT(BPF_LD | BPF_IMM, 0), BPF_STMT(BPF_LDX | BPF_MEM, 15),
		    BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 4),
		    BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0xff), BPF_STMT(BPF_ALU | BPF_NEG, 0),
		    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, -(208u ^ 0xff), 0, 1),
		    RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS)));
}

TEST(sandbox_that_the_kernel_would_refuse_is_not_run_past_its_end)
{
	CHECK(!JUDGE(NUMBER));
	CHECK(!JUDGE(BPF_JUMP(BPF_JMP | BPF_JA, 0xffffffff, 0, 0), RETURN(SECCOMP_RET_ALLOW)));
	CHECK(!JUDGE(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), RETURN(SECCOMP_RET_ALLOW)));
	CHECK(!JUDGE(BPF_STMT(BPF_ST, 16), RETURN(SECCOMP_RET_ALLOW)));
	CHECK(!JUDGE(BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), RETURN(SECCOMP_RET_ALLOW)));
	CHECK(sandbox_effects(&(struct sock_fprog){0}) & SANDBOX_FATAL);
}
