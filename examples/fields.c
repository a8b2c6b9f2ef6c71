/* SPDX-License-Identifier: MIT */
/* The fields of the tracepoints in a recording, with their values. fields [FILE] */
#include <coati/recording.h>

#include <stdio.h>

static void print_fields(const struct coati_tracepoint *tp, const struct coati_payload *payload)
{
	int pid = coati_tracepoint_find(tp, "common_pid"); /* every tracepoint has it */
	const struct coati_tracepoint_field *field;
	struct coati_field_value v;

	if (pid >= 0 && coati_tracepoint_read(tp, (uint32_t)pid, payload, &v) == 0)
		printf("  by thread %lld\n", (long long)v.number);
	for (uint32_t i = 0; (field = coati_tracepoint_field(tp, i)); i++) {
		if (field->is_common || coati_tracepoint_read(tp, i, payload, &v) < 0)
			continue;
		if (v.kind == COATI_FIELD_NUMBER)
			printf("  %s=%lld\n", field->name, (long long)v.number);
		else
			printf("  %s: %u bytes of %s\n", field->name, v.size, field->type);
	}
}

int main(int argc, char **argv)
{
	const struct coati_recording_event *e;
	const struct coati_sample_format *format;
	struct coati_tracepoint *tp = NULL;
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_error err;
	const char *text;
	uint64_t size;
	int n = coati_recording_open(argc > 1 ? argv[1] : "coati.data", NULL, &r, &err);

	if (n < 0)
		fprintf(stderr, "fields: %s\n", err.text);
	while (n >= 0 && (n = coati_recording_next(r, &item)) > 0) {
		e = coati_recording_event(r, item.event);
		format = coati_format_table_get(coati_recording_formats(r), item.event);
		if (item.raw.type != COATI_RECORD_SAMPLE || !e || !format ||
		    coati_record_decode(&item.raw, format, &rec) < 0)
			continue;
		text = coati_recording_tracepoint(r, e->attr.config, &size);
		if (rec.u.sample.present & COATI_SAMPLE_RAW &&
		    e->attr.type == COATI_TYPE_TRACEPOINT && text &&
		    coati_tracepoint_parse(text, size, &tp, NULL) == 0) {
			printf("%s\n", e->name);
			print_fields(tp, &(struct coati_payload){ rec.u.sample.raw,
								  rec.u.sample.raw_size,
								  item.raw.swap });
			coati_tracepoint_free(tp);
		}
	}
	coati_recording_close(&r);
	return n < 0;
}
