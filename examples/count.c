/* SPDX-License-Identifier: MIT */
/* Counts events over one call of a function: names become a group, the group measures the call.
 * count [EVENTS] */
#include <coati/event.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)64 << 20)
#define MAX   16

/* What is measured: the first touch of each page is a page fault. */
static void touch_memory(void *memory)
{
	memset(memory, 1, BYTES);
}

static int count(const struct coati_event_list *list, struct coati_group *group,
		 struct coati_error *err)
{
	const struct coati_event_desc *d;
	struct coati_count counts[MAX];
	void *memory = malloc(BYTES);
	int r;

	for (uint32_t i = 0; (d = coati_event_list_get(list, i)); i++)
		coati_group_add(group, &d->attr, d->name);
	r = coati_group_open(group, &COATI_SELF, COATI_EVENT_USER_OK, err);
	if (r == 0 && memory)
		r = coati_group_measure(group, touch_memory, memory, counts, MAX);
	for (int i = 0; i < r && i < MAX; i++)
		printf("%15llu  %s\n", (unsigned long long)coati_count_scaled(&counts[i]),
		       counts[i].label);
	free(memory);
	return r;
}

int main(int argc, char **argv)
{
	struct coati_event_list *list = NULL;
	struct coati_group *group = NULL;
	struct coati_error err = { 0, 0, "" };
	int r = coati_event_list_new(NULL, &list, &err);

	if (r == 0)
		r = coati_event_list_add(
			list, argc > 1 ? argv[1] : "page-faults,task-clock,context-switches", &err);
	if (r == 0)
		r = coati_group_new(&group);
	if (r == 0)
		r = count(list, group, &err);
	if (r < 0)
		fprintf(stderr, "count: %s\n", err.text[0] ? err.text : strerror(-r));
	coati_group_close(&group);
	coati_event_list_free(list);
	return r < 0;
}
