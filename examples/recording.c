/* SPDX-License-Identifier: MIT */
/* Summarizes a recording: where it is from, its events, and what it lost. recording [FILE] */
#include <coati/recording.h>

#include <stdio.h>

#define MAX_EVENTS 64

static void print_events(const struct coati_recording *r, const unsigned long *samples)
{
	const struct coati_recording_event *e;

	for (uint32_t i = 0; i < MAX_EVENTS && (e = coati_recording_event(r, i)); i++)
		printf("%10lu samples of %s\n", samples[i], e->name);
}

int main(int argc, char **argv)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	const struct coati_recording_info *info;
	unsigned long samples[MAX_EVENTS] = { 0 };
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_error err;
	int n;

	if (coati_recording_open(argc > 1 ? argv[1] : "coati.data", NULL, &r, &err) < 0) {
		fprintf(stderr, "recording: %s\n", err.text);
		return 1;
	}
	while ((n = coati_recording_next(r, &item)) > 0)
		if (item.raw.type == COATI_RECORD_SAMPLE && item.event < MAX_EVENTS &&
		    !(item.flags & COATI_RECORDING_ITEM_NO_EVENT))
			samples[item.event]++;
	info = coati_recording_info(r);
	printf("of %s, Linux %s %s, by", info->hostname, info->os_release, info->arch);
	for (uint32_t i = 0; i < info->nr_args; i++)
		printf(" %s", info->args[i]);
	printf("\n");
	print_events(r, samples);
	coati_recording_get_stats(r, &st);
	printf("%llu records, %llu lost, %llu times throttled\n", (unsigned long long)st.records,
	       (unsigned long long)(st.lost + st.lost_samples), (unsigned long long)st.throttled);
	if (coati_recording_damage(r)->code)
		printf("ignored: %s\n", coati_recording_damage(r)->text);
	if (n < 0)
		fprintf(stderr, "recording: %s\n", coati_recording_error(r)->text);
	coati_recording_close(&r);
	return n < 0;
}
