/* SPDX-License-Identifier: MIT */
/* Records a process that runs already, for half a second or until Ctrl-C: watch PID FILE */
#include <coati/capture.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct coati_capture *capture;

static void stop(int signal)
{
	(void)signal;
	coati_capture_wake(capture); /* may be called from a signal handler */
}

static int record(const char *path, struct coati_error *err)
{
	struct timespec now;
	int r = coati_capture_record(capture, path, err);

	clock_gettime(CLOCK_MONOTONIC, &now);
	coati_capture_set_deadline(capture, now.tv_sec * 1000000000LL + now.tv_nsec + 500000000);
	signal(SIGINT, stop);
	if (r == 0)
		r = coati_capture_start(capture, err);
	while (r == 0 && (r = coati_capture_wait(capture)) == 1)
		r = 0;
	signal(SIGINT, SIG_DFL);
	coati_capture_stop(capture, err);
	return r == 0 || r == -ETIMEDOUT || r == -EINTR ? coati_capture_finish(capture, err) : r;
}

int main(int argc, char **argv)
{
	int32_t pid = argc > 2 ? atoi(argv[1]) : 0;
	struct coati_capture_opts opts = {
		.size = sizeof(opts), .flags = COATI_CAPTURE_USER_OK, .pids = &pid, .nr_pids = 1
	};
	struct coati_error err = { 0, 0, "watch PID FILE" };
	struct coati_event_list *list = NULL;
	int r = pid ? coati_event_list_new(NULL, &list, &err) : -EINVAL;

	if (r == 0)
		r = coati_event_list_add(list, "cpu-clock,instructions", &err);
	if (r == 0)
		r = coati_capture_open(list, &opts, &capture, &err);
	for (uint32_t i = 0; r == 0 && coati_event_list_get(list, i); i++)
		if (coati_capture_event_error(capture, i)) /* the others are recorded */
			fprintf(stderr, "watch: %s\n", coati_capture_event_error(capture, i)->text);
	if (r == 0)
		r = record(argv[2], &err);
	if (r < 0)
		fprintf(stderr, "watch: %s\n", err.text);
	coati_capture_close(&capture);
	coati_event_list_free(list);
	return r < 0;
}
