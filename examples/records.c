/* SPDX-License-Identifier: MIT */
/* Prints samples of a recording: call chains, and tracepoints as text. records [FILE] */
#include <coati/recording.h>

#include <stdio.h>

static void print_chain(const struct coati_sample *s)
{
	uint64_t ip;

	/* what a sample does not have is not set in it */
	for (uint32_t i = 0; s->present & COATI_SAMPLE_CALLCHAIN && i < s->callchain.count; i++) {
		ip = coati_u64_at(&s->callchain, i);
		if (ip < COATI_CONTEXT_MAX) /* others say where the next ones are: user, kernel */
			printf("  %llx\n", (unsigned long long)ip);
	}
}

static void print_tracepoint(const struct coati_recording *r, uint64_t id,
			     const struct coati_sample *s, uint32_t swap)
{
	struct coati_payload payload = { s->raw, s->raw_size, swap };
	struct coati_tracepoint *tp = NULL;
	uint64_t size = 0;
	const char *text = coati_recording_tracepoint(r, id, &size);
	char line[512];

	if (text && coati_tracepoint_parse(text, size, &tp, NULL) == 0 &&
	    coati_tracepoint_print(tp, &payload, NULL, line, sizeof(line)) >= 0)
		printf("  %s\n", line);
	coati_tracepoint_free(tp);
}

int main(int argc, char **argv)
{
	const struct coati_recording_event *e;
	const struct coati_sample_format *format;
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_error err;
	int n = coati_recording_open(argc > 1 ? argv[1] : "coati.data", NULL, &r, &err);

	if (n < 0)
		fprintf(stderr, "records: %s\n", err.text);
	while (n >= 0 && (n = coati_recording_next(r, &item)) > 0) {
		format = coati_format_table_get(coati_recording_formats(r), item.event);
		e = coati_recording_event(r, item.event);
		if (item.raw.type != COATI_RECORD_SAMPLE || !format || !e ||
		    coati_record_decode(&item.raw, format, &rec) < 0)
			continue;
		printf("%s of thread %u\n", e->name, rec.id.tid);
		print_chain(&rec.u.sample);
		if (e->attr.type == COATI_TYPE_TRACEPOINT &&
		    rec.u.sample.present & COATI_SAMPLE_RAW)
			print_tracepoint(r, e->attr.config, &rec.u.sample, item.raw.swap);
	}
	coati_recording_close(&r);
	return n < 0;
}
