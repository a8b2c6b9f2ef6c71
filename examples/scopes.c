/* SPDX-License-Identifier: MIT */
/* Labels without the macro: scopes that a program begins and ends itself, and labels that are
 * set and removed within one. scopes */
#include <coati/live.h>

#include <stdio.h>

static struct coati_label_key request = COATI_LABEL_KEY("request");
static struct coati_label_key step = COATI_LABEL_KEY("step");

static void show(const char *where)
{
	struct coati_label_item label;
	struct coati_labels labels;
	uint32_t pos = 0;

	printf("%s:", where);
	coati_labels_snapshot(&labels);
	while (coati_labels_next(&labels, &pos, &label) > 0)
		printf(" %s=%.*s", label.key, (int)label.size, label.value);
	printf("\n");
}

int main(void)
{
	struct coati_live_clock clock;
	struct coati_label_scope outer, inner;
	uint64_t before;

	if (coati_live_clock_init(&clock, 0) < 0)
		return 1;
	before = coati_live_clock_now(&clock);
	outer = coati_label_begin(&step, "accept");
	inner = coati_label_begin_bytes(&request, "r-17, and more",
					4); /* bytes need no terminator */
	show("begun");
	coati_label_set(&step, "parse"); /* until the inner scope ends */
	show("set");
	coati_label_unset(&step);
	show("unset");
	coati_label_end(&inner);
	show("ended");
	coati_label_end(&outer);
	show("nothing");
	printf("libcoati-live %s, %s\n", coati_live_version(),
	       coati_live_clock_now(&clock) >= before ? "time goes on" : "time goes back");
	return 0;
}
