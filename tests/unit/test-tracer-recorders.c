/* SPDX-License-Identifier: MIT */
/* Recorders beside each other: what one of them suffers is not suffered by the others. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <coati/recording.h>
#include <coati/tracer.h>

#include "lib/test.h"
#include "live/tracer/recorder.h"
#include "record/batch.h"
#include "tracer-spool.h"

#define HOUR   (UINT64_C(3600) * 1000000000u)
#define EVENTS 60000 /* some 300 KB: several times what a pipe takes */

static struct coati_site number = COATI_SITE_FOR("", COATI_SITE_COUNTER, "", "number", NULL, 0, 0);

static struct coati_recorder *start(int fd, uint64_t bytes, enum coati_recorder_policy policy,
				    uint64_t patience_ns)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .fd = fd,
					 .bytes = bytes,
					 .policy = policy,
					 .generation_ns = HOUR,
					 .directory = "",
					 .patience_ns = patience_ns };
	struct coati_recorder *rec = NULL;

	CHECK_OK(coati_recorder_start(&o, &rec, NULL));
	return rec;
}

static uint64_t dropped(const struct coati_recorder *rec)
{
	struct coati_recorder_stats stats = { .size = sizeof(stats) };

	coati_recorder_stats(rec, &stats);
	return stats.dropped;
}

/* Numbers from @from up to @to. */
static void count(int64_t from, int64_t to)
{
	for (; from < to; from++)
		coati_counter(&number, from);
}

/* Begins a generation, so that streams get the one before. */
static void turn(void)
{
	coati_recorders_lock();
	coati_collector_turn(false);
	coati_recorders_unlock();
}

/* ---- what a trace says about the numbers ---- */

struct numbers {
	int64_t first, last; /* -1: none */
	uint64_t count;
	uint64_t prefix; /* up to the first gap */
	bool in_order;	 /* there is no gap */
};

static void note_number(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct numbers *n = ctx;
	int64_t v = (int64_t)e->v[1];

	(void)b;
	if (e->kind != LIVE_COUNTER)
		return;
	n->in_order = n->in_order && (!n->count || v == n->last + 1);
	n->prefix += n->in_order;
	n->first = n->count ? n->first : v;
	n->last = v;
	n->count++;
}

static struct numbers numbers_of(const struct spool *t)
{
	struct numbers n = { .first = -1, .last = -1, .in_order = true };

	spool_each(t, note_number, &n);
	return n;
}

/* The flight recorder has the last numbers, and has lost none. */
static void check_flight(struct coati_recorder *flight, int64_t last)
{
	struct numbers n;
	struct spool t;

	spool_snapshot(&t, flight);
	n = numbers_of(&t);
	CHECK_INT(n.last, ==, last);
	CHECK(n.in_order);
	CHECK_U64(t.lost, ==, 0);
	CHECK_U64(dropped(flight), ==, 0);
	spool_free(&t);
}

/* ---- readers ---- */

struct reader {
	int from, to;
	pthread_t thread;
};

static void *read_all(void *arg)
{
	const struct reader *r = arg;
	char bytes[65536];
	ssize_t n;

	while ((n = read(r->from, bytes, sizeof(bytes))) > 0)
		if (write(r->to, bytes, (size_t)n) != n)
			return arg;
	return n ? arg : NULL;
}

static void reader_start(struct reader *r, int from)
{
	r->from = from;
	r->to = memfd_create("read", MFD_CLOEXEC);
	CHECK(r->to >= 0);
	CHECK_OK(-pthread_create(&r->thread, NULL, read_all, r));
}

static void reader_end(struct reader *r)
{
	void *failed;

	CHECK_OK(-pthread_join(r->thread, &failed));
	CHECK(!failed);
}

/* ---- a reader that stops reading ---- */

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 20000 && access(path, F_OK) < 0; i++)
		usleep(1000);
	CHECK_OK(access(path, F_OK));
}

/* Everything that others do with their recorders comes to an end. A pipe or a socket whose other
 * end is @in. */
