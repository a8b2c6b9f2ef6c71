/* SPDX-License-Identifier: MIT */
/* Prints the live events of a recording, a flight recorder's file or a core file. trace [FILE] */
#include <coati/trace.h>

#include <stdio.h>

static void print_labels(const struct coati_trace_event *e)
{
	struct coati_trace_pos pos = { 0, 0 };
	struct coati_trace_text key, value;

	while (coati_trace_label_next(e, &pos, &key, &value) > 0)
		printf("  label %.*s=%.*s\n", (int)key.size, key.text, (int)value.size, value.text);
}

static void print_fields(const struct coati_trace *t, const struct coati_trace_event *e)
{
	struct coati_trace_pos pos = { 0, 0 };
	struct coati_trace_field f;

	while (coati_trace_field_next(t, e, &pos, &f) > 0)
		printf("  field %.*s\n", (int)f.name.size, f.name.text);
}

int main(int argc, char **argv)
{
	struct coati_trace_quality q = { .size = sizeof(q) };
	unsigned long counts[COATI_TRACE_KINDS] = { 0 };
	const struct coati_trace_event *e;
	struct coati_trace *t = NULL;
	struct coati_error err;
	char line[512];
	int n;

	if (coati_trace_open(argc > 1 ? argv[1] : "coati.data", NULL, &t, &err) < 0) {
		fprintf(stderr, "trace: %s\n", err.text);
		return 1;
	}
	while ((n = coati_trace_next(t, &e)) > 0) {
		coati_trace_event_format(t, e, line, sizeof(line));
		puts(line);
		if (e->kind == COATI_TRACE_LABELS)
			print_labels(e);
		if (e->kind == COATI_TRACE_INSTANT)
			print_fields(t, e);
		counts[e->kind]++;
	}
	for (unsigned int i = 0; i < COATI_TRACE_KINDS; i++)
		if (counts[i])
			printf("%lu %s\n", counts[i], coati_trace_kind_name(i));
	if (n < 0)
		fprintf(stderr, "trace: %s\n", coati_trace_damage(t)->text);
	coati_trace_get_quality(t, &q);
	printf("%llu events, %llu lost, %llu batches missing\n", (unsigned long long)q.events,
	       (unsigned long long)q.lost, (unsigned long long)q.missing);
	coati_trace_close(&t);
	return n < 0;
}
