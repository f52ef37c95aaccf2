/* own_allocator_named: has an allocator of its own besides libc's, under a name that Rust programs with
 * jemalloc have. */
#include <stddef.h>
#include <stdlib.h>

static char heap[1 << 16];
static size_t n_used;

void *_rjem_malloc(size_t size);

__attribute__((noinline)) void *_rjem_malloc(size_t size)
{
	void *block = heap + n_used;

	n_used += (size + 15) & ~(size_t)15;
	return n_used <= sizeof(heap) ? block : NULL;
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		if (!_rjem_malloc(100))
			return 1;
		free(malloc(100));
	}
	return 3;
}
