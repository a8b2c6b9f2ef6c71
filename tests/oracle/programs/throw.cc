// SPDX-License-Identifier: MIT
// C++: exceptions through several frames, regular expressions, containers, virtual calls.
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

struct Base {
	virtual ~Base() = default;
	virtual int run(int n) = 0;
};

struct Thrower : Base {
	std::vector<int> held;

	int run(int n) override
	{
		held.push_back(n);
		if (n == 0)
			throw std::runtime_error("bottom");
		return run(n - 1) + 1;
	}
};

int main()
{
	std::map<std::string, int> words;
	std::regex pattern("([a-z]+)([0-9]*)");
	const std::string text = "one1 two22 three333 four";

	for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern); it != std::sregex_iterator(); ++it)
		words[(*it)[1]]++;
	std::unique_ptr<Base> b = std::make_unique<Thrower>();
	try {
		return b->run(6);
	} catch (const std::exception &e) {
		words[e.what()]++;
	}
	return words.size() == 5 ? 0 : 1;
}
