/* SPDX-License-Identifier: MIT */
/* Reads a ring buffer: each page fault of a function is a record with its address. ring */
#include <coati/coati.h>

#include <errno.h>
#include <stdio.h>

static void show(const struct coati_ring_item *item, const struct coati_sample_format *format)
{
	const uint8_t *at = item->bytes;
	size_t left = item->size;
	struct coati_record record;
	struct coati_raw raw;

	if (item->kind == COATI_ITEM_LOSS)
		printf("%llu lost\n", (unsigned long long)item->count);
	if (item->kind == COATI_ITEM_RECORD && coati_raw_next(&at, &left, 0, &raw) == 1 &&
	    coati_record_decode(&raw, format, &record) == 0 && record.type == COATI_RECORD_SAMPLE)
		printf("page fault at 0x%llx\n", (unsigned long long)record.u.sample.addr);
}

int main(void)
{
	static volatile char memory[1 << 20]; /* or the compiler sees that it is never read */
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = COATI_SW_PAGE_FAULTS,
				   .sample_period = 1,
				   .sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_ADDR,
				   .read_format = COATI_READ_LOST,
				   .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_reader_ring_opts ring = { .size = sizeof(ring) };
	struct coati_error err = { 0, 0, "" };
	struct coati_sample_format format;
	struct coati_reader *reader = NULL;
	struct coati_event *event = NULL;
	struct coati_ring_item item;
	int r = coati_event_open(&attr, &COATI_SELF, &opts, &event, &err);

	if (r == 0)
		r = coati_reader_new(NULL, &reader, &err);
	if (r == 0) { /* kernels before 6.0 do not count losses: then it was left out */
		ring.read_format = coati_event_attr(event)->read_format;
		r = coati_reader_add(reader, coati_event_fd(event), &ring, &err);
	}
	if (r == 0) {
		coati_event_enable(event);
		for (size_t i = 0; i < sizeof(memory); i += 4096)
			memory[i] = 1;
		coati_sample_format_init(coati_event_attr(event), &format);
		coati_reader_flush(reader); /* what is there now, then -ECANCELED */
		while ((r = coati_reader_next(reader, &item)) == 1)
			show(&item, &format);
	}
	if (r != -ECANCELED)
		fprintf(stderr, "ring: error %d: %s\n", -r, err.text);
	coati_reader_free(&reader);
	coati_event_close(&event);
	return r != -ECANCELED;
}
