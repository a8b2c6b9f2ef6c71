/* SPDX-License-Identifier: MIT */
/*
 * before: a server with a flight recorder of its own, of which others record a part. A connection
 * (a task and a region "serve") is open all the time, and in it come requests, each a task and a
 * region "work" of a millisecond. The file "ready" says that there were 200, the file "went" that
 * there were 100 more since somebody made the file "go". Ends at the end of its input, and then
 * prints "CONNECTION BEGIN" and of each request "BEGIN END", in CLOCK_MONOTONIC nanoseconds from
 * outside.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <coati/live.h>

#define REQUESTS 100000
#define ENOUGH	 200 /* before "ready" */
#define MORE	 100 /* between "go" and "went" */

static uint64_t times[REQUESTS][2];

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void serve(uint64_t *began_ended, const struct coati_live_task *connection)
{
	struct coati_live_task task;

	began_ended[0] = now();
	COATI_TASK_BEGIN(&task, "request", connection);
	{
		COATI_TASK_SCOPE(&task);
		COATI_REGION("work");
		usleep(1000);
	}
	coati_task_end(&task);
	began_ended[1] = now();
}

/* After request @nr. */
static void tell(size_t nr)
{
	static size_t asked;

	if (nr == ENOUGH)
		close(creat("ready", 0600));
	if (!asked && access("go", F_OK) == 0)
		asked = nr;
	if (asked && nr == asked + MORE)
		close(creat("went", 0600));
}

int main(void)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .generation_ns = 50000000 };
	struct pollfd input = { .fd = 0, .events = POLLIN };
	struct coati_recorder *rec = NULL;
	struct coati_live_task connection;
	struct coati_error err = { 0 };
	uint64_t began;
	size_t nr = 0;

	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "before: %s\n", err.text);
		return 1;
	}
	began = now();
	COATI_TASK_BEGIN(&connection, "connection", NULL);
	{
		COATI_TASK_SCOPE(&connection);
		COATI_REGION("serve");
		while (nr < REQUESTS && poll(&input, 1, 0) == 0) {
			serve(times[nr++], &connection);
			tell(nr);
		}
	}
	coati_task_end(&connection);
	coati_recorder_stop(&rec, NULL);
	printf("connection %llu\n", (unsigned long long)began);
	for (size_t i = 0; i < nr; i++)
		printf("%llu %llu\n", (unsigned long long)times[i][0],
		       (unsigned long long)times[i][1]);
	return 0;
}