static void stalled(int in, int out)
{
	struct coati_recorder *flight = start(-1, 4 << 20, COATI_DROP_OLDEST, 0);
	struct coati_recorder *stream = start(out, 4 << 20, COATI_DROP_OLDEST, 0);
	struct coati_recorder *third, *other;
	struct reader reader;
	struct numbers n;
	struct spool t;
	int fd = memfd_create("other", MFD_CLOEXEC);

	CHECK_OK(coati_recorder_on_signal(flight, SIGUSR1, "snapshot", NULL));
	count(0, EVENTS);
	turn(); /* the writer of the stream is stuck from now on */
	other = start(fd, 0, COATI_DROP_OLDEST, 0);
	count(EVENTS, 2 * EVENTS);
	check_flight(flight, 2 * EVENTS - 1);
	CHECK_OK(raise(SIGUSR1));
	wait_for_file("snapshot");
	third = start(-1, 0, COATI_DROP_OLDEST, 0);
	CHECK_OK(coati_recorder_stop(&third, NULL));
	CHECK_OK(coati_recorder_stop(&other, NULL));
	spool_read(&t, fd);
	n = numbers_of(&t);
	CHECK_INT(n.first, ==, EVENTS);
	CHECK_U64(n.count, ==, EVENTS);
	spool_free(&t);
	/* nobody else who has the pipe is given a descriptor that does not wait */
	CHECK(!(fcntl(out, F_GETFL) & O_NONBLOCK));
	/* and when it reads again it has everything */
	reader_start(&reader, in);
	CHECK_OK(coati_recorder_stop(&stream, NULL));
	close(out);
	reader_end(&reader);
	spool_read(&t, reader.to);
	n = numbers_of(&t);
	CHECK_U64(n.count, ==, 2 * EVENTS);
	CHECK(n.in_order);
	CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
	close(reader.to);
	close(fd);
	close(in);
}

TEST(tracer_reader_that_stops_reading_stalls_no_other_recorder)
{
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	stalled(fds[0], fds[1]);
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	stalled(fds[0], fds[1]);
}

/* Events in batches of which the last byte is there. */
static uint64_t whole_events(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes + 16;
	size_t left = size - 16;
	struct coati_sample_format fmt;
	struct coati_attr attr;
	struct coati_batch b;
	struct coati_raw raw;
	struct coati_record rec;
	struct live_batch head;
	uint64_t sum = 0;

	CHECK(size > 16);
	coati_batch_attr(&attr);
	coati_sample_format_init(&attr, &fmt);
	while (coati_raw_next(&at, &left, 0, &raw) > 0)
		if (raw.type == COATI_RECORD_SAMPLE && coati_record_decode(&raw, &fmt, &rec) == 0 &&
		    coati_batch_decode(&rec, 0, &b) == 0) {
			memcpy(&head, b.payload, sizeof(head));
			sum += head.kind == LIVE_BATCH_EVENTS ? head.events - head.told : 0;
		}
	return sum;
}

/* What the pipe took and what is counted as lost are all that was written, to the event. */
static void given_up(enum coati_recorder_policy policy)
{
	struct coati_recorder *flight = start(-1, 4 << 20, COATI_DROP_OLDEST, 0), *stream;
	struct coati_error err = { 0 };
	uint8_t *bytes = malloc(1 << 20);
	uint64_t whole;
	ssize_t size;
	int fds[2];

	CHECK(bytes);
	CHECK_OK(pipe2(fds, O_CLOEXEC));
	stream = start(fds[1], 4 << 20, policy, 1000000);
	count(0, EVENTS);
	turn();
	for (int i = 0; i < 20000 && !dropped(stream); i++)
		usleep(1000);
	CHECK_U64(dropped(stream), >, 0);
	size = read(fds[0], bytes, 1 << 20);
	CHECK_INT(size, >, 4096);
	whole = whole_events(bytes, (size_t)size);
	CHECK_U64(whole, >, 0);
	CHECK_U64(whole + dropped(stream), ==, EVENTS);
	/* from now on all is lost, and the pipe stays as it is */
	count(EVENTS, EVENTS + 1000);
	turn();
	for (int i = 0; i < 20000 && whole + dropped(stream) < EVENTS + 1000; i++)
		usleep(1000);
	CHECK_U64(whole + dropped(stream), ==, EVENTS + 1000);
	check_flight(flight, EVENTS + 1000 - 1);
	CHECK_ERR(coati_recorder_stop(&stream, &err), -ETIMEDOUT);
	CHECK_HAS(err.text, "stopped reading");
	CHECK_OK(coati_recorder_stop(&flight, NULL));
	close(fds[0]);
	close(fds[1]);
	free(bytes);
}

TEST(tracer_reader_that_takes_nothing_is_given_up_and_every_event_is_counted)
{
	given_up(COATI_DROP_OLDEST);
	given_up(COATI_BLOCK);
}

/* Threads that wait for a reader go on when it is given up. */
TEST(tracer_blocking_stream_lets_the_program_go_on_when_its_reader_is_given_up)
{
	struct coati_recorder *stream;
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	stream = start(fds[1], 1 << 19, COATI_BLOCK, 1000000);
	count(0, 10 * EVENTS);
	CHECK_ERR(coati_recorder_stop(&stream, NULL), -ETIMEDOUT);
	close(fds[0]);
	close(fds[1]);
}

