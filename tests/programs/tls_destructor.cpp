/* tls_destructor - C++ thread_local objects, and static ones, allocate while they are destroyed. */
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

struct Noisy {
	explicit Noisy(const char *n) : name(n), text(200, 'x')
	{
	}
	~Noisy()
	{
		std::vector<std::string> v;

		for (int i = 0; i < 20; i++)
			v.push_back(std::string(100 + i, 'y') + name);
		std::string *leaked = new std::string(500, 'z');
		__asm__ volatile("" : : "r"(leaked) : "memory");
	}
	const char *name;
	std::string text;
};

static Noisy global("global");
static thread_local Noisy per_thread("per thread");

struct Late {
	~Late()
	{
		/* Made when the thread is already ending. */
		static thread_local Noisy later("later");

		later.text += "!";
	}
	int touched = 0;
};

static thread_local Late late;

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 10; i++)
		threads.emplace_back([] {
			per_thread.text += "?";
			late.touched = 1;
		});
	for (auto &t : threads)
		t.join();
	per_thread.text += "?";
	late.touched = 1;
	std::printf("%zu\n", per_thread.text.size() + global.text.size());
	return 0;
}
