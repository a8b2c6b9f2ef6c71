/* SPDX-License-Identifier: MIT */
/*
 * Runs a command under events, from its exec to its end, threads and children included.
 *
 *	run COMMAND [ARGUMENT...]
 */
#include <coati/child.h>
#include <coati/event.h>

#include <stdio.h>

#define EVENTS "task-clock,page-faults,context-switches"

static int watch(struct coati_child *child, struct coati_event_list *list, struct coati_set **set,
		 struct coati_error *err)
{
	int32_t pid = coati_child_pid(child);
	struct coati_set_opts opts = { .size = sizeof(opts),
				       .flags = COATI_SET_INHERIT | COATI_SET_ENABLE_ON_EXEC |
						COATI_SET_USER_OK,
				       .pids = &pid,
				       .nr_pids = 1 };
	struct coati_child_status status = { .size = sizeof(status) };
	int r = coati_event_list_add(list, EVENTS, err);

	if (r == 0)
		r = coati_set_open(list, &opts, set, err);
	if (r == 0)
		r = coati_child_exec(child, err);
	if (r == 0)
		r = coati_child_wait(child, -1, &status, err);
	return r < 0 ? r : status.exited ? status.exit_code : 128 + status.signal;
}

int main(int argc, char **argv)
{
	struct coati_event_list *list = NULL;
	struct coati_child *child = NULL;
	struct coati_set *set = NULL;
	struct coati_error err = { 0, 0, "nothing to run" };
	struct coati_set_entry entry;
	struct coati_count count;
	int r = argc < 2 ? -1 : coati_event_list_new(NULL, &list, &err);

	if (r == 0)
		r = coati_child_start((const char *const *)argv + 1, NULL, &child, &err);
	if (r == 0)
		r = watch(child, list, &set, &err);
	for (uint32_t i = 0; r >= 0 && coati_set_entry(set, i, &entry) == 0; i++)
		if (coati_set_read(set, i, &count) == 0)
			printf("%15llu  %s\n", (unsigned long long)coati_count_scaled(&count),
			       coati_event_list_get(list, entry.event)->name);
	if (r < 0)
		fprintf(stderr, "run: %s\n", err.text);
	coati_set_close(&set);
	coati_child_free(&child);
	coati_event_list_free(list);
	return r < 0 ? 125 : r;
}
