/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer beside a model of it: whatever is written and read in whatever turns, in any
 * size, from any start of the counters, comes out as the model says: every call delivered once or
 * told in exactly one loss, in order. The seed that a run prints repeats it; scripts/soak makes it
 * longer.
 */
#include "unit/profbuf-pair.h"

#define QUEUE 65536u

/* What the reader still has to see: runs of losses are one entry. */
struct expected {
	uint64_t first, last, lost; /* lost 0: record number first with nr_stack words */
	uint32_t nr_stack;
};

static struct {
	struct expected queue[QUEUE];
	uint64_t put, got, calls, delivered, lost, start;
} m;

static uint64_t below(uint64_t n)
{
	return test_random() % n;
}

static void model_write(struct pair *p, uint32_t nr_stack)
{
	uint64_t n = ++m.calls;
	struct expected *tail = &m.queue[(m.put - 1) % QUEUE];
	int r = pair_write(&p->writer, n, nr_stack);

	CHECK_U64(m.put - m.got, <, QUEUE);
	if (r == -ENOBUFS && m.put != m.got && tail->lost) {
		tail->lost++;
		tail->last = n;
	} else if (r == 0 || r == -ENOBUFS) {
		m.queue[m.put++ % QUEUE] = (struct expected){ n, n, r == -ENOBUFS, nr_stack };
	} else {
		CHECK_ERR(r, -E2BIG);
		CHECK_U64(nr_stack, >, coati_profbuf_max_stack(&p->writer));
	}
}

static void model_read(struct pair *p, struct coati_profbuf_record *record)
{
	const struct expected *e = &m.queue[m.got % QUEUE];
	int r = coati_profbuf_read(&p->reader, COATI_PROFBUF_NOW, record);

	if (m.put == m.got) {
		CHECK_ERR(r, -EAGAIN);
		return;
	}
	m.got++;
	CHECK_INT(r, ==, 1);
	CHECK_U64(record->time_ns, ==, e->first);
	if (!e->lost) {
		pair_check(record);
		CHECK_U64(record->nr_stack, ==, e->nr_stack);
		m.delivered++;
		return;
	}
	CHECK_INT(record->kind, ==, COATI_PROFBUF_LOSS);
	CHECK_U64(record->count, ==, e->lost);
	CHECK_U64(record->last_ns, ==, e->last);
	m.lost += e->lost;
}

static void run_model(const struct coati_profbuf_opts *o, uint64_t start)
{
	struct coati_profbuf_record record;
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };
	struct pair p;

	memset(&m, 0, sizeof(m));
	pair_open(&p, o, start);
	for (int step = 0; step < 200; step++) {
		for (uint64_t n = below(12); n; n--)
			model_write(&p, (uint32_t)below(1 + below(PAIR_STACK_MAX)));
		for (uint64_t n = below(12); n; n--)
			model_read(&p, &record);
		if (below(8) == 0)
			coati_profbuf_release(&p.reader);
	}
	coati_profbuf_close(&p.writer);
	while (m.put != m.got)
		model_read(&p, &record);
	pair_expect_nothing(&p, 0);
	coati_profbuf_get_stats(p.buf, &stats);
	CHECK_U64(m.delivered, ==, stats.written);
	CHECK_U64(m.lost, ==, stats.lost - start);
	CHECK_U64(m.delivered + m.lost + stats.too_large, ==, m.calls);
	pair_close(&p);
}

TEST(profbuf_delivers_what_the_model_says)
{
	static const uint64_t edges[] = { 0, UINT64_C(1) << 30, UINT64_C(1) << 32,
					  UINT64_C(1) << 63 };

	for (unsigned int i = 0; i < test_rounds(100); i++) {
		struct coati_profbuf_opts o = { .size = sizeof(o),
						.data_words = UINT64_C(64) << below(6),
						.header_words = 1 + (uint32_t)below(4),
						.wake_words = below(100) };

		run_model(&o, edges[below(4)] - below(600));
	}
}
