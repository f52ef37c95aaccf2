/* For lli: clang -O1 -emit-llvm makes bitcode of it. */
#include <stdlib.h>

static void *kept[64];

__attribute__((noinline)) static void *make(int i)
{
	void *block = malloc(16 + (size_t)(i % 100));

	__asm__ volatile("" : : "r"(block));
	return block;
}

__attribute__((noinline)) static void recurse(int depth, int i)
{
	if (depth) {
		recurse(depth - 1, i);
		__asm__ volatile("");
		return;
	}
	free(kept[i % 64]);
	kept[i % 64] = make(i);
}

int main(void)
{
	for (int i = 0; i < 1000000; i++)
		recurse(i % 5, i);
	return 0;
}
