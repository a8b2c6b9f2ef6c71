/* SPDX-License-Identifier: MIT */
/*
 * What a thread works on, said with labels: a request is read on one thread and answered on
 * another, and the labels go along. A profiler shows them beside its samples; here we show them
 * ourselves.
 *
 *	cc labels.c $(pkg-config --cflags --libs coati-live) -pthread
 */
#include <coati/live.h>
#include <stdio.h>

struct task {
	struct coati_labels labels; /* of who made it */
	const char *route;
};

static void show(const char *where)
{
	struct coati_labels labels;
	struct coati_label_item label;
	uint32_t pos = 0;

	printf("%s:", where);
	coati_labels_snapshot(&labels);
	while (coati_labels_next(&labels, &pos, &label) > 0)
		printf(" %s=%.*s", label.key, (int)label.size, label.value);
	printf("\n");
}

static void *work(void *arg)
{
	struct task *task = arg;
	struct coati_label_scope scope = coati_labels_adopt(&task->labels);

	{
		COATI_LABEL("route", task->route); /* until the brace */
		show("worker");
	}
	coati_label_end(&scope);
	show("worker, done");
	return NULL;
}

int main(void)
{
	struct task task = { .route = "/cart" };
	struct coati_label_stats stats = { .size = sizeof(stats) };
	pthread_t thread;

	COATI_LABEL("tenant", "acme");
	coati_labels_snapshot(&task.labels);
	if (pthread_create(&thread, NULL, work, &task))
		return 1;
	pthread_join(thread, NULL);
	show("main");
	coati_labels_stats(&stats);
	printf("%u keys, %s\n", stats.keys, stats.published == 1 ? "published" : "not published");
	return 0;
}
