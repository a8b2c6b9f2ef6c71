/* SPDX-License-Identifier: MIT */
/* A module that throws: the C++ runtime walks the stack, asks the loader and allocates, all at
 * places where a signal may find it. */
#include <stdexcept>
#include <string>

namespace
{

struct counted {
	int &n;
	explicit counted(int &to) : n(to)
	{
	}
	~counted()
	{
		n++;
	}
};

__attribute__((noinline)) void down(int depth, int &cleaned)
{
	counted here(cleaned);

	if (depth == 0)
		throw std::runtime_error(std::string(64, 'x'));
	down(depth - 1, cleaned);
}

} // namespace

/* Throws through @depth frames and catches: how many were cleaned up, or -1. */
extern "C" __attribute__((visibility("default"))) int coati_throw_and_catch(int depth)
{
	int cleaned = 0;

	try {
		down(depth, cleaned);
	} catch (const std::runtime_error &e) {
		return e.what()[63] == 'x' ? cleaned : -1;
	}
	return -1;
}
