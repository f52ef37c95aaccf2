/* Functions whose names, files and lines test_symbol.py knows; C++. */
#include "names.hpp"

static volatile int sink;

namespace
{
struct hidden {
	__attribute__((noinline)) void method(int n)
	{
		mark("cpp_anonymous"); /* cpp_anonymous */
		sink += n;
	}
};
} // namespace

template <class F> __attribute__((noinline)) static void call(F f)
{
	f(7); /* call calls the lambda */
	sink += 1;
}

struct point {
	int x;
	__attribute__((noinline)) bool operator<(const point &other) const
	{
		mark("cpp_operator"); /* cpp_operator */
		return x < other.x + sink;
	}
};

__attribute__((noinline)) static void with_lambda()
{
	int base = sink;

	call([base](int n) {
		mark("cpp_lambda"); /* cpp_lambda */
		sink += base + n;
	});
	sink += 2;
}

/* Its definition stands apart from its declaration, in DWARF as well. */
struct keeper {
	int x;
	void run();
};

__attribute__((noinline)) void keeper::run()
{
	auto add = [this](int n) {
		mark("cpp_lambda_member"); /* cpp_lambda_member */
		sink += x + n;
	};
	add(3);
	sink += 3;
}

namespace
{
__attribute__((noinline)) void nesting()
{
	auto outer = [](int n) {
		auto inner = [](int k) {
			mark("cpp_lambda_nested"); /* cpp_lambda_nested */
			sink += k;
		};
		inner(n);
		sink += n;
	};
	outer(4);
	sink += 4;
}
} // namespace

__attribute__((noinline)) static int with_local_class()
{
	struct local {
		__attribute__((noinline)) int f(int n)
		{
			mark("cpp_local_class"); /* cpp_local_class */
			return n + sink;
		}
	};
	return local().f(3);
}

__attribute__((noinline)) static void throws(int n)
{
	if (n > 5)
		throw n;
	sink += n;
}

int main()
{
	shapes::box<int> ints{3};
	shapes::box<long> longs{4};
	point p{1};

	sink += ints.twice() + (int)longs.twice();
	hidden().method(5);
	with_lambda();
	keeper{5}.run();
	nesting();
	sink += p < point{2};
	sink += with_local_class();
	try {
		throws(sink > 0 ? 6 : 0);
	} catch (int n) {
		sink += n;
	}
	return 0;
}
