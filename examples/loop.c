/* SPDX-License-Identifier: MIT */
/* Two events write into one ring buffer, which an event loop of the program reads: loop */
#include <coati/coati.h>

#include <poll.h>
#include <stdio.h>

static volatile char memory[64 << 12];

static int add(struct coati_event **event, struct coati_format_table *table, uint32_t index)
{
	static const uint64_t configs[] = { COATI_SW_PAGE_FAULTS, COATI_SW_ALIGNMENT_FAULTS };
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = configs[index],
				   .sample_period = 1,
				   .sample_type = COATI_SAMPLE_IDENTIFIER,
				   .wakeup = 1,
				   .flags = COATI_ATTR_EXCLUDE_KERNEL };
	uint64_t id = 0;

	return coati_event_open(&attr, &COATI_SELF, NULL, event, NULL) == 0 &&
	       coati_event_id(*event, &id) == 0 && coati_format_table_add(table, &attr) == 0 &&
	       coati_format_table_id(table, id, index) == 0; /* which event a record is of */
}

int main(void)
{
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_event *events[2] = { NULL, NULL };
	struct coati_format_table *table = NULL;
	struct coati_reader *reader = NULL;
	uint32_t event, seen[2] = { 0, 0 };
	struct coati_ring_item item;
	struct coati_raw raw;

	if (coati_format_table_new(&table) < 0 || !add(&events[0], table, 0) ||
	    !add(&events[1], table, 1) || coati_reader_new(NULL, &reader, NULL) < 0 ||
	    coati_reader_add(reader, coati_event_fd(events[0]), NULL, NULL) < 0 ||
	    coati_event_set_output(events[1], events[0], NULL) < 0 ||
	    coati_reader_attach(reader, 0, coati_event_fd(events[1]), NULL, NULL) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		memory[i] = 1;
	poll(&(struct pollfd){ .fd = coati_reader_fd(reader), .events = POLLIN }, 1, 1000);
	while (coati_reader_try(reader, &item) == 1) {
		const uint8_t *at = item.bytes;
		size_t left = item.size;
		if (item.kind == COATI_ITEM_RECORD && coati_raw_next(&at, &left, 0, &raw) == 1 &&
		    coati_format_table_find(table, &raw, &event) == 0)
			seen[event]++;
	}
	if (coati_reader_get_stats(reader, &stats) == 0)
		printf("%u page faults, %u alignment faults, %llu lost\n", seen[0], seen[1],
		       (unsigned long long)stats.lost);
	coati_reader_free(&reader);
	coati_event_close(&events[1]);
	coati_event_close(&events[0]);
	coati_format_table_free(table);
	return 0;
}
