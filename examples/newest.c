/* SPDX-License-Identifier: MIT */
/* Keeps the newest page faults in a ring buffer that overwrites the oldest; prints them, from
 * the newest on: newest */
#include <coati/coati.h>

#include <stdio.h>

static volatile char memory[256 << 12];

static void print(struct coati_ring *ring, const struct coati_sample_format *format)
{
	struct coati_ring_item item;
	struct coati_raw raw;
	uint64_t time;

	for (int nr = 0; nr < 5 && coati_ring_next(ring, &item) == 1;) {
		const uint8_t *at = item.bytes;
		size_t left = item.size;

		if (item.kind == COATI_ITEM_RECORD && coati_raw_next(&at, &left, 0, &raw) == 1 &&
		    coati_raw_time(&raw, format, &time) == 1 && ++nr)
			printf("page fault at %llu ns\n", (unsigned long long)time);
	}
	coati_ring_release(ring); /* the rest is not needed */
}

int main(void)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = COATI_SW_PAGE_FAULTS,
				   .sample_period = 1,
				   .sample_type = COATI_SAMPLE_TIME,
				   .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL |
					    COATI_ATTR_WRITE_BACKWARD };
	struct coati_ring_opts opts = { sizeof(opts), 4096, .kind = COATI_RING_BACKWARD };
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_sample_format format;
	struct coati_event *event = NULL;
	struct coati_ring *ring = NULL;
	struct coati_error err = { 0, 0, "" };
	int r = coati_event_open(&attr, &COATI_SELF, NULL, &event, &err);

	r = r < 0 ? r : coati_ring_open(coati_event_fd(event), &opts, &ring, &err);
	r = r < 0 ? r : coati_event_enable(event);
	for (size_t i = 0; r == 0 && i < sizeof(memory); i += 4096)
		memory[i] = 1;
	r = r < 0 ? r : coati_event_disable(event);
	r = r < 0 ? r : coati_ring_snapshot(ring, COATI_SNAPSHOT_STOPPED, &err);
	coati_sample_format_init(&attr, &format);
	if (r == 0)
		print(ring, &format);
	if (r == 0 && coati_ring_get_stats(ring, &stats) == 0)
		printf("%llu samples read\n", (unsigned long long)stats.records);
	if (r < 0)
		fprintf(stderr, "newest: %s\n", err.text);
	coati_ring_close(&ring);
	coati_event_close(&event);
	return r < 0;
}
