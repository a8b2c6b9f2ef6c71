/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer, one call after the other: what goes in comes out, in one piece, in order,
 * with losses in their place. Threads and signals are in test-profbuf-threads.c, foreign and
 * damaged memory in test-profbuf-shared.c.
 */
#include "unit/profbuf-pair.h"

#include <errno.h>
#include <signal.h>

static const struct coati_profbuf_opts tiny = { .size = sizeof(tiny),
						.data_words = 64,
						.header_words = 2 };
/* Words of a record of tiny with n stack words. */
#define TINY_WORDS(n) (3 + 2 + (n))

TEST(profbuf_record_comes_out_as_it_went_in)
{
	struct pair p;

	pair_open(&p, &tiny, 0);
	pair_expect_nothing(&p, -EAGAIN);
	CHECK_OK(pair_write(&p.writer, 99, 3));
	pair_expect(&p, 99, 3);
	pair_expect_nothing(&p, -EAGAIN);
	CHECK_OK(pair_write(&p.writer, 100, 0));
	pair_expect(&p, 100, 0);
	pair_check_balance(&p, 2, 2, 0);
	pair_close(&p);
}

TEST(profbuf_record_that_does_not_fit_before_the_end_begins_the_next_lap)
{
	struct pair p;

	/* 64 words: 20 + 20 + 20, then 4 are left */
	pair_open(&p, &tiny, 0);
	for (uint64_t n = 1; n <= 3; n++)
		CHECK_OK(pair_write(&p.writer, n, 15));
	for (uint64_t n = 1; n <= 3; n++)
		pair_expect(&p, n, 15);
	pair_expect_nothing(&p, -EAGAIN);
	CHECK_OK(pair_write(&p.writer, 4, 15));
	CHECK_U64(p.buf->stored, ==, 64 + 20);
	pair_expect(&p, 4, 15);
	pair_close(&p);
}

TEST(profbuf_many_records_are_read_one_after_the_other)
{
	struct pair p;

	pair_open(&p, &tiny, 0);
	for (uint64_t n = 1; n <= 12; n++)
		CHECK_OK(pair_write(&p.writer, n, 0));
	for (uint64_t n = 1; n <= 12; n++)
		pair_expect(&p, n, 0);
	pair_expect_nothing(&p, -EAGAIN);
	pair_close(&p);
}

/* Data and tags wrap together: the tag is in the record. Every start in the lap, ten laps, counters
 * that pass 2^32 and 2^64. */
TEST(profbuf_wraps_at_every_offset_and_where_counters_wrap)
{
	static const uint64_t edges[] = { 0, UINT64_C(1) << 32, UINT64_C(1) << 63 };

	for (unsigned int e = 0; e < 3; e++)
		for (uint64_t back = 0; back <= 64; back++) {
			struct pair p;
			uint64_t n = 1;

			pair_open(&p, &tiny, edges[e] - back);
			for (int lap = 0; lap < 40; lap++, n += 2) {
				CHECK_OK(pair_write(&p.writer, n, 7));
				CHECK_OK(pair_write(&p.writer, n + 1, 8 + n % 4));
				pair_expect(&p, n, 7);
				pair_expect(&p, n + 1, 8 + n % 4);
				pair_expect_nothing(&p, -EAGAIN);
			}
			pair_close(&p);
		}
}

/* As many as go in, then @drops more. */
static uint64_t fill(struct pair *p, uint32_t nr_stack, uint64_t from, unsigned int drops)
{
	int r;

	while ((r = pair_write(&p->writer, from, nr_stack)) == 0)
		from++;
	CHECK_ERR(r, -ENOBUFS);
	for (unsigned int i = 1; i < drops; i++)
		CHECK_ERR(pair_write(&p->writer, from + i, nr_stack), -ENOBUFS);
	return from;
}

TEST(profbuf_losses_come_before_the_record_that_follows_them)
{
	for (uint64_t start = 0; start < 128; start++) {
		struct pair p;
		uint64_t lost;

		pair_open(&p, &tiny, start - 64);
		lost = fill(&p, 10, 1, 300);
		for (uint64_t n = 1; n < lost; n++) {
			pair_expect(&p, n, 10);
			if (n + 2 < lost)
				continue;
			coati_profbuf_release(&p.reader); /* room for the mark and one more */
		}
		CHECK_OK(pair_write(&p.writer, 1000, 10));
		CHECK_OK(pair_write(&p.writer, 1001, 1));
		pair_expect_loss(&p, 300, lost, lost + 299);
		pair_expect(&p, 1000, 10);
		pair_expect(&p, 1001, 1);
		pair_expect_nothing(&p, -EAGAIN);
		pair_check_balance(&p, lost - 1 + 300 + 2, lost + 1, 300);
		pair_close(&p);
	}
}

