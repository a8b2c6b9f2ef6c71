/* SPDX-License-Identifier: MIT */
/* The shortest way from a name to a number: measure EVENT counts it over one call of a function. */
#include <coati/event.h>

#include <stdio.h>
#include <string.h>

static char memory[16 << 20];

static void touch(void *p)
{
	memset(p, 1, sizeof(memory));
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "page-faults:u";
	struct coati_event_list *list = NULL;
	struct coati_event *event = NULL;
	struct coati_error err = { 0 };
	struct coati_count count;

	if (coati_event_list_new(NULL, &list, &err) == 0 &&
	    coati_event_list_add(list, name, &err) == 0 &&
	    coati_event_open(&coati_event_list_get(list, 0)->attr, &COATI_SELF, NULL, &event,
			     &err) == 0 &&
	    coati_event_measure(event, touch, memory, &count, &err) == 0)
		printf("%llu %s\n", (unsigned long long)count.value, name);
	if (err.code)
		fprintf(stderr, "measure: %s\n", err.text);
	coati_event_close(&event);
	coati_event_list_free(list);
	return err.code != 0;
}
