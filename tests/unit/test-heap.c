/* SPDX-License-Identifier: MIT */
/* The heap profile: known allocations give known numbers, exactly at rate 1 and within what chance
 * allows at others. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/heap.h>
#include <coati/live.h>

#include "live/page.h"
#include "live/profiles/chance.h"

#include <coati/heap-hook.h>

static const char *profile_text(void)
{
	static char text[1 << 20];
	int fd = memfd_create("heap", MFD_CLOEXEC);
	struct coati_error err = { 0 };
	ssize_t n;

	CHECK_OK(fd);
	if (coati_heap_write(fd, COATI_HEAP_TEXT, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = 0;
	close(fd);
	return text;
}

struct sums {
	int64_t live, live_bytes, all, all_bytes;
};

/* Of the whole profile, or of the first stack whose lines have @name in them. */
static struct sums sums_of(const char *name)
{
	const char *text = profile_text(), *at = text, *found = name ? strstr(text, name) : text;
	struct sums s = { 0 };

	CHECK(found);
	while (name && (at = strchr(at, '\n')) && at < found) {
		at++;
		if (*at != '#')
			text = at;
	}
	CHECK_INT(sscanf(name ? text : text + strlen("heap profile: "),
			 "%" SCNd64 ": %" SCNd64 " [%" SCNd64 ": %" SCNd64, &s.live, &s.live_bytes,
			 &s.all, &s.all_bytes),
		  ==, 4);
	return s;
}

