// SPDX-License-Identifier: MIT
// C++20 coroutines: each is a fiber, so that regions and labels that are open across co_await
// belong to the coroutine.
//
//	c++ -std=c++20 coroutines.cpp $(pkg-config --cflags --libs coati-live)
#include <coati/live.hpp>
#include <coroutine>
#include <cstdio>
#include <utility>

static coati_label_key job = COATI_LABEL_KEY("job");

struct coroutine {
	struct promise_type {
		coroutine get_return_object()
		{
			return coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			throw;
		}
	};
	explicit coroutine(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	coroutine(coroutine &&other) noexcept
		: handle(std::exchange(other.handle, nullptr)), fiber(std::move(other.fiber))
	{
	}
	~coroutine()
	{
		if (!handle)
			return;
		coati::running on(fiber); // what is still open ends in the fiber
		handle.destroy();
	}
	bool resume()
	{
		coati::running on(fiber);
		handle.resume();
		return !handle.done();
	}
	std::coroutine_handle<promise_type> handle;
	coati::fiber fiber;
};

static void show(const char *where)
{
	coati_labels labels;
	coati_label_item item;
	uint32_t pos = 0;

	coati_labels_snapshot(&labels);
	bool is_labeled = coati_labels_next(&labels, &pos, &item) > 0;
	std::printf("%s: %.*s\n", where, is_labeled ? (int)item.size : 4,
		    is_labeled ? item.value : "none");
}

static coroutine work(const char *name)
{
	COATI_REGION("work");
	coati::label label(job, name);

	show("first half");
	co_await std::suspend_always{};
	show("second half");
}

int main()
{
	coroutine a = work("a"), b = work("b"), never_ends = work("c");

	never_ends.resume();
	for (bool more = true; more;) {
		more = a.resume();
		show("main");
		more = b.resume() && more;
	}
	coati_label_stats stats{};
	stats.size = sizeof(stats);
	coati_labels_stats(&stats);
	std::printf("%llu labels misused\n", (unsigned long long)stats.misused);
}
