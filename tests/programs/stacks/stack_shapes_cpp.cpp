/* programs/stacks/stack_shapes_cpp.cpp - call chains of C++: exceptions, virtual calls, new. */
#include "mark.h"

#include <functional>
#include <stdexcept>
#include <thread>

namespace
{

struct large_error { /* its size marks the allocation that throwing makes */
	char bytes[2900];
};

struct guard {
	char local[40];
	SEPARATE ~guard()
	{
		KEEP(local);
		MARK(2002);
	}
};

[[noreturn]] SEPARATE void throws()
{
	throw large_error();
}

SEPARATE void passes_through(int n)
{
	char local[64];
	guard g;

	KEEP(local);
	KEEP(&g);
	if (n == 1)
		throws();
	if (n)
		passes_through(n - 1);
	STAY();
}

SEPARATE void handles()
{
	MARK(2001);
}

SEPARATE void catches()
{
	try {
		passes_through(3);
	} catch (const large_error &) {
		handles();
	}
	MARK(2003);
}

SEPARATE void rethrows()
{
	try {
		throw std::runtime_error("once");
	} catch (...) {
		MARK(2004);
		throw;
	}
}

SEPARATE void run_rethrow()
{
	try {
		rethrows();
	} catch (const std::exception &) {
		MARK(2005);
	}
}

struct shape {
	virtual ~shape() = default;
	virtual void draw(int n) = 0;
};

struct named {
	virtual ~named() = default;
	virtual void name() = 0;
	int filler = 1;
};

struct circle : shape, named {
	SEPARATE void draw(int n) override
	{
		char local[100];

		KEEP(local);
		MARK(2010 + 0 * n);
	}
	SEPARATE void name() override
	{
		MARK(2011);
	}
};

SEPARATE void calls_virtual(shape &s)
{
	s.draw(1);
	STAY();
}

SEPARATE void calls_through_thunk(named &n)
{
	n.name();
	STAY();
}

SEPARATE void run_virtual()
{
	circle c;

	calls_virtual(c);
	calls_through_thunk(c);
	STAY();
}

SEPARATE void uses_new()
{
	char *volatile p = new char[2020];

	delete[] p;
	STAY();
}

SEPARATE void calls_function(const std::function<void()> &fn)
{
	fn();
	STAY();
}

SEPARATE void run_lambda()
{
	int captured = 2021;

	calls_function([captured] { MARK(captured); });
	STAY();
}

SEPARATE void in_thread()
{
	try {
		throw std::logic_error("in a thread");
	} catch (const std::exception &) {
		MARK(2030);
	}
}

SEPARATE void run_thread()
{
	std::thread(in_thread).join();
	STAY();
}

/* Static objects are made before main and destroyed after it. */
struct global {
	SEPARATE global()
	{
		MARK(2040);
	}
	SEPARATE ~global()
	{
		MARK(2041);
	}
} global_object;

} // namespace

int main()
{
	catches();
	run_rethrow();
	run_virtual();
	uses_new();
	run_lambda();
	run_thread();
	return 0;
}
