/* SPDX-License-Identifier: MIT */
/*
 * A flight recorder that writes what it holds when a task was slow, and whenever SIGUSR1 comes:
 * `coati trace slow.data` shows what happened before. tracer [FILE]
 *
 *	cc tracer.c $(pkg-config --cflags --libs coati-live)
 */
#include <coati/live.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void serve(int number)
{
	struct coati_live_task request;

	COATI_TASK_BEGIN(&request, "request", NULL);
	COATI_TASK_SCOPE(&request); /* this thread works on it until the end of the block */
	{
		COATI_REGION("parse"); /* until the brace */
		usleep(100);
	}
	if (number == 150) {
		COATI_REGION("refill");
		COATI_LOG("cache", "request %d found the cache empty", number);
		usleep(100000);
	}
	coati_task_end(&request);
}

int main(int argc, char **argv)
{
	struct coati_recorder_condition slow = { .size = sizeof(slow),
						 .task_type = "request",
						 .slower_than_ns = 100000000,
						 .file = argc > 1 ? argv[1] : "slow.data",
						 .at_most = 1 };
	struct coati_recorder *recorder = NULL;
	struct coati_error err = { 0, 0, "" };

	if (coati_recorder_start(NULL, &recorder, &err) < 0 ||
	    coati_recorder_when(recorder, &slow, &err) < 0 ||
	    coati_recorder_on_signal(recorder, SIGUSR1, "signal-%p.data", &err) < 0) {
		fprintf(stderr, "tracer: %s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 200; i++) /* the work */
		serve(i);
	if (coati_recorder_stop(&recorder, &err) < 0) {
		fprintf(stderr, "tracer: %s\n", err.text);
		return 1;
	}
	printf("%s\n", slow.file);
	return 0;
}
