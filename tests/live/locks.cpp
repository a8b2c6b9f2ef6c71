// SPDX-License-Identifier: MIT
// Each kind of C++ lock is waited for once. Prints how often each function is in the block and
// mutex profiles.
#include <coati/live.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unistd.h>

static coati::mutex plain;
static coati::recursive_mutex recursive;
static coati::timed_mutex timed;
static coati::shared_mutex shared;
static coati::condition_variable condition;
static bool is_set;
static std::atomic<int> waiter;

static_assert(sizeof(coati::mutex) == sizeof(std::mutex));

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	std::printf("%s is wrong\n", what);
	std::exit(1);
}

#define WAITS __attribute__((noinline)) static void

WAITS wait_mutex()
{
	std::lock_guard lock(plain);
}

WAITS wait_recursive()
{
	std::lock_guard lock(recursive);
	check(recursive.try_lock(), "recursive_mutex");
	recursive.unlock();
}

WAITS wait_for_time()
{
	check(timed.try_lock_for(std::chrono::hours::max()), "try_lock_for");
	timed.unlock();
}

WAITS wait_for_nothing()
{
	auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(5);

	check(!timed.try_lock_until(until) && std::chrono::system_clock::now() >= until,
	      "try_lock_until");
}

WAITS wait_reader()
{
	std::shared_lock lock(shared);
	check(shared.try_lock_shared() && !shared.try_lock(), "shared_mutex");
	shared.unlock_shared();
}

WAITS wait_writer()
{
	std::lock_guard lock(shared);
	check(!shared.try_lock_shared(), "shared_mutex");
}

WAITS wait_condition()
{
	std::unique_lock lock(plain);
	check(condition.wait_for(lock, std::chrono::hours(1), [] { return is_set; }), "wait_for");
}

static void wait_until_it_sleeps()
{
	int tid;

	while (!(tid = waiter.load()))
		;
	for (std::string state; state != "S";) {
		std::ifstream stat("/proc/self/task/" + std::to_string(tid) + "/stat");
		std::string skipped;

		stat >> skipped >> skipped >> state;
		std::this_thread::yield();
	}
}

static std::thread start(void (*wait)())
{
	waiter = 0;
	std::thread thread([wait] {
		waiter = gettid();
		wait();
	});
	return thread;
}

template <class Lock> __attribute__((noinline)) static void let_wait(Lock &lock, void (*wait)())
{
	lock.lock();
	std::thread thread = start(wait);
	wait_until_it_sleeps();
	lock.unlock();
	thread.join();
}

/* Contentions of the stacks that @function is in. */
static void show(coati_locks_profile which, const char *function)
{
	std::FILE *file = std::tmpfile();
	long count = 0, sum = 0;
	char line[4096];

	check(file && coati_locks_write(which, fileno(file), COATI_LOCKS_TEXT, nullptr) == 0,
	      "write");
	std::rewind(file);
	while (std::fgets(line, sizeof(line), file)) {
		std::string text = line;

		if (std::sscanf(line, "%*d %ld @", &count) == 1)
			continue;
		if (text.find(function) != std::string::npos) {
			sum += count;
			count = 0; /* once for each stack */
		}
	}
	std::fclose(file);
	std::printf("%s %s %ld\n", which == COATI_LOCKS_MUTEX ? "mutex" : "block", function, sum);
}

int main()
{
	coati_locks_opts opts = {};

	opts.size = sizeof(opts);
	opts.mutex_fraction = opts.block_rate_ns = 1;
	check(coati_locks_start(&opts, nullptr) == 0, "start");
	let_wait(plain, wait_mutex);
	let_wait(recursive, wait_recursive);
	let_wait(timed, wait_for_time);
	let_wait(shared, wait_reader);
	let_wait(shared, wait_writer);
	timed.lock();
	start(wait_for_nothing).join();
	timed.unlock();
	std::thread thread = start(wait_condition);
	wait_until_it_sleeps();
	{
		std::lock_guard lock(plain);
		is_set = true;
		condition.notify_one();
	}
	thread.join();
	{
		std::unique_lock lock(plain);
		auto past = std::chrono::steady_clock::now();

		check(condition.wait_until(lock, past) == std::cv_status::timeout, "wait_until");
	}
	coati_locks_stop();
	for (const char *function :
	     { "wait_mutex", "wait_recursive", "wait_for_time", "wait_for_nothing", "wait_reader",
	       "wait_writer", "wait_condition" })
		show(COATI_LOCKS_BLOCK, function);
	show(COATI_LOCKS_MUTEX, "let_wait");
}
