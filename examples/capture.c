/* SPDX-License-Identifier: MIT */
/* Records where a command spends its time, for coati report. capture FILE COMMAND [ARGUMENT...] */
#include <coati/capture.h>
#include <coati/child.h>

#include <errno.h>
#include <stdio.h>

static int record(struct coati_capture *cap, struct coati_child *child, const char *file,
		  struct coati_error *err)
{
	int r = coati_capture_record(cap, file, err);

	if (r == 0)
		r = coati_child_exec(child, err);
	if (r == 0)
		do /* until the command and its children have ended */
			r = coati_capture_wait(cap);
		while (r == 1 || r == -EINTR);
	if (r == 0)
		r = coati_capture_stop(cap, err);
	return r == 0 ? coati_capture_finish(cap, err) : r;
}

int main(int argc, char **argv)
{
	struct coati_capture_stats st = { .size = sizeof(st) };
	struct coati_error err = { 0, 0, "usage: capture FILE COMMAND [ARGUMENT...]" };
	struct coati_event_list *list = NULL;
	struct coati_capture *cap = NULL;
	struct coati_child *child = NULL;
	int32_t pid;
	struct coati_capture_opts opts = { .size = sizeof(opts),
					   .flags = COATI_CAPTURE_ON_EXEC | COATI_CAPTURE_USER_OK,
					   .pids = &pid,
					   .nr_pids = 1 };
	int r = argc < 3 ? -EINVAL : coati_event_list_new(NULL, &list, &err);

	if (r == 0)
		r = coati_event_list_add(list, "cpu-clock", &err);
	if (r == 0)
		r = coati_child_start((const char *const *)argv + 2, NULL, &child, &err);
	pid = child ? coati_child_pid(child) : 0;
	if (r == 0)
		r = coati_capture_open(list, &opts, &cap, &err);
	if (r == 0)
		r = record(cap, child, argv[1], &err);
	if (r == 0) {
		coati_capture_get_stats(cap, &st);
		printf("%llu samples, %llu lost\n", (unsigned long long)st.samples,
		       (unsigned long long)st.lost);
	} else
		fprintf(stderr, "capture: %s\n", err.text);
	coati_capture_close(&cap);
	coati_child_free(&child);
	coati_event_list_free(list);
	return r < 0;
}
