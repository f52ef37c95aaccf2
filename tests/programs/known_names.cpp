// Allocates from places whose names are hard: inlined functions, templates, lambdas, operators,
// anonymous namespaces, members. Each place has a size of its own; test_report.py looks for the
// names beside them. A line that allocates says "// place:<word>".
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

static void *volatile sink;

static INLINE void *innermost(size_t size)
{
	return malloc(size); // place:innermost
}

static INLINE void *middle(size_t size)
{
	return innermost(size + 1); // place:middle
}

NOINLINE void *inlined_twice()
{
	sink = middle(1000); // place:inlined_twice
	return sink;
}

template <class T, int N> NOINLINE T *make_array()
{
	T *p = new T[N]; // place:make_array
	sink = p;
	return p;
}

struct Point {
	int x = 1, y = 2;
	NOINLINE Point operator+(const Point &other) const
	{
		sink = malloc(1100); // place:operator_plus
		return Point{x + other.x, y + other.y};
	}
	NOINLINE void *operator()(size_t n) const
	{
		sink = malloc(n); // place:operator_call
		return sink;
	}
};

namespace
{
NOINLINE void hidden()
{
	sink = malloc(1200); // place:hidden
}
} // namespace

template <class T> struct Box {
	std::vector<T> items;
	NOINLINE void fill(size_t n)
	{
		items.reserve(n); // place:fill
		sink = items.data();
	}
};

NOINLINE void *call(const std::function<void *(size_t)> &f)
{
	void *p = f(1300); // place:call
	sink = p;
	return p;
}

int main()
{
	void *p = inlined_twice();
	auto *a = make_array<double, 175>(); // 1400 bytes
	Point sum = Point() + Point();
	Point()(1500);
	hidden();
	Box<std::pair<int, std::string>> box;
	box.fill(40); // 1600 bytes
	call([](size_t n) -> void * {
		sink = malloc(n); // place:lambda
		return sink;
	});
	free(p);
	delete[] a;
	return sum.x == 2 ? 0 : 1;
}
