/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer in memory of two processes: written by a child, read here, while it lives and
 * after it was killed; and memory that is damaged, foreign or hostile, which must be refused or
 * told as damage, and never make the reader look outside.
 */
#include "unit/profbuf-pair.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct coati_profbuf_opts shared = {
	.size = sizeof(shared), .data_words = 256, .header_words = 1, .flags = COATI_PROFBUF_SHARED
};

static void wait_child(pid_t pid, int signal_or_0)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	if (signal_or_0)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal_or_0);
	else
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct sums {
	uint64_t delivered, told, damaged;
};

static int read_what_is_there(struct coati_profbuf_reader *reader, uint64_t deadline,
			      struct sums *sums)
{
	struct coati_profbuf_record record;
	int r;

	while ((r = coati_profbuf_read(reader, deadline, &record)) == 1) {
		sums->damaged += record.kind == COATI_PROFBUF_DAMAGE;
		sums->told += record.kind == COATI_PROFBUF_LOSS ? record.count : 0;
		if (record.kind != COATI_PROFBUF_DATA)
			continue;
		pair_check(&record);
		sums->delivered++;
	}
	return r;
}

TEST(profbuf_is_read_by_another_process_to_the_end)
{
	uint64_t calls = 20000;
	struct sums sums = { 0 };
	struct pair p;
	pid_t pid;

	pair_open(&p, &shared, 0);
	pid = fork();
	if (pid == 0) {
		for (uint64_t n = 1; n <= calls; n++)
			pair_write(&p.writer, n, (uint32_t)(n % 50));
		coati_profbuf_close(&p.writer);
		_exit(0);
	}
	CHECK_INT(read_what_is_there(&p.reader, COATI_PROFBUF_FOREVER, &sums), ==, 0);
	wait_child(pid, 0);
	CHECK_U64(sums.damaged, ==, 0);
	pair_check_balance(&p, calls, sums.delivered, sums.told);
	pair_close(&p);
}

/* Every write that returned is delivered or told, wherever the writer was when it was killed. */
TEST_LIMIT(profbuf_of_a_killed_writer_has_every_write_that_returned, 60)
{
	static const struct coati_profbuf_reader_opts dead = { .size = sizeof(dead),
							       .wake_fd = -1,
							       .flags = COATI_PROFBUF_DEAD };
	atomic_ullong *done =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(done != MAP_FAILED);
	for (unsigned int round = 0; round < test_rounds(30); round++) {
		uint64_t when = 1 + test_random() % 5000, calls;
		struct sums sums = { 0 };
		struct pair p;
		pid_t pid;

		pair_open(&p, &shared, UINT64_MAX - 10000);
		atomic_store(done, 0);
		pid = fork();
		if (pid == 0)
			for (uint64_t n = 1;; n++) {
				pair_write(&p.writer, n, (uint32_t)(n % 50));
				atomic_store(done, n);
			}
		while (atomic_load(done) < when)
			read_what_is_there(&p.reader, COATI_PROFBUF_NOW, &sums);
		kill(pid, SIGKILL);
		wait_child(pid, SIGKILL);
		calls = atomic_load(done);
		coati_profbuf_reader_fini(&p.reader);
		CHECK_OK(mprotect(p.buf, p.bytes, PROT_READ)); /* nothing is written to it */
		CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, &dead, NULL));
		CHECK_INT(read_what_is_there(&p.reader, COATI_PROFBUF_FOREVER, &sums), ==, 0);
		CHECK_INT(read_what_is_there(&p.reader, COATI_PROFBUF_NOW, &sums), ==, 0);
		CHECK_U64(sums.damaged, ==, 0);
		CHECK_U64(sums.delivered + sums.told, >=, calls);
		CHECK_U64(sums.delivered + sums.told, <=, calls + 1); /* done, but not said */
		pair_close(&p);
	}
	munmap(done, 4096);
}

TEST(profbuf_new_sides_go_on_where_the_ones_before_stopped)
{
	struct pair p;

	pair_open(&p, &shared, 0);
	for (uint64_t n = 1; n <= 4; n++)
		CHECK_OK(pair_write(&p.writer, n, 3));
	pair_expect(&p, 1, 3);
	pair_expect(&p, 2, 3);
	coati_profbuf_reader_fini(&p.reader);
	atomic_store(&p.buf->busy, 1); /* the writer died in mid-write */
	CHECK_OK(coati_profbuf_writer_init(&p.writer, p.buf, p.bytes, NULL, NULL));
	CHECK_OK(coati_profbuf_reader_init(&p.reader, p.buf, p.bytes, NULL, NULL));
	CHECK_OK(pair_write(&p.writer, 5, 3));
	for (uint64_t n = 3; n <= 5; n++)
		pair_expect(&p, n, 3);
	pair_close(&p);
}

/* ---- memory that is not to be trusted ---- */

#define HOSTILE_WORDS 64u
#define HOSTILE_BYTES (512u + 8 * HOSTILE_WORDS)

/* A small buffer that ends where memory ends. */
static struct coati_profbuf *at_the_edge(void)
{
	static const struct coati_profbuf_opts o = { .size = sizeof(o),
						     .data_words = HOSTILE_WORDS,
						     .header_words = 1 };
	uint8_t *pages =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct coati_profbuf *buf;

	CHECK(pages != MAP_FAILED);
	CHECK_OK(mprotect(pages + 4096, 4096, PROT_NONE));
	CHECK_OK(coati_profbuf_init(pages + 4096 - HOSTILE_BYTES, HOSTILE_BYTES, &o, &buf, NULL));
	return buf;
}

