/* SPDX-License-Identifier: MIT */
/* see notice.h */
#include "capture/notice.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "capture/spans.h"
#include "ring/reader.h"
#include "ring/ring.h"

#define FIRST_KEY (1 << 20)

/* Thousands of new processes a second must not wake the recorder thousands of times. On average
 * it handles one round of notices per gap; after a quiet time it handles a burst of them
 * without delay. */
#define GAP_NS (2 * NSEC_PER_MSEC)
#define BURST  16
/* While a capture reads its other rings, it looks here so often. */
#define LOOK_NS NSEC_PER_MSEC

static void set_attr(struct notice *n, const struct coati_attr *side)
{
	n->attr = *side;
	n->attr.flags &= COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV | COATI_ATTR_MMAP |
			 COATI_ATTR_MMAP2 | COATI_ATTR_BUILD_ID | COATI_ATTR_SAMPLE_ID_ALL |
			 COATI_ATTR_USE_CLOCKID | COATI_ATTR_WATERMARK;
	n->attr.wakeup = 1;
}

int coati_notice_open(struct notice *n, const struct coati_event_list *list,
		      const struct coati_attr *side, const struct coati_set_opts *opts,
		      struct coati_reader *reader)
{
	struct coati_set_opts o = *opts;
	int r;

	set_attr(n, side);
	o.attrs = &n->attr;
	n->joined = coati_alloc(SPANS_RECORD_MAX);
	r = n->joined ? coati_set_open(list, &o, &n->set, NULL) : -ENOMEM;
	if (r < 0) {
		coati_notice_close(n);
		return r;
	}
	n->first = coati_reader_count(reader);
	coati_rings_share(&n->rings, reader, (uint64_t)sysconf(_SC_PAGESIZE), FIRST_KEY);
	/* where memory is short some CPUs have a ring, and that is better than none */
	(void)coati_rings_connect(&n->rings, n->set, true, NULL, NULL);
	coati_sample_format_init(&n->attr, &n->format);
	return coati_set_enable(n->set, NULL);
}

void coati_notice_close(struct notice *n)
{
	if (n->rings.reader)
		coati_rings_fini(&n->rings);
	coati_set_close(&n->set);
	coati_free(n->joined);
	*n = (struct notice){ 0 };
}

static int take_record(const struct notice *n, const uint8_t *record, struct images *images)
{
	struct coati_raw raw = record_raw(record);
	struct coati_record rec;

	if (raw.type != COATI_RECORD_MMAP2 || coati_record_decode(&raw, &n->format, &rec) < 0)
		return 0;
	return coati_images_add(images, &rec.u.mmap);
}

/* 1: there was something. */
static int take_ring(struct notice *n, struct coati_ring *ring, struct images *images)
{
	struct coati_span s[2];
	const uint8_t *p;
	size_t at = 0;
	int r = coati_ring_peek(ring, &s[0], &s[1]);

	while (r >= 0 && (p = record_at(s, at, n->joined))) {
		at += record_size(p);
		r = take_record(n, p, images);
	}
	if (r < 0 || !s[0].size)
		return r;
	coati_ring_consume(ring, s[0].size + s[1].size);
	return 1;
}

/* A signal ends the wait, as it ends that of the reader. */
static void pace(struct notice *n, uint64_t now)
{
	uint64_t earliest = now - BURST * GAP_NS;
	struct timespec until;

	n->due_ns = (n->due_ns > earliest ? n->due_ns : earliest) + GAP_NS;
	if (n->due_ns <= now)
		return;
	until.tv_sec = (time_t)(n->due_ns / NSEC_PER_SEC);
	until.tv_nsec = (long)(n->due_ns % NSEC_PER_SEC);
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int take_rings(struct notice *n, struct images *images)
{
	uint32_t nr = rings_count(&n->rings);
	int any = 0;

	for (uint32_t i = 0; i < nr; i++) {
		int r = take_ring(n, coati_reader_ring(n->rings.reader, n->first + i), images);

		if (r < 0)
			return r;
		any = any || r > 0;
	}
	return any;
}

int coati_notice_round(struct notice *n, struct images *images)
{
	int r = n->set ? take_rings(n, images) : 0;

	if (r > 0)
		pace(n, now_ns());
	return r;
}

int coati_notice_look(struct notice *n, struct images *images)
{
	uint64_t now;

	if (!n->set)
		return 0;
	now = now_ns();
	if (now < n->look_ns)
		return 0;
	n->look_ns = now + LOOK_NS;
	return take_rings(n, images);
}
