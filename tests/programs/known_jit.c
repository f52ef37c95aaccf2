/* usage: known_jit [quiet | dump FOLDER]
 * Makes a function at run time that allocates 4000 bytes, at a fixed address; tells of it as JIT
 * compilers do (/tmp/perf-PID.map, or FOLDER/jit-PID.dump) unless it shall be quiet, and calls it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PLACE ((void *)0x500000000000)

/* As the kernel's jitdump-specification.txt says. The names are script.js:7 and madeByDump. */
static int write_dump(const char *folder, const void *code, uint64_t n_bytes)
{
	struct {
		uint32_t magic, version, size, machine, unused, pid;
		uint64_t time_ns, flags;
	} head = {0x4a695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), 0, 0};
	struct {
		uint32_t id, size;
		uint64_t time_ns, addr, n_entries, entry_addr;
		uint32_t line, column;
		char name[16];
	} __attribute__((packed))
	lines = {2, sizeof(lines), 0, (uintptr_t)code, 1, (uintptr_t)code, 7, 0, "/js/script.js"};
	struct {
		uint32_t id, size;
		uint64_t time_ns;
		uint32_t pid, tid;
		uint64_t vma, addr, n_bytes, index;
		char name[16];
	} load = {0,
		  (uint32_t)(sizeof(load) + n_bytes),
		  0,
		  head.pid,
		  head.pid,
		  (uintptr_t)code,
		  (uintptr_t)code,
		  n_bytes,
		  1,
		  "madeByDump12345"};
	struct timespec now;
	char path[4096];
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	head.time_ns = lines.time_ns = load.time_ns =
		(uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, &head, sizeof(head)) < 0 || write(fd, &lines, sizeof(lines)) < 0 ||
	    write(fd, &load, sizeof(load)) < 0 || write(fd, code, n_bytes) < 0)
		return -1;
	/* so that those who look at our memory know of the file */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return -1;
	return close(fd);
}

int main(int argc, char **argv)
{
#ifdef __x86_64__
	static const unsigned char code[] = {
		0x55, /* push %rbp */
		0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
		0x48, 0xb8, 0,    0,    0,    0, 0, 0, 0, 0, /* movabs $malloc, %rax */
		0xbf, 0xa0, 0x0f, 0x00, 0x00, /* mov $4000, %edi */
		0xff, 0xd0, /* call *%rax */
		0x5d, 0xc3, /* pop %rbp; ret */
	};
	void *(*volatile allocate)(size_t) = malloc;
	void *(*volatile made)(void);
	unsigned char *place = mmap(PLACE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char path[64];
	FILE *map;

	if (place != PLACE)
		return 77;
	memcpy(place, code, sizeof(code));
	memcpy(place + 6, (void *)&allocate, 8);
	*(void **)&made = place;
	if (argc > 2 && write_dump(argv[2], place, sizeof(code)) < 0)
		return 77;
	if (argc < 2) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		map = fopen(path, "w");
		if (!map)
			return 77;
		fprintf(map, "%lx %zx LazyCompile:~madeAtRunTime script.js:7\n",
			(unsigned long)place, sizeof(code));
		fclose(map);
	}
	free(made());
	return 0;
#else
	(void)argc;
	(void)argv;
	return 77;
#endif
}