/* ---- each its own policy ---- */

#define ROUNDS 100
#define ROUND  5000 /* numbers of a round: some 25 KB, in a generation of its own */
#define ALL    (ROUNDS * ROUND)
/* bytes of a number at most: nine of kind and time, one of the site, three of it */
#define EVENT 13

/* Bytes of memory that the current generation takes. */
static uint64_t room_of_newest(void)
{
	struct tracer_guard guard;
	uint64_t room;

	coati_tracer_lock(&guard);
	room = (uint64_t)coati_tracer_generation(coati_tracer.newest)->chunks * TRACER_CHUNK;
	coati_tracer_unlock(&guard);
	return room;
}

/* Several times as much as any of the recorders may hold. Returns the room of the largest
 * generation. The size of an event depends on the time since the one before, so on the speed of
 * the machine; but no generation takes more than its events can, and two chunks that are not
 * full. */
static uint64_t count_rounds(void)
{
	uint64_t largest = 0, room;

	for (int i = 0; i < ROUNDS; i++) {
		count(i * ROUND, (i + 1) * ROUND);
		room = room_of_newest();
		largest = room > largest ? room : largest;
		turn();
	}
	CHECK_U64(largest, >=, ROUND * 3);
	CHECK_U64(largest, <=, ROUND * EVENT + 2 * TRACER_CHUNK);
	return largest;
}

/* Numbers that fit into @bytes of whole generations, of which none takes more than @largest; one
 * chunk each for the generations before the first round. */
static uint64_t numbers_in(uint64_t bytes, uint64_t largest)
{
	return (bytes - 2 * TRACER_CHUNK) / largest * ROUND;
}

/* A stream that nobody reads until all is written, beside a flight recorder. What it had; all that
 * is lost has been told, and counted. *@ret_largest: see count_rounds(). */
static struct numbers stalled_beside(struct coati_recorder *flight,
				     enum coati_recorder_policy policy, uint64_t bytes,
				     uint64_t *ret_largest)
{
	struct coati_recorder *stream;
	struct reader reader;
	struct numbers n;
	uint64_t lost;
	struct spool t;
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	stream = start(fds[1], bytes, policy, 0);
	*ret_largest = count_rounds();
	check_flight(flight, ALL - 1);
	lost = dropped(stream);
	reader_start(&reader, fds[0]);
	CHECK_OK(coati_recorder_stop(&stream, NULL));
	close(fds[1]);
	reader_end(&reader);
	spool_read(&t, reader.to);
	n = numbers_of(&t);
	CHECK_U64(t.lost, ==, lost);
	CHECK_U64(n.count + lost, ==, ALL);
	spool_free(&t);
	close(reader.to);
	close(fds[0]);
	return n;
}

TEST(tracer_stream_that_leaves_out_new_events_freezes_no_flight_recorder)
{
	struct coati_recorder *flight = start(-1, 1 << 20, COATI_DROP_OLDEST, 0);
	uint64_t largest;
	struct numbers n = stalled_beside(flight, COATI_DROP_NEWEST, 1 << 19, &largest);

	/* the first ones, as many as it may hold. Later ones instead of what the pipe has taken
	 * meanwhile. */
	CHECK_INT(n.first, ==, 0);
	CHECK_U64(n.prefix, >=, numbers_in(1 << 19, largest));
	CHECK_U64(n.count, <=, ((1 << 19) + (1 << 17)) / 3);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
}

TEST(tracer_stream_that_leaves_out_old_events_has_its_own_limit)
{
	struct coati_recorder *flight = start(-1, 4 << 20, COATI_DROP_OLDEST, 0);
	uint64_t largest;
	struct numbers n = stalled_beside(flight, COATI_DROP_OLDEST, 1 << 19, &largest);

	/* what its thread held when the reader stopped, if it had come so far, and the last ones */
	CHECK_INT(n.last, ==, ALL - 1);
	CHECK(!n.in_order || n.first > 0);
	CHECK_U64(n.count, <=, ((1 << 19) + (1 << 17)) / 3);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
}