TEST(profbuf_losses_at_the_end_are_told_without_another_record)
{
	struct pair p;
	uint64_t lost;

	pair_open(&p, &tiny, 0);
	lost = fill(&p, 10, 1, 301);
	for (uint64_t n = 1; n < lost; n++)
		pair_expect(&p, n, 10);
	pair_expect_loss(&p, 301, lost, lost + 300);
	pair_expect_nothing(&p, -EAGAIN);
	/* and not once more when the next record comes */
	CHECK_OK(pair_write(&p.writer, 2000, 4));
	pair_expect(&p, 2000, 4);
	lost = fill(&p, 10, 3000, 7);
	for (uint64_t n = 3000; n < lost; n++)
		pair_expect(&p, n, 10);
	pair_expect_loss(&p, 7, lost, lost + 6);
	pair_close(&p);
}

TEST(profbuf_losses_are_marked_only_when_the_record_fits_behind_the_mark)
{
	struct pair p;
	uint64_t lost;

	pair_open(&p, &tiny, 0);
	lost = fill(&p, 0, 1, 1); /* 12 records of 5 words, 4 left */
	CHECK_U64(lost, ==, 13);
	pair_expect(&p, 1, 0);
	coati_profbuf_release(&p.reader);
	/* 5 words are free in front: the record fits, record and mark do not */
	CHECK_ERR(pair_write(&p.writer, 50, 0), -ENOBUFS);
	for (uint64_t n = 2; n < lost; n++)
		pair_expect(&p, n, 0);
	pair_expect_loss(&p, 2, 13, 50);
	pair_close(&p);
}

TEST(profbuf_too_large_is_refused_and_is_no_loss)
{
	struct pair p;
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };
	uint64_t header[3] = { 0 };
	uint32_t max;

	pair_open(&p, &tiny, 0);
	max = coati_profbuf_max_stack(&p.writer);
	CHECK_U64(TINY_WORDS(max), <, 32);
	CHECK_ERR(pair_write(&p.writer, 1, max + 1), -E2BIG);
	CHECK_ERR(pair_write(&p.writer, 2, 60), -E2BIG);
	CHECK_ERR(coati_profbuf_write(&p.writer, &(struct coati_profbuf_record){ .header = header,
										 .nr_header = 3 }),
		  -E2BIG);
	pair_expect_nothing(&p, -EAGAIN);
	coati_profbuf_get_stats(p.buf, &stats);
	CHECK_U64(stats.too_large, ==, 3);
	CHECK_U64(stats.lost, ==, 0);
	pair_close(&p);
}

static void expect_before(struct pair *p, uint64_t end)
{
	for (uint64_t n = 1; n < end; n++)
		pair_expect(p, n, 3);
}

TEST(profbuf_largest_record_fits_into_an_empty_buffer_wherever_it_begins)
{
	for (uint64_t start = 0; start < 64; start++)
		for (unsigned int lose = 0; lose < 2; lose++) {
			struct pair p;
			uint64_t lost = 1;
			uint32_t max;

			pair_open(&p, &tiny, start);
			max = coati_profbuf_max_stack(&p.writer);
			if (lose) { /* with a mark that the reader has not taken */
				lost = fill(&p, 3, 1, 2);
				expect_before(&p, lost);
				coati_profbuf_release(&p.reader);
			}
			CHECK_OK(pair_write(&p.writer, 100, max));
			if (lose)
				pair_expect_loss(&p, 2, lost, lost + 1);
			pair_expect(&p, 100, max);
			pair_close(&p);
		}
}

TEST(profbuf_close_delivers_the_rest_and_then_the_end_again_and_again)
{
	struct pair p;
	struct coati_profbuf_record record;
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };

	pair_open(&p, &tiny, 0);
	CHECK_OK(pair_write(&p.writer, 1, 2));
	coati_profbuf_close(&p.writer);
	coati_profbuf_close(&p.writer);
	CHECK_ERR(pair_write(&p.writer, 2, 2), -EBADF);
	CHECK_ERR(pair_write(&p.writer, 3, 60), -EBADF);
	pair_expect(&p, 1, 2);
	for (int i = 0; i < 3; i++) {
		pair_expect_nothing(&p, 0);
		CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_FOREVER, &record), ==, 0);
	}
	coati_profbuf_get_stats(p.buf, &stats);
	CHECK_U64(stats.after_close, ==, 2);
	CHECK_U64(stats.closed, ==, 1);
	pair_close(&p);
}

