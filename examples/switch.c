/* SPDX-License-Identifier: MIT */
/* Counts a set of events for this process while it is switched on, and says which of them this
 * machine does not have. switch [EVENTS] */
#include <coati/event.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char memory[3][1 << 20];

static void show(struct coati_set *set, const struct coati_event_list *list)
{
	const struct coati_event_desc *d;
	const struct coati_error *why;
	struct coati_set_entry entry;
	struct coati_count count;

	for (uint32_t i = 0; (d = coati_event_list_get(list, i)); i++) {
		why = coati_set_event_error(set, i);
		if (why)
			printf("%s: %s\n", d->name, why->text);
	}
	for (uint32_t i = 0; coati_set_entry(set, i, &entry) == 0; i++)
		if (coati_event_read(entry.handle, &count) == 0)
			printf("%llu %s\n", (unsigned long long)count.value,
			       coati_event_list_get(list, entry.event)->name);
}

int main(int argc, char **argv)
{
	const char *names = argc > 1 ? argv[1] : "page-faults:u,cycles:u";
	int32_t pid = (int32_t)getpid();
	struct coati_set_opts opts = { .size = sizeof(opts), .pids = &pid, .nr_pids = 1 };
	struct coati_error err = { 0, 0, "out of memory" };
	struct coati_event_list *list = NULL;
	struct coati_set *set = NULL;
	int r = coati_event_list_new(NULL, &list, &err);

	r = r < 0 ? r : coati_event_list_add(list, names, &err);
	if (r == 0 && argc > 2) /* of tracepoints, such as "prev_prio < 100" */
		r = coati_event_list_filter(list, argv[2], &err);
	r = r < 0 ? r : coati_set_open(list, &opts, &set, &err);
	if (r == 0) {
		memset(memory[0], 1, sizeof(memory[0])); /* before it is switched on */
		r = coati_set_enable(set, &err);
		memset(memory[1], 1, sizeof(memory[1]));
		r = r < 0 ? r : coati_set_disable(set, &err);
		memset(memory[2], 1, sizeof(memory[2])); /* afterwards */
		show(set, list);
	}
	if (r < 0)
		fprintf(stderr, "switch: %s\n", err.text);
	coati_set_close(&set);
	coati_event_list_free(list);
	return r < 0;
}