/* Started in either order. */
static void two_flights(bool newest_first)
{
	struct coati_recorder *oldest = NULL, *newest;
	struct numbers n;
	uint64_t largest;
	struct spool t;

	if (!newest_first)
		oldest = start(-1, 1 << 20, COATI_DROP_OLDEST, 0);
	newest = start(-1, 1 << 20, COATI_DROP_NEWEST, 0);
	if (newest_first) { /* they have to be moved out of the way of the other one */
		count(-100, 0);
		turn();
		oldest = start(-1, 1 << 20, COATI_DROP_OLDEST, 0);
	}
	largest = count_rounds();
	check_flight(oldest, ALL - 1);
	for (int i = 0; i < 2; i++) { /* what is frozen stays so, with its losses */
		spool_snapshot(&t, newest);
		n = numbers_of(&t);
		CHECK_INT(n.first, ==, newest_first ? -100 : 0);
		CHECK(n.in_order);
		CHECK_U64(n.count, >=, numbers_in(1 << 20, largest));
		CHECK_U64(t.lost, ==, dropped(newest));
		CHECK_U64(n.count + t.lost, ==, newest_first ? ALL + 100 : ALL);
		spool_free(&t);
	}
	CHECK_OK(coati_recorder_stop(&oldest, NULL));
	spool_snapshot(&t, newest);
	CHECK_U64(numbers_of(&t).count, ==, n.count);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&newest, NULL));
}

TEST(tracer_flight_recorders_keep_the_first_and_the_last_events_beside_each_other)
{
	two_flights(false);
	two_flights(true);
}

/* The memory is that of the first one; the other has its own limit within it. */
TEST(tracer_second_flight_recorder_holds_no_more_than_its_own_limit)
{
	struct coati_recorder *large = start(-1, 4 << 20, COATI_DROP_OLDEST, 0);
	struct coati_recorder *small = start(-1, 1 << 18, COATI_DROP_OLDEST, 0);
	uint64_t count_of_large;
	struct spool t;

	count_rounds();
	check_flight(large, ALL - 1);
	spool_snapshot(&t, large);
	count_of_large = numbers_of(&t).count;
	spool_free(&t);
	check_flight(small, ALL - 1);
	spool_snapshot(&t, small);
	CHECK_U64(numbers_of(&t).count, <=, (1 << 18) / 3);
	CHECK_U64(numbers_of(&t).count * 2, <, count_of_large);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&small, NULL));
	CHECK_OK(coati_recorder_stop(&large, NULL));
}

/* A stream that loses everything beside one that is read, which has everything. */
TEST(tracer_loss_of_one_stream_is_no_loss_of_another)
{
	struct coati_recorder *flight = start(-1, 1 << 20, COATI_DROP_OLDEST, 0), *read;
	struct reader reader;
	struct numbers n;
	uint64_t largest;
	struct spool t;
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	reader_start(&reader, fds[0]);
	read = start(fds[1], 0, COATI_BLOCK, 0);
	n = stalled_beside(flight, COATI_DROP_NEWEST, 1 << 18, &largest);
	CHECK_U64(n.count, <, ALL / 2);
	CHECK_U64(dropped(read), ==, 0);
	CHECK_OK(coati_recorder_stop(&read, NULL));
	close(fds[1]);
	reader_end(&reader);
	spool_read(&t, reader.to);
	n = numbers_of(&t);
	CHECK_U64(n.count, ==, ALL);
	CHECK(n.in_order);
	CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
	close(reader.to);
	close(fds[0]);
}

/* ---- as many generations as there are places for ---- */

/* One number in each. */
static void fill_places(int64_t generations)
{
	for (int64_t i = 0; i < generations; i++) {
		count(i, i + 1);
		turn();
	}
}

TEST(tracer_blocking_stream_loses_nothing_when_there_is_no_place_for_a_generation)
{
	const int64_t generations = TRACER_GENERATIONS + 100;
	struct coati_recorder *stream;
	struct reader reader;
	struct numbers n;
	struct spool t;
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	stream = start(fds[1], 64 << 20, COATI_BLOCK, 0);
	fill_places(generations);
	reader_start(&reader, fds[0]);
	CHECK_OK(coati_recorder_stop(&stream, NULL));
	close(fds[1]);
	reader_end(&reader);
	spool_read(&t, reader.to);
	n = numbers_of(&t);
	CHECK_U64(n.count, ==, generations);
	CHECK(n.in_order);
	CHECK_U64(t.lost, ==, 0);
	spool_free(&t);
	close(reader.to);
	close(fds[0]);
}

TEST(tracer_recording_starts_after_one_that_took_all_places_for_generations)
{
	struct coati_recorder *flight = start(-1, 64 << 20, COATI_DROP_OLDEST, 0);

	fill_places(TRACER_GENERATIONS + 100);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
	flight = start(-1, 1 << 20, COATI_DROP_OLDEST, 0);
	count(0, 100);
	check_flight(flight, 99);
	CHECK_OK(coati_recorder_stop(&flight, NULL));
}