TEST(profbuf_close_after_losses_tells_them_before_the_end)
{
	struct pair p;
	uint64_t lost;

	pair_open(&p, &tiny, 0);
	lost = fill(&p, 10, 1, 5);
	coati_profbuf_close(&p.writer);
	for (uint64_t n = 1; n < lost; n++)
		pair_expect(&p, n, 10);
	pair_expect_loss(&p, 5, lost, lost + 4);
	pair_expect_nothing(&p, 0);
	pair_close(&p);
}

TEST(profbuf_view_stays_until_the_next_read)
{
	struct pair p;
	struct coati_profbuf_record first, second;

	pair_open(&p, &tiny, 0);
	CHECK_OK(pair_write(&p.writer, 1, 4));
	CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_NOW, &first), ==, 1);
	/* the writer goes all the way round, and stops in front of the view */
	fill(&p, 4, 2, 1);
	pair_check(&first);
	CHECK_U64(first.time_ns, ==, 1);
	CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_NOW, &second), ==, 1);
	CHECK_U64(second.time_ns, ==, 2);
	pair_close(&p);
}

static void add_tag(void *ctx, uint64_t tag)
{
	uint64_t *sums = ctx;

	sums[0] += tag;
	sums[1]++;
}

TEST(profbuf_tags_are_released_once_when_their_view_ends)
{
	uint64_t sums[2] = { 0 };
	struct coati_profbuf_reader_opts o = {
		.size = sizeof(o), .wake_fd = -1, .release = add_tag, .release_ctx = sums
	};
	struct pair p;

	pair_open(&p, &tiny, 0);
	CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, &o, NULL));
	for (uint64_t n = 1; n <= 3; n++)
		CHECK_OK(pair_write(&p.writer, n, 1));
	pair_expect(&p, 1, 1);
	CHECK_U64(sums[1], ==, 0);
	pair_expect(&p, 2, 1);
	CHECK_U64(sums[0], ==, 1 << 8);
	coati_profbuf_release(&p.reader);
	CHECK_U64(sums[0], ==, 3 << 8);
	coati_profbuf_release(&p.reader);
	pair_expect(&p, 3, 1);
	coati_profbuf_reader_fini(&p.reader);
	coati_profbuf_reader_fini(&p.reader);
	CHECK_U64(sums[0], ==, 6 << 8);
	CHECK_U64(sums[1], ==, 3);
	pair_close(&p);
}

TEST(profbuf_without_header_words_and_with_many)
{
	static const uint32_t counts[] = { 0, 1, 7, 256 };

	for (int i = 0; i < 4; i++) {
		struct coati_profbuf_opts o = { .size = sizeof(o),
						.data_words = 64,
						.header_words = counts[i] };
		uint64_t header[256], stack[1] = { 5 };
		struct coati_profbuf_record in = {
			.header = header, .nr_header = counts[i], .stack = stack, .nr_stack = 1
		};
		struct coati_profbuf_record out;
		struct pair p;

		for (uint32_t k = 0; k < 256; k++)
			header[k] = k + 1;
		pair_open(&p, &o, 0);
		CHECK_OK(coati_profbuf_write(&p.writer, &in));
		CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_NOW, &out), ==, 1);
		CHECK_U64(out.nr_header, ==, counts[i]);
		CHECK_MEM(out.header, header, counts[i] * sizeof(*header));
		CHECK_U64(out.nr_stack, ==, 1);
		CHECK_U64(out.stack[0], ==, 5);
		pair_close(&p);
	}
}

