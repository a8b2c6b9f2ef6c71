// SPDX-License-Identifier: MIT
// Requests of a C++ program: each is a task with a label, its steps are regions, and two threads
// share a table behind a lock.
//
//	c++ -std=c++17 requests.cpp $(pkg-config --cflags --libs coati-live) -pthread -o requests
//	coati record --trace -- ./requests
//	coati trace
//	coati why request
#include <coati/live.hpp>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

static coati_label_key route = COATI_LABEL_KEY("route");
static coati::mutex lock; // std::mutex, seen by the lock profile of /debug/pprof/
static std::map<std::string, int> table;

static void serve(int number)
{
	static coati_site site = COATI_SITE(COATI_SITE_TASK, "http", "request", nullptr, 0, 0);
	coati::task request(site);
	coati::working on(request); // this thread works on it until the end of the block
	coati::label label(route, number % 50 ? "/get" : "/clear");
	std::string key;
	{
		COATI_REGION("parse"); // until the brace
		key = std::to_string(number % 1000);
	}
	COATI_REGION("table");
	std::lock_guard<coati::mutex> guard(lock);
	table[key]++;
	if (number % 50 == 0) {
		COATI_REGION("clear");
		table.clear();
	}
}

static void work(int from)
{
	for (int i = from; i < 4000; i += 2)
		serve(i);
}

int main()
{
	std::thread other(work, 1);

	work(0);
	other.join();
	std::printf("4000 requests\n");
	return 0;
}
