/* record/sys.h - the system calls of the recorder, raw.
 *
 * Each returns the kernel's value, or -errno, and leaves errno alone: a hook may run between any
 * two instructions of the target, and the writer has no errno of its own. Calls that a
 * signal may interrupt are repeated.
 */
#ifndef RECORD_SYS_H
#define RECORD_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/arch.h"
#include "base/units.h"

#define PAGE_BYTES 4096u

#define SYS_EPERM (-1)
#define SYS_EINTR (-4)
#define SYS_ENOENT (-2)
#define SYS_EACCES (-13)
#define SYS_EEXIST (-17)
#define SYS_ENOSYS (-38)
#define SYS_EAGAIN (-11)
#define SYS_ESRCH (-3)
#define SYS_EOPNOTSUPP (-95)
#define SYS_EINVAL (-22)
#define SYS_EIO (-5)

static inline bool sys_failed(long ret)
{
	return ret < 0 && ret > -4096;
}

static inline long sys_open(const char *path, int flags, unsigned mode)
{
	return arch_syscall4(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline long sys_close(int fd)
{
	return arch_syscall1(SYS_close, fd);
}

static inline long sys_read(int fd, void *buf, size_t len)
{
	long ret;

	do
		ret = arch_syscall3(SYS_read, fd, buf, len);
	while (ret == SYS_EINTR);
	return ret;
}

static inline long sys_write(int fd, const void *buf, size_t len)
{
	long ret;

	do
		ret = arch_syscall3(SYS_write, fd, buf, len);
	while (ret == SYS_EINTR);
	return ret;
}

static inline long sys_pread(int fd, void *buf, size_t len, uint64_t offset)
{
	long ret;

	do
		ret = arch_syscall4(SYS_pread64, fd, buf, len, offset);
	while (ret == SYS_EINTR);
	return ret;
}

static inline long sys_pwrite(int fd, const void *buf, size_t len, uint64_t offset)
{
	long ret;

	do
		ret = arch_syscall4(SYS_pwrite64, fd, buf, len, offset);
	while (ret == SYS_EINTR);
	return ret;
}

/* NULL on failure. */
static inline void *sys_map(size_t len, int prot, int flags, int fd, uint64_t offset)
{
	long ret = arch_syscall6(SYS_mmap, 0, (long)len, prot, flags, fd, (long)offset);

	return sys_failed(ret) ? NULL : (void *)ret;
}

static inline void *sys_map_anonymous(size_t len)
{
	return sys_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
}

static inline long sys_unmap(void *addr, size_t len)
{
	return arch_syscall2(SYS_munmap, addr, len);
}

static inline long sys_madvise(void *addr, size_t len, int advice)
{
	return arch_syscall3(SYS_madvise, addr, len, advice);
}

static inline long sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(timeout_ns / NS_PER_S),
		.tv_nsec = (long)(timeout_ns % NS_PER_S),
	};

	return arch_syscall4(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &ts);
}

static inline void sys_futex_wake_all(_Atomic uint32_t *word)
{
	arch_syscall3(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

static inline uint32_t sys_gettid(void)
{
	return (uint32_t)arch_syscall0(SYS_gettid);
}

static inline uint32_t sys_getpid(void)
{
	return (uint32_t)arch_syscall0(SYS_getpid);
}

static inline uint64_t sys_clock_ns(int clock)
{
	struct timespec ts = {0};

	arch_syscall2(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Blocks every signal and returns the previous mask. */
static inline uint64_t sys_block_signals(void)
{
	uint64_t all = ~0ull, old = 0;

	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	return old;
}

static inline void sys_restore_signals(uint64_t old)
{
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
}

/* CPUs that the calling thread may use; 0 when there are more than 8192. */
static inline unsigned sys_count_cpus(void)
{
	uint64_t mask[128] = {0};
	long n_bytes = arch_syscall3(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned n = 0;

	for (long i = 0; i < n_bytes / 8; i++)
		n += (unsigned)__builtin_popcountll(mask[i]);
	return n;
}

/* Reads a whole small file (or its first capacity bytes). Returns the number of bytes or -errno. */
static inline long sys_read_file(const char *path, void *buf, size_t capacity)
{
	long fd = sys_open(path, O_RDONLY | O_NOCTTY, 0);
	size_t len = 0;
	long n;

	if (fd < 0)
		return fd;
	while (len < capacity && (n = sys_read((int)fd, (char *)buf + len, capacity - len)) > 0)
		len += (size_t)n;
	sys_close((int)fd);
	return (long)len;
}

#endif