TEST(profbuf_refuses_options_and_memory_that_cannot_be)
{
	struct coati_profbuf_opts o = { .size = sizeof(o), .data_words = (UINT64_C(1) << 28) + 1 };
	_Alignas(64) static uint8_t memory[8192];
	struct coati_profbuf *buf;
	struct coati_error err;

	CHECK_U64(coati_profbuf_bytes(&o), ==, 0);
	o = (struct coati_profbuf_opts){ .size = sizeof(o), .header_words = 257 };
	CHECK_U64(coati_profbuf_bytes(&o), ==, 0);
	o = (struct coati_profbuf_opts){ .size = sizeof(o), .flags = 4 };
	CHECK_U64(coati_profbuf_bytes(&o), ==, 0);
	CHECK_ERR(coati_profbuf_init(memory, sizeof(memory), &o, &buf, &err), -EINVAL);
	CHECK_U64(coati_profbuf_bytes(NULL), ==, 512 + 8 * 16384);
	CHECK_ERR(coati_profbuf_init(memory, sizeof(memory), NULL, &buf, &err), -EINVAL);
	CHECK_HAS(err.text, "131584");
	CHECK_ERR(coati_profbuf_init(memory + 8, sizeof(memory) - 8, &tiny, &buf, &err), -EINVAL);
	CHECK_HAS(err.text, "aligned to 64");
	CHECK_OK(coati_profbuf_init(memory, coati_profbuf_bytes(&tiny), &tiny, &buf, &err));
}

/* ---- nested signals ---- */

static struct pair nested;
static int nested_result, nested_left;

/* Comes in the middle of a write: where is found by single steps. */
static void write_nested(int sig)
{
	(void)sig;
	if (nested_left-- > 0)
		nested_result = pair_write(&nested.writer, 7, 2);
}

TEST(profbuf_write_inside_of_a_write_is_a_loss_of_its_own_kind)
{
	struct sigaction act = { .sa_handler = write_nested };
	struct coati_profbuf_stats stats = { .size = sizeof(stats) };

	pair_open(&nested, &tiny, 0);
	nested_left = 1;
	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	atomic_store(&nested.buf->busy, 1); /* as if we were in one */
	raise(SIGUSR1);
	atomic_store(&nested.buf->busy, 0);
	CHECK_ERR(nested_result, -EBUSY);
	coati_profbuf_get_stats(nested.buf, &stats);
	CHECK_U64(stats.reentered, ==, 1);
	CHECK_U64(stats.lost, ==, 1);
	CHECK_OK(pair_write(&nested.writer, 8, 2));
	pair_expect_loss(&nested, 1, 7, 7);
	pair_expect(&nested, 8, 2);
	pair_close(&nested);
}

/* The inner one of two that are lost has the later time, and is counted first. */
TEST(profbuf_losses_out_of_order_are_told_with_the_earlier_time)
{
	struct pair p;

	pair_open(&p, &tiny, 0);
	atomic_store(&p.buf->busy, 1);
	CHECK_ERR(pair_write(&p.writer, 9, 2), -EBUSY);
	CHECK_ERR(pair_write(&p.writer, 7, 2), -EBUSY);
	atomic_store(&p.buf->busy, 0);
	pair_expect_loss(&p, 2, 7, 7);
	pair_close(&p);
}

/* Of a run that goes on after it was told, one more has its own time, several begin after those
 * that were told. */
TEST(profbuf_rest_of_a_run_of_losses_begins_where_the_told_ones_end)
{
	struct pair p;

	pair_open(&p, &tiny, 0);
	atomic_store(&p.buf->busy, 1);
	CHECK_ERR(pair_write(&p.writer, 3, 2), -EBUSY);
	CHECK_ERR(pair_write(&p.writer, 5, 2), -EBUSY);
	pair_expect_loss(&p, 2, 3, 5);
	CHECK_ERR(pair_write(&p.writer, 8, 2), -EBUSY);
	pair_expect_loss(&p, 1, 8, 8);
	CHECK_ERR(pair_write(&p.writer, 10, 2), -EBUSY);
	CHECK_ERR(pair_write(&p.writer, 12, 2), -EBUSY);
	pair_expect_loss(&p, 2, 8, 12);
	pair_expect_nothing(&p, -EAGAIN);
	atomic_store(&p.buf->busy, 0);
	pair_close(&p);
}

TEST(profbuf_write_keeps_errno_also_when_it_wakes)
{
	struct coati_profbuf_opts o = { .size = sizeof(o), .header_words = 1, .wake_words = 1 };
	struct pair p;

	pair_open(&p, &o, 0);
	CHECK_INT(coati_profbuf_arm(&p.reader), ==, 0);
	errno = 4242;
	CHECK_OK(pair_write(&p.writer, 1, 1));
	coati_profbuf_close(&p.writer);
	CHECK_INT(errno, ==, 4242);
	CHECK_INT(coati_profbuf_arm(&p.reader), ==, 1);
	pair_close(&p);
}
