/* SPDX-License-Identifier: MIT */
/*
 * A program with everything that a page can show: orders are tasks that a clerk takes in and
 * workers carry out, handed over by a queue with a flow; regions, logs, labels, a counter and a
 * gauge, and a till whose states are told. Every 20th order looks for its goods for long, with the
 * lock held.
 *
 *	shop [ORDERS]	(400)
 */
#include <coati/live.h>
#include <coati/tracer.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORKERS 3
#define ROOM	8

struct order {
	struct coati_live_task task;
	unsigned int number;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct order orders[ROOM];
	unsigned int head, tail;
	int closed;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .filled = PTHREAD_COND_INITIALIZER,
	    .emptied = PTHREAD_COND_INITIALIZER };

static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sink;
static unsigned int orders = 400;

static void __attribute__((noinline)) count_goods(unsigned int rounds)
{
	uint64_t x = sink | 1;

	for (unsigned int i = 0; i < rounds * 1000; i++)
		x = x * UINT64_C(6364136223846793005) + 1442695041;
	sink = x;
}

static void __attribute__((noinline)) wrap(unsigned int rounds)
{
	COATI_REGION("wrap");
	count_goods(rounds);
}

static void put(const struct order *o)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.tail - queue.head == ROOM)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	queue.orders[queue.tail++ % ROOM] = *o;
	COATI_COUNTER("queue", queue.tail - queue.head);
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static int take(struct order *ret)
{
	int taken;

	pthread_mutex_lock(&queue.lock);
	while (queue.tail == queue.head && !queue.closed)
		pthread_cond_wait(&queue.filled, &queue.lock);
	taken = queue.tail != queue.head;
	if (taken) {
		*ret = queue.orders[queue.head++ % ROOM];
		COATI_COUNTER("queue", queue.tail - queue.head);
		pthread_cond_signal(&queue.emptied);
	}
	pthread_mutex_unlock(&queue.lock);
	return taken;
}

static void carry_out(struct order *o, int worker)
{
	COATI_TASK_SCOPE(&o->task);
	COATI_LABEL("customer", o->number % 3 ? "walk-in" : "regular");
	COATI_FLOW_END("order", o->number);
	{
		COATI_REGION("fetch");
		pthread_mutex_lock(&shelf);
		if (o->number % 20 == 0)
			COATI_LOG("shop", "order %u: searching the whole shelf", o->number);
		count_goods(o->number % 20 ? 60 : 3000);
		pthread_mutex_unlock(&shelf);
	}
	wrap(200);
	COATI_GAUGE("turnover", 1.5 * o->number + worker);
}

static void *work(void *arg)
{
	int worker = (int)(intptr_t)arg;
	struct order o;

	coati_thread_name("worker");
	while (take(&o)) {
		carry_out(&o, worker);
		coati_task_end(&o.task);
	}
	return NULL;
}

static void clerk(void)
{
	static const char *const states[] = { "closed", "open", "busy" };
	static struct coati_resource_type type = { .name = "till", .states = states, .count = 3 };
	struct coati_resource till;

	coati_thread_name("clerk");
	coati_resource_begin(&type, "till 1", 1, &till);
	for (unsigned int i = 1; i <= orders; i++) {
		struct order o = { .number = i };

		coati_resource_set(&till, 2, "customer");
		COATI_TASK_BEGIN(&o.task, "order", NULL);
		COATI_FLOW_BEGIN("order", i);
		put(&o);
		coati_resource_set(&till, 1, "done");
		if (i % 50 == 0) {
			COATI_INSTANT("coffee");
			nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		}
	}
	coati_resource_end(&till);
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];

	orders = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : orders;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
			return 1;
	clerk();
	pthread_mutex_lock(&queue.lock);
	queue.closed = 1;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%u orders\n", orders);
	return 0;
}
