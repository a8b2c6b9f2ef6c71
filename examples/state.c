/* SPDX-License-Identifier: MIT */
/* Records counters, gauges, values, states of an object, and an arrow between two threads:
 * state [FILE], then coati trace --events FILE */
#include <coati/live.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static const char *const names[] = { "connecting", "open", "closed" };
static const uint64_t next[] = { 1 << 1 | 1 << 2, 1 << 2, 0 }; /* which states may follow */
static struct coati_resource_type connections = { "connection", names, next, 3, 0 };

static void *receive(void *arg)
{
	coati_thread_name("receiver");
	COATI_FLOW_END("message", 7); /* an arrow leads here */
	COATI_LOG("http", "received %d bytes", 8);
	return arg;
}

static void work(void)
{
	struct coati_resource connection;
	pthread_t thread;

	coati_resource_begin(&connections, "10.0.0.1", 0, &connection);
	coati_resource_set(&connection, 1, "accepted");
	for (int i = 0; i < 10; i++) {
		COATI_COUNTER("requests", i);
		COATI_GAUGE("load", i / 10.0);
	}
	COATI_EVENT("response", "status:i path:s", (int64_t)200, "/index.html");
	COATI_FLOW_BEGIN("message", 7);
	if (coati_pthread_create(&thread, NULL, receive, NULL) == 0) /* with the same labels */
		pthread_join(thread, NULL);
	coati_resource_set(&connection, 2, "end of file");
	coati_resource_end(&connection);
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "state.data", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *recorder = NULL;
	struct coati_error err = { 0, 0, "" };

	if (fd < 0 || coati_recorder_start(NULL, &recorder, &err) < 0)
		return 1;
	coati_process_name("state");
	work();
	if (coati_recorder_snapshot(recorder, fd, &err) == 0 &&
	    coati_recorder_stats(recorder, &stats) == 0)
		printf("%llu events, %llu dropped\n", (unsigned long long)stats.events,
		       (unsigned long long)stats.dropped);
	coati_recorder_stop(&recorder, &err);
	return close(fd) < 0 || err.code != 0;
}
