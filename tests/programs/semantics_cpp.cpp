/* semantics_cpp - C++'s ways to allocate, at their edges; no address is printed. */
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct alignas(64) Wide {
	unsigned char bytes[192];
};

struct Thrower {
	Thrower()
	{
		throw std::runtime_error("from a constructor");
	}
	std::string text = "long enough not to fit into the string itself, so it is on the heap";
};

template <class F> static void show(const char *what, F f)
{
	try {
		f();
		std::printf("%s: done\n", what);
	} catch (const std::bad_array_new_length &) {
		std::printf("%s: bad_array_new_length\n", what);
	} catch (const std::bad_alloc &) {
		std::printf("%s: bad_alloc\n", what);
	} catch (const std::exception &e) {
		std::printf("%s: %s\n", what, e.what());
	}
}

static int n_handled;

static void on_no_memory()
{
	if (++n_handled == 3)
		std::set_new_handler(nullptr);
}

int main()
{
	volatile std::size_t huge = std::numeric_limits<std::ptrdiff_t>::max();
	volatile std::size_t many = std::numeric_limits<std::size_t>::max() / 2;

	show("new int", [] { delete new int(3); });
	show("new int[1000]", [] { delete[] new int[1000]; });
	show("new int[0]", [] { delete[] new int[0]; });
	show("new char[huge]", [&] { delete[] new char[huge]; });
	show("new int[many]", [&] { delete[] new int[many]; });
	show("new (nothrow)",
	     [&] { std::printf("%d\n", new (std::nothrow) char[huge] == nullptr); });
	show("aligned new", [] {
		Wide *w = new Wide[5];

		std::printf("%d\n", (int)(reinterpret_cast<std::uintptr_t>(w) % 64));
		delete[] w;
	});
	show("aligned new of 4096", [] {
		void *p = ::operator new(10, std::align_val_t(4096));

		std::printf("%d\n", (int)(reinterpret_cast<std::uintptr_t>(p) % 4096));
		::operator delete(p, std::align_val_t(4096));
	});
	show("sized delete", [] { ::operator delete(::operator new(100), 100); });
	show("constructor that throws", [] { delete new Thrower; });
	std::set_new_handler(on_no_memory);
	show("new handler", [&] { delete[] new char[huge]; });
	std::printf("called %d times\n", n_handled);
	show("containers", [] {
		std::vector<std::string> v;
		auto shared = std::make_shared<std::vector<int>>(1000);
		std::pmr::monotonic_buffer_resource pool;
		std::pmr::vector<int> from_pool(&pool);

		for (int i = 0; i < 1000; i++) {
			v.push_back(std::string(i, 'x'));
			from_pool.push_back(i);
		}
		v.at(5000);
	});
	return 0;
}