/* Looks at every word of at most @most records. */
static uint64_t touch(struct coati_profbuf_reader *reader, unsigned int most)
{
	struct coati_profbuf_record record;
	uint64_t sum = 0;

	while (most-- && coati_profbuf_read(reader, COATI_PROFBUF_NOW, &record) == 1) {
		for (uint32_t i = 0; record.kind == COATI_PROFBUF_DATA && i < record.nr_header; i++)
			sum += record.header[i];
		for (uint32_t i = 0; record.kind == COATI_PROFBUF_DATA && i < record.nr_stack; i++)
			sum += record.stack[i];
	}
	return sum;
}

TEST(profbuf_that_is_cut_is_refused_at_every_length)
{
	struct coati_profbuf *buf = at_the_edge();
	struct coati_profbuf_writer writer;
	struct coati_profbuf_reader reader;
	struct coati_error err;

	for (size_t bytes = 0; bytes < HOSTILE_BYTES; bytes++) {
		CHECK_ERR(coati_profbuf_reader_init(&reader, buf, bytes, NULL, &err), -EBADMSG);
		CHECK_ERR(coati_profbuf_writer_init(&writer, buf, bytes, NULL, &err), -EBADMSG);
	}
	CHECK_OK(coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, &err));
}

TEST(profbuf_of_another_kind_version_or_byte_order_is_named)
{
	struct coati_profbuf *buf = at_the_edge();
	struct coati_profbuf_reader reader;
	struct coati_error err;

	buf->version = 2;
	CHECK_ERR(coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "version 2");
	buf->magic = __builtin_bswap64(buf->magic);
	CHECK_ERR(coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "byte order");
	buf->magic = 0;
	CHECK_ERR(coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, &err), -EBADMSG);
	CHECK_HAS(err.text, "contains none");
	CHECK_ERR(coati_profbuf_reader_init(&reader, NULL, HOSTILE_BYTES, NULL, &err), -EINVAL);
}

TEST(profbuf_with_any_word_changed_is_refused_or_read_inside)
{
	static const uint64_t values[] = { 0,
					   1,
					   2,
					   63,
					   64,
					   65,
					   128,
					   512,
					   1 << 20,
					   UINT64_C(1) << 32,
					   UINT64_C(1) << 63,
					   UINT64_MAX,
					   UINT64_C(0x100000005),
					   UINT64_C(0x200000005),
					   UINT64_C(0x30000003f) };
	struct coati_profbuf *buf = at_the_edge();
	uint64_t saved[HOSTILE_BYTES / 8], *words = (uint64_t *)(void *)buf;
	struct coati_profbuf_writer writer;
	struct coati_profbuf_reader reader;

	CHECK_OK(coati_profbuf_writer_init(&writer, buf, HOSTILE_BYTES, NULL, NULL));
	while (pair_write(&writer, 1, 5) == 0)
		;
	memcpy(saved, buf, sizeof(saved));
	for (size_t i = 0; i < HOSTILE_BYTES / 8; i++)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			memcpy(buf, saved, sizeof(saved));
			words[i] = values[v];
			if (coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, NULL) == 0)
				touch(&reader, 1000);
			if (coati_profbuf_writer_init(&writer, buf, HOSTILE_BYTES, NULL, NULL) == 0)
				pair_write(&writer, 2, 5);
		}
}

TEST(profbuf_damage_is_told_and_reading_goes_on_behind_it)
{
	struct coati_profbuf_record record;
	struct pair p;

	pair_open(&p, &shared, 0);
	for (uint64_t n = 1; n <= 3; n++)
		CHECK_OK(pair_write(&p.writer, n, 3));
	((uint64_t *)(void *)((uint8_t *)p.buf + 512))[7] = 0; /* the size of the second */
	pair_expect(&p, 1, 3);
	CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_NOW, &record), ==, 1);
	CHECK_INT(record.kind, ==, COATI_PROFBUF_DAMAGE);
	CHECK_U64(record.count, ==, 14);
	pair_expect_nothing(&p, -EAGAIN);
	CHECK_OK(pair_write(&p.writer, 4, 3));
	pair_expect(&p, 4, 3);
	/* a position that cannot be */
	atomic_fetch_add(&p.buf->stored, 100000);
	CHECK_INT(coati_profbuf_read(&p.reader, COATI_PROFBUF_NOW, &record), ==, 1);
	CHECK_INT(record.kind, ==, COATI_PROFBUF_DAMAGE);
	CHECK_U64(record.count, ==, 100000);
	pair_expect_nothing(&p, -EAGAIN);
	pair_close(&p);
}

/* For ever: everything but the head, which is read once; small values are the meaner ones. */
static void scribble(uint64_t *words, uint64_t seed)
{
	for (;;) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		__atomic_store_n(words + 16 + seed % (HOSTILE_BYTES / 8 - 16), seed >> (seed >> 58),
				 __ATOMIC_RELAXED);
	}
}

TEST(profbuf_that_changes_while_it_is_read_is_read_inside)
{
	struct coati_profbuf *buf = at_the_edge();
	struct coati_profbuf_reader reader;
	uint64_t seed = test_random() | 1;
	pid_t pid;

	CHECK_OK(coati_profbuf_reader_init(&reader, buf, HOSTILE_BYTES, NULL, NULL));
	pid = fork();
	if (pid == 0)
		scribble((uint64_t *)(void *)buf, seed);
	for (int i = 0; i < 200000; i++)
		touch(&reader, 8);
	kill(pid, SIGKILL);
	wait_child(pid, SIGKILL);
}
