/* exceptions [DOCUMENTS]: a recursive-descent parser that reports errors by exceptions and keeps what it
 * read in std::map, std::vector and std::string.
 *
 * Each document is random text of the grammar with an error in one of four; the exception passes
 * up to a dozen frames, some of which catch and rethrow with more text.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

struct value {
	std::string text;
	std::vector<std::unique_ptr<value>> items;
	std::map<std::string, std::unique_ptr<value>> members;
};

struct syntax_error : std::runtime_error {
	syntax_error(const std::string &what, size_t at) : std::runtime_error(what), position(at)
	{
	}
	size_t position;
};

uint32_t seed = 2463534242u;

uint32_t next_random()
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

class parser
{
      public:
	explicit parser(const std::string &text) : text_(text)
	{
	}

	std::unique_ptr<value> parse()
	{
		auto v = parse_value();

		if (at_ != text_.size())
			throw syntax_error("text after the end", at_);
		return v;
	}

      private:
	char peek() const
	{
		if (at_ >= text_.size())
			throw syntax_error("unexpected end", at_);
		return text_[at_];
	}

	std::string parse_word()
	{
		std::string word;

		while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z')
			word += text_[at_++];
		if (word.empty())
			throw syntax_error("a word is missing", at_);
		return word;
	}

	std::unique_ptr<value> parse_list()
	{
		auto v = std::make_unique<value>();

		for (at_++; peek() != ']';) {
			v->items.push_back(parse_value());
			if (peek() == ',')
				at_++;
		}
		at_++;
		return v;
	}

	std::unique_ptr<value> parse_object()
	{
		auto v = std::make_unique<value>();

		for (at_++; peek() != '}';) {
			std::string key = parse_word();

			if (peek() != ':')
				throw syntax_error("a colon is missing after " + key, at_);
			at_++;
			try {
				v->members[key] = parse_value();
			} catch (const syntax_error &e) {
				throw syntax_error(std::string(e.what()) + " in " + key,
						   e.position);
			}
			if (peek() == ',')
				at_++;
		}
		at_++;
		return v;
	}

	std::unique_ptr<value> parse_value()
	{
		switch (peek()) {
		case '[':
			return parse_list();
		case '{':
			return parse_object();
		default:
			auto v = std::make_unique<value>();

			v->text = parse_word();
			return v;
		}
	}

	const std::string &text_;
	size_t at_ = 0;
};

void write_word(std::string &out)
{
	for (unsigned n = 3 + next_random() % 24; n; n--)
		out += static_cast<char>('a' + next_random() % 26);
}

void write_value(std::string &out, int depth)
{
	unsigned kind = depth ? next_random() % 3 : 0;

	if (kind == 0) {
		write_word(out);
		return;
	}
	out += kind == 1 ? '[' : '{';
	for (unsigned n = 2 + next_random() % 4; n; n--) {
		if (kind == 2) {
			write_word(out);
			out += ':';
		}
		write_value(out, depth - 1);
		if (n > 1)
			out += ',';
	}
	out += kind == 1 ? ']' : '}';
}

} // namespace

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 2500;
	std::map<std::string, unsigned> errors;
	size_t good = 0;

	for (long i = 0; i < n; i++) {
		std::string text;

		write_value(text, 6);
		if (i % 4 == 0)
			text[text.size() - text.size() / 3 - 1] = '?';
		try {
			good += parser(text).parse()->items.size();
		} catch (const syntax_error &e) {
			errors[std::string(e.what()).substr(0, 12)]++;
		}
	}
	printf("%zu %zu\n", good, errors.size());
	return 0;
}
