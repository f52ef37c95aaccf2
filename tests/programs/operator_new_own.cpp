/* operator_new_own - a program with operator new and delete of its own, on top of malloc. */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

static unsigned long n_new, n_delete;

void *operator new(std::size_t size)
{
	n_new++;
	if (void *p = std::malloc(size + 32)) /* room for a header, as such programs do */
		return static_cast<char *>(p) + 32;
	throw std::bad_alloc();
}

void operator delete(void *p) noexcept
{
	if (!p)
		return;
	n_delete++;
	std::free(static_cast<char *>(p) - 32);
}

void operator delete(void *p, std::size_t) noexcept
{
	operator delete(p);
}

int main()
{
	{
		std::vector<std::string> v;

		for (int i = 0; i < 500; i++)
			v.emplace_back(100 + i, 'a');
	}
	std::printf("%lu new, %lu delete\n", n_new, n_delete);
	return n_new == n_delete ? 0 : 1;
}
