// linked_allocator_cpp ROUNDS [fail] - four threads use operator new and delete in all forms, and malloc, and
// count what they do. fail: first a new that throws. Prints: allocations, reallocations, frees, bytes.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

static std::atomic<uint64_t> allocations, frees, bytes;

static void *made(void *block, size_t size)
{
	if (!block)
		abort();
	*static_cast<volatile char *>(block) = 1;
	allocations++;
	bytes += size;
	return block;
}

static void work(unsigned seed, unsigned n_rounds)
{
	const std::align_val_t align{64};

	for (unsigned i = 0; i < n_rounds; i++) {
		size_t size = static_cast<size_t>(rand_r(&seed)) % 3000 + 1;
		void *p;

		switch (i % 8) {
		case 0:
			p = made(::operator new(size), size);
			::operator delete(p);
			break;
		case 1:
			p = made(::operator new[](size), size);
			::operator delete[](p, size);
			break;
		case 2:
			p = made(::operator new(size, std::nothrow), size);
			::operator delete(p, size);
			break;
		case 3:
			p = made(::operator new(size, align), size);
			::operator delete(p, align);
			break;
		case 4:
			p = made(::operator new[](size, align), size);
			::operator delete[](p, size, align);
			break;
		case 5:
			p = made(::operator new[](size, align, std::nothrow), size);
			::operator delete[](p, align, std::nothrow);
			break;
		case 6:
			p = made(malloc(size), size);
			free(p);
			break;
		default:
			p = made(::operator new(size), size);
			::operator delete(p, std::nothrow);
		}
		frees++;
	}
}

// An exception leaves operator new: what comes afterwards must be recorded all the same.
static void *ask_too_much(size_t size)
{
	try {
		return ::operator new(size);
	} catch (const std::bad_alloc &) {
		return nullptr;
	}
}

int main(int argc, char **argv)
{
	unsigned n_rounds = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 0;

	if (argc > 2 && ask_too_much(SIZE_MAX / 4))
		return 1;
	{
		std::thread a(work, 1, n_rounds), b(work, 2, n_rounds), c(work, 3, n_rounds);

		work(4, n_rounds);
		a.join();
		b.join();
		c.join();
	}
	std::printf("%llu 0 %llu %llu\n", static_cast<unsigned long long>(allocations),
		    static_cast<unsigned long long>(frees), static_cast<unsigned long long>(bytes));
	return 9;
}
