/* containers [N] - C++ containers, strings, streams, exceptions and threads; the same every time. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
};

struct Square : Shape {
	explicit Square(double s) : side(s), name(std::to_string(s) + " is the side of this one")
	{
	}
	double area() const override
	{
		return side * side;
	}
	double side;
	std::string name;
};

static std::size_t fill(int n)
{
	std::map<std::string, std::vector<int>> by_name;
	std::unordered_map<int, std::string> by_number;
	std::list<std::unique_ptr<Shape>> shapes;
	std::deque<std::function<int(int)>> functions;
	std::set<std::string> words;
	std::size_t sum = 0;

	for (int i = 0; i < n; i++) {
		by_name["name number " + std::to_string(i % (n / 3 + 1))].push_back(i);
		by_number[i * 7919] = std::string(i % 90, 'v');
		shapes.push_back(std::make_unique<Square>(i));
		std::string text(i % 50, 'f');
		functions.push_back([text, i](int x) { return x + i + (int)text.size(); });
		words.insert(std::to_string(i * 31) + "-word");
	}
	for (auto &s : shapes)
		sum += (std::size_t)s->area();
	for (auto &f : functions)
		sum += (std::size_t)f(1);
	return sum + by_name.size() + by_number.size() + words.size();
}

static std::size_t throw_some(int n)
{
	std::size_t caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			std::vector<std::string> v(10, std::string(100, 'e'));

			throw std::runtime_error(v[3] + std::to_string(i));
		} catch (const std::exception &e) {
			caught += std::string(e.what()).size();
		}
	}
	return caught;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 20000;
	std::ostringstream out;
	std::vector<std::future<std::size_t>> results;

	for (int i = 0; i < 3; i++)
		results.push_back(std::async(std::launch::async, fill, n / 4));
	out << fill(n) << " " << throw_some(n / 10);
	for (auto &r : results)
		out << " " << r.get();
	for (int i = 0; i < n; i++)
		out << i;
	std::printf("%zu %.40s\n", out.str().size(), out.str().c_str());
	return 0;
}
