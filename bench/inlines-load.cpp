// SPDX-License-Identifier: MIT
// A program whose debug data is about 3 MB: containers, sorting and regular expressions of the C++
// library, three times over, inlined into each other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct record {
	int key;
	std::string text;
	std::vector<double> values;
	bool operator<(const record &o) const { return key != o.key ? key < o.key : text < o.text; }
};

template <int N> static double work(int seed)
{
	std::map<std::string, record<N>> by_name;
	std::unordered_map<int, std::shared_ptr<record<N>>> by_key;
	std::vector<record<N>> all;
	std::set<record<N>> ordered;
	std::deque<std::function<double(double)>> steps;

	for (int i = 0; i < seed + N; i++) {
		record<N> r{ i * 31 % (N + 7), std::to_string(i), { 1.0 * i, 2.0 * i } };
		by_name[r.text] = r;
		by_key[r.key] = std::make_shared<record<N>>(r);
		ordered.insert(r);
		all.push_back(std::move(r));
		steps.push_back([i](double x) { return x * i + N; });
	}
	std::sort(all.begin(), all.end());
	std::stable_sort(all.begin(), all.end(),
			 [](const auto &a, const auto &b) { return a.text < b.text; });
	double sum = 0;
	for (auto &r : all)
		sum += std::accumulate(r.values.begin(), r.values.end(), 0.0);
	for (auto &s : steps)
		sum = s(sum);
	std::ostringstream out;
	out << sum << by_name.size() << ordered.size() << by_key.size();
	std::regex digits("([0-9]+)[a-z]*" + std::to_string(N));
	return sum + std::regex_search(out.str(), digits);
}

// -DMORE: ten times as much code and debug data.
static double rest(int n)
{
#ifdef MORE
	return work<4>(n) + work<5>(n) + work<6>(n) + work<7>(n) + work<8>(n) + work<9>(n) +
	       work<10>(n) + work<11>(n) + work<12>(n) + work<13>(n) + work<14>(n) +
	       work<15>(n) + work<16>(n) + work<17>(n) + work<18>(n) + work<19>(n) +
	       work<20>(n) + work<21>(n) + work<22>(n) + work<23>(n) + work<24>(n) +
	       work<25>(n) + work<26>(n) + work<27>(n) + work<28>(n);
#else
	return n;
#endif
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 1;
	double sum = work<1>(n) + work<2>(n) + work<3>(n) + rest(n);
	std::printf("%f\n", sum);
	return 0;
}
