/* SPDX-License-Identifier: MIT */
/* Reads two ring buffers for a while or until Ctrl-C, one of them to its fifth record: until */
#include <coati/coati.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static struct coati_reader *reader;

static void stop(int signal)
{
	if (signal == SIGINT)
		coati_reader_wake(reader); /* ends the wait: -EINTR */
	else
		coati_reader_close(reader); /* ends all of them: -EBADF */
}

static int add(int key, uint64_t config, struct coati_event **event, struct coati_error *err)
{
	struct coati_reader_ring_opts ring = { .size = sizeof(ring), .ring.key = key };
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = config,
				   .sample_period = 1,
				   .wakeup = 1,
				   .flags = COATI_ATTR_EXCLUDE_KERNEL };
	int r = coati_event_open(&attr, &COATI_SELF, NULL, event, err);

	return r < 0 ? r : coati_reader_add(reader, coati_event_fd(*event), &ring, err);
}

int main(void)
{
	static volatile char memory[1 << 20];
	struct coati_event *events[2] = { NULL, NULL };
	struct coati_error err = { 0, 0, "" };
	struct coati_ring_item item;
	struct timespec now;
	int seen[2] = { 0, 0 }, r = coati_reader_new(NULL, &reader, &err);

	if (r == 0)
		r = add(0, COATI_SW_PAGE_FAULTS, &events[0], &err);
	if (r == 0)
		r = add(1, COATI_SW_PAGE_FAULTS_MIN, &events[1], &err);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	for (size_t i = 0; i < sizeof(memory); i += 4096)
		memory[i] = 1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	coati_reader_set_deadline(reader, now.tv_sec * 1000000000LL + now.tv_nsec + 100000000);
	while (r >= 0 && (r = coati_reader_next(reader, &item)) == 1)
		if (item.kind == COATI_ITEM_RECORD && ++seen[item.key] == 5 && item.key == 0)
			coati_reader_remove(reader, 0); /* what it has left is dropped */
	printf("%d records of one ring, %d of the other%s\n", seen[0], seen[1], err.text);
	coati_reader_free(&reader);
	coati_event_close(&events[1]);
	coati_event_close(&events[0]);
	return r != -ETIMEDOUT && r != -EINTR && r != -EBADF;
}