static void start(uint64_t rate, uint32_t max_live)
{
	struct coati_heap_opts o = {
		.size = sizeof(o), .rate_bytes = rate, .seed = 1, .max_live = max_live
	};
	struct coati_error err = { 0 };

	if (coati_heap_start(&o, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

static struct coati_heap_stats stats(void)
{
	struct coati_heap_stats s = { .size = sizeof(s) };

	coati_heap_stats(&s);
	return s;
}

/* The compiler must not know what becomes of it. */
static __attribute__((noinline)) void *hidden(void *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

/* ---- chance ---- */

TEST(chance_within_is_the_exponential_function)
{
	static const double xs[] = { 0, 1e-9, 3e-5, 0.0625, 0.07, 0.5, 1, 2.5, 10, 39, 41, 1e6 };

	for (size_t i = 0; i < sizeof(xs) / sizeof(xs[0]); i++)
		CHECK(fabs(coati_chance_within(xs[i]) + expm1(-xs[i])) <= 1e-12);
}

/* The numbers of splitmix64, as they are published for the seed 0. */
TEST(chance_draws_the_numbers_of_its_generator)
{
	struct chance c = { .state = 0 };

	CHECK_U64(coati_chance_next(&c), ==, UINT64_C(0xe220a8397b1dcdaf));
	CHECK_U64(coati_chance_next(&c), ==, UINT64_C(0x6e789e6aa1b965f4));
	CHECK_U64(coati_chance_next(&c), ==, UINT64_C(0x06c45d188009454f));
	/* a seed skips one; another thread is elsewhere */
	coati_chance_seed(&c, 0, 0);
	CHECK_U64(coati_chance_next(&c), ==, UINT64_C(0x6e789e6aa1b965f4));
	coati_chance_seed(&c, 0, 1);
	CHECK_U64(c.state, ==, UINT64_C(0xd1342543de82ef95) + UINT64_C(0x9e3779b97f4a7c15));
}

TEST(chance_distance_is_the_logarithm_of_what_was_drawn)
{
	struct chance c, again;

	coati_chance_seed(&c, 7, 0);
	for (int i = 0; i < 1000; i++) {
		double u, d;

		again = c;
		u = (double)((coati_chance_next(&again) >> 11) + 1) / 9007199254740992.0;
		d = coati_chance_distance(&c, 1000);
		CHECK(fabs(d + 1000 * log(u)) <= 1e-9 * (1 + d));
	}
}

TEST(chance_distances_have_the_mean_and_the_spread_of_the_exponential_distribution)
{
	double sum = 0, squares = 0, least = INFINITY;
	const int n = 100000;
	struct chance c;

	coati_chance_seed(&c, 5, 0);
	for (int i = 0; i < n; i++) {
		double d = coati_chance_distance(&c, 1000);

		sum += d;
		squares += d * d;
		least = fmin(least, d);
	}
	CHECK(least >= 0);
	CHECK(fabs(sum / n / 1000 - 1) < 4 / sqrt(n));
	CHECK(fabs(squares / n / 2e6 - 1) < 4 * sqrt(5.0 / n)); /* variance of the square: 20 */
}

/* ---- what is counted ---- */

static __attribute__((noinline)) void *take_some(size_t size)
{
	void *p = malloc(size);

	return hidden(p);
}

TEST(heap_rate_1_counts_every_block_and_byte)
{
	void *p[100], *aligned = NULL;
	struct sums s;

	start(1, 0);
	for (int i = 0; i < 100; i++)
		p[i] = take_some((size_t)i);
	s = sums_of(NULL);
	CHECK_INT(s.live, ==, 100);
	CHECK_INT(s.live_bytes, ==, 99 * 100 / 2 + 1); /* a block of nothing counts as a byte */
	for (int i = 0; i < 50; i++)
		free(p[i]);
	s = sums_of("take_some");
	CHECK_INT(s.live, ==, 50);
	CHECK_INT(s.all, ==, 100);
	CHECK_INT(s.all_bytes, ==, 99 * 100 / 2 + 1);
	for (int i = 50; i < 100; i++)
		free(p[i]);
	p[0] = hidden(calloc(3, 7));
	p[1] = hidden(strdup("four"));
	p[2] = hidden(strndup("seventeen", 5));
	p[3] = hidden(aligned_alloc(64, 128));
	CHECK_INT(posix_memalign(&aligned, 256, 512), ==, 0);
	p[4] = hidden(reallocarray(NULL, 5, 11));
	s = sums_of(NULL);
	CHECK_INT(s.live, ==, 6);
	CHECK_INT(s.live_bytes, ==, 21 + 5 + 6 + 128 + 512 + 55);
	for (int i = 0; i < 5; i++)
		free(p[i]);
	free(aligned);
	free(NULL);
	CHECK_INT(sums_of(NULL).live, ==, 0);
	CHECK_U64(stats().live, ==, 0);
}

TEST(heap_realloc_is_a_free_and_an_allocation_unless_it_fails)
{
	void *p, *q;

	start(1, 0);
	p = hidden(realloc(NULL, 10));
	p = hidden(realloc(p, 2000000));
	CHECK_INT(sums_of(NULL).live_bytes, ==, 2000000);
	CHECK_INT(sums_of(NULL).all, ==, 2);
#ifndef UNDER_SANITIZER
	q = realloc(p, SIZE_MAX / 4);
	CHECK(!q);
	CHECK_INT(sums_of(NULL).live_bytes, ==, 2000000);
	CHECK_INT(sums_of(NULL).all, ==, 2);
#endif
	q = reallocarray(p, SIZE_MAX / 2, 3);
	CHECK(!q && errno == ENOMEM);
	CHECK_INT(sums_of(NULL).live, ==, 1);
	free(p);
	CHECK_INT(sums_of(NULL).live, ==, 0);
}

struct pattern {
	size_t size;
	int blocks;
};

/* An estimate of n blocks from samples that are drawn with probability p has a variance of n (1 -
 * p) / p. */
TEST(heap_estimates_are_within_what_chance_allows)
{
	static const struct pattern patterns[] = { { 16, 200000 },
						   { 1000, 20000 },
						   { 300000, 200 } };
	const double rate = 65536;
	double bytes = 0, variance = 0, live = 0, live_variance = 0;
	void **kept = NULL, **next;
	struct sums s;

	start((uint64_t)rate, 0);
	for (size_t k = 0; k < 3; k++) {
		double size = (double)patterns[k].size, n = patterns[k].blocks;
		double p = -expm1(-size / rate);

		for (int i = 0; i < patterns[k].blocks; i++) {
			void **block = take_some(patterns[k].size);

			*block = kept;
			if (i % 2)
				free(block);
			else
				kept = block;
		}
		bytes += n * size;
		variance += n * size * size * (1 - p) / p;
		live += n * size / 2;
		live_variance += n / 2 * size * size * (1 - p) / p;
	}
	s = sums_of(NULL);
	test_note("%.0f bytes, estimated %" PRId64 ", sigma %.0f", bytes, s.all_bytes,
		  sqrt(variance));
	CHECK(fabs((double)s.all_bytes - bytes) < 4 * sqrt(variance));
	test_note("%.0f in use, estimated %" PRId64 ", sigma %.0f", live, s.live_bytes,
		  sqrt(live_variance));
	CHECK(fabs((double)s.live_bytes - live) < 4 * sqrt(live_variance));
	for (; kept; kept = next) {
		next = *kept;
		free(kept);
	}
	CHECK_INT(sums_of(NULL).live, ==, 0);
	CHECK_U64(stats().samples, >, 300);
	CHECK_U64(stats().samples, <, 3000);
}

TEST(heap_estimates_of_many_seeds_have_no_bias)
{
	const double rate = 4096, size = 100, n = 2000, p = -expm1(-size / rate);
	const int seeds = test_slow() ? 20 : 50;
	double sum = 0;
	int64_t before = 0;

	for (int seed = 1; seed <= seeds; seed++) {
		struct coati_heap_opts o = { .size = sizeof(o),
					     .rate_bytes = (uint64_t)rate,
					     .seed = (uint64_t)seed };

		CHECK_OK(coati_heap_start(&o, NULL));
		for (int i = 0; i < (int)n; i++)
			free(take_some((size_t)size));
		coati_heap_stop();
		sum += (double)(sums_of(NULL).all - before);
		before = sums_of(NULL).all;
	}
	test_note("%.0f blocks, estimated %.0f on average", n, sum / seeds);
	CHECK(fabs(sum / seeds - n) < 4 * sqrt(n * (1 - p) / p / seeds));
}

/* ---- limits ---- */

TEST(heap_over_its_tables_counts_and_keeps_its_sums)
{
	void *p[100];
	struct sums s;

	start(1, 64);
	for (int i = 0; i < 100; i++)
		p[i] = take_some(10);
	s = sums_of(NULL);
	CHECK_INT(s.all, ==, 100);
	CHECK_INT(s.live, ==, 64);
	CHECK_U64(stats().not_live, ==, 36);
	for (int i = 0; i < 100; i++)
		free(p[i]);
	CHECK_INT(sums_of(NULL).live, ==, 0);
}

TEST(heap_stacks_over_the_ceiling_are_in_the_sums)
{
	static struct coati_label_key key = COATI_LABEL_KEY("n");
	const int stacks = 40000;
	char value[16];

	start(1, 0);
	for (int i = 0; i < stacks; i++) {
		snprintf(value, sizeof(value), "%d", i);
		CHECK_OK(coati_label_set(&key, value));
		free(take_some(10));
	}
	CHECK_U64(stats().stacks, ==, 32767);
	CHECK_U64(stats().over, ==, (uint64_t)stacks - 32767);
	CHECK_U64(stats().samples, ==, (uint64_t)stacks);
}

TEST(heap_block_freed_behind_its_back_ends_when_its_address_comes_again)
{
	char block[64];

	start(1, 0);
	coati_heap_note_alloc(block, 10);
	coati_heap_note_alloc(block, 20);
	CHECK_INT(sums_of(NULL).live_bytes, ==, 20);
	CHECK_INT(sums_of(NULL).all_bytes, ==, 30);
	coati_heap_note_free(block);
	coati_heap_note_free(block);
	CHECK_INT(sums_of(NULL).live, ==, 0);
}

static __attribute__((noinline)) void allocator_of_mine(void *p)
{
	coati_heap_note_alloc(p, 1000);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void asks_for_memory(void *p)
{
	allocator_of_mine(p);
	__asm__ volatile("" ::: "memory");
}

TEST(heap_stack_begins_with_who_called_the_allocator_and_has_labels)
{
	char block[16];
	const char *text;

	if (test_emulated())
		test_skip("the emulator does not say which pages of a stack are there");
	start(1, 0);
	{
		COATI_LABEL("tenant", "ac\"me");
		asks_for_memory(block);
	}
	text = profile_text();
	CHECK(strstr(text, "asks_for_memory+"));
	CHECK(!strstr(text, "allocator_of_mine"));
	CHECK(strstr(text, "labels: {\"tenant\": \"ac\\\"me\"}"));
	coati_heap_note_free(block);
}

TEST(heap_refuses_what_cannot_be)
{
	struct coati_heap_opts o = { .size = sizeof(o), .max_live = UINT32_MAX };
	struct coati_error err = { 0 };

	CHECK_ERR(coati_heap_write(1, 0, &err), -ESRCH);
	CHECK_ERR(coati_heap_write(1, 64, &err), -EINVAL);
	CHECK_ERR(coati_heap_start(&o, &err), -EINVAL);
	start(0, 0);
	CHECK_ERR(coati_heap_start(NULL, &err), -EBUSY);
	coati_heap_stop();
	o.max_live = 5;
	CHECK_ERR(coati_heap_start(&o, &err), -EINVAL);
	CHECK_OK(coati_heap_start(NULL, &err));
}

/* ---- threads and forks ---- */

#define BLOCKS 512
static _Atomic(void *) shared[BLOCKS];

/* Puts a block where another one is, and frees that: blocks are mostly freed by others. */
static void *exchange(void *arg)
{
	struct chance c;

	coati_chance_seed(&c, 1, (uint64_t)(uintptr_t)arg);
	for (int i = 0; i < 5000; i++)
		free(atomic_exchange(&shared[coati_chance_next(&c) % BLOCKS],
				     take_some(1 + coati_chance_next(&c) % 100)));
	return NULL;
}

TEST(heap_of_threads_that_free_for_each_other_is_balanced)
{
	pthread_t threads[4];
	struct sums s;

	start(1, 0);
	for (uintptr_t i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, exchange, (void *)i), ==, 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < BLOCKS; i++)
		free(atomic_exchange(&shared[i], NULL));
	s = sums_of(NULL);
	CHECK_INT(s.all, ==, 20000);
	CHECK_INT(s.live, ==, 0);
	CHECK_INT(s.live_bytes, ==, 0);
}

TEST(heap_of_a_child_goes_on_alone)
{
	pthread_t thread __attribute__((unused));
	void *p;

	start(1, 0);
	p = take_some(1000);
#ifndef UNDER_TSAN /* which finds that the child leaks this thread */
	CHECK_INT(pthread_create(&thread, NULL, exchange, NULL), ==, 0); /* has the lock at times */
#endif
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			struct sums before = sums_of(NULL), after;

			free(p);
			(void)take_some(50);
			after = sums_of(NULL);
			_exit(after.live_bytes == before.live_bytes - 950 &&
					      after.all == before.all + 1
				      ? 0
				      : 1);
		}
		CHECK_INT(waitpid(pid, &status, 0), ==, pid);
		CHECK_INT(status, ==, 0);
	}
#ifndef UNDER_TSAN
	pthread_join(thread, NULL);
#endif
	for (int i = 0; i < BLOCKS; i++)
		free(atomic_exchange(&shared[i], NULL));
	CHECK_INT(sums_of(NULL).live_bytes, ==, 1000);
	free(p);
}

static bool is_gone(struct page_job *job, uint64_t ns)
{
	(void)job;
	CHECK_U64(ns, ==, UINT64_C(5000000000));
	return false;
}

TEST(heap_page_of_a_client_that_is_gone_is_not_made)
{
	struct strbuf body = STRBUF_INIT(1 << 20);
	struct page_job job = { .seconds = 5, .wait = is_gone, .body = &body };
	const struct live_page *page = NULL;

	start(1, 0);
	for (uint32_t i = 0; (page = coati_page_at(i)) && strcmp(page->name, "heap") != 0;)
		i++;
	CHECK(page);
	page->make(&job);
	CHECK_U64(body.len, ==, 0);
	CHECK_INT(job.status, ==, 500);
	job = (struct page_job){ .body = &body };
	page->make(&job);
	CHECK_U64(body.len, >, 0);
	CHECK_INT(job.status, ==, 0);
	coati_heap_stop();
	coati_strbuf_fini(&body);
}
