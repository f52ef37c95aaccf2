/* usage: known_jit [quiet]
 * Makes a function at run time that allocates 4000 bytes, at a fixed address; tells of it as JIT
 * compilers do (/tmp/perf-PID.map) unless it shall be quiet, and calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLACE ((void *)0x500000000000)

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
	(void)argv;
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
