/* SPDX-License-Identifier: MIT */
/* What read(2) gives, in all of its forms. */
#include "lib/test.h"

#include "event/count.h"
#include "event/event.h"
#include "lib/fake-kernel.h"

static struct coati_count scaled(uint64_t value, uint64_t enabled, uint64_t running)
{
	return (struct coati_count){ .value = value, .enabled_ns = enabled, .running_ns = running };
}

TEST(scaling_multiplies_by_enabled_over_running)
{
	struct coati_count c = scaled(1000, 300, 100);

	CHECK_U64(coati_count_scaled(&c), ==, 3000);
	c = scaled(10, 3, 2);
	CHECK_U64(coati_count_scaled(&c), ==, 15);
	c = scaled(1, 3, 2);
	CHECK_U64(coati_count_scaled(&c), ==, 2);
}

TEST(scaling_leaves_a_value_that_ran_all_the_time_or_has_no_times)
{
	struct coati_count c = scaled(77, 5, 5);

	CHECK_U64(coati_count_scaled(&c), ==, 77);
	c = scaled(77, 0, 0);
	CHECK_U64(coati_count_scaled(&c), ==, 77);
	c = scaled(77, 5, 6);
	CHECK_U64(coati_count_scaled(&c), ==, 77);
}

TEST(scaling_of_an_event_that_never_ran_is_zero)
{
	struct coati_count c = scaled(0, 100, 0);

	CHECK_U64(coati_count_scaled(&c), ==, 0);
}

TEST(scaling_does_not_overflow_and_saturates)
{
	struct coati_count c = scaled(UINT64_MAX / 2, UINT64_MAX, UINT64_MAX / 2 + 1);

	CHECK_U64(coati_count_scaled(&c), >, UINT64_MAX - 3);
	c = scaled(UINT64_MAX, UINT64_MAX, 1);
	CHECK_U64(coati_count_scaled(&c), ==, UINT64_MAX);
	c = scaled(UINT64_MAX, UINT64_MAX, UINT64_MAX - 1);
	CHECK_U64(coati_count_scaled(&c), ==, UINT64_MAX);
}

/* Fields of one count in the kernel's order, with a distinct number each. */
static size_t build_single(uint64_t format, uint64_t *words)
{
	size_t n = 0;

	words[n++] = 100;
	if (format & COATI_READ_ENABLED)
		words[n++] = 200;
	if (format & COATI_READ_RUNNING)
		words[n++] = 300;
	if (format & COATI_READ_ID)
		words[n++] = 400;
	if (format & COATI_READ_LOST)
		words[n++] = 500;
	return n;
}

TEST(every_single_read_format_is_decoded_field_by_field)
{
	for (uint64_t format = 0; format < 32; format++) {
		uint64_t words[5];
		size_t n = build_single(format, words);
		struct coati_count c;

		if (format & COATI_READ_GROUP)
			continue;
		CHECK_OK(coati_count_decode(words, n * 8, format, &c));
		CHECK_U64(c.value, ==, 100);
		CHECK_U64(c.enabled_ns, ==, format & COATI_READ_ENABLED ? 200 : 0);
		CHECK_U64(c.running_ns, ==, format & COATI_READ_RUNNING ? 300 : 0);
		CHECK_U64(c.id, ==, format & COATI_READ_ID ? 400 : 0);
		CHECK_U64(c.lost, ==, format & COATI_READ_LOST ? 500 : 0);
		for (size_t size = 0; size < n * 8; size++)
			CHECK_ERR(coati_count_decode(words, size, format, &c), -EBADMSG);
	}
}

static size_t build_group(uint64_t format, uint64_t members, uint64_t *words)
{
	size_t n = 0;

	words[n++] = members;
	if (format & COATI_READ_ENABLED)
		words[n++] = 200;
	if (format & COATI_READ_RUNNING)
		words[n++] = 300;
	for (uint64_t i = 0; i < members; i++) {
		words[n++] = 1000 + i;
		if (format & COATI_READ_ID)
			words[n++] = 4000 + i;
		if (format & COATI_READ_LOST)
			words[n++] = 5000 + i;
	}
	return n;
}

TEST(every_group_read_format_is_decoded_at_every_length)
{
	for (uint64_t format = COATI_READ_GROUP; format < 32; format++) {
		uint64_t words[12];
		struct coati_count c[3];
		struct count_group into = { format, c, 3 };
		size_t n = build_group(format, 3, words);
		uint32_t nr;

		if (!(format & COATI_READ_GROUP))
			continue;
		CHECK_OK(coati_count_decode_group(words, n * 8, &into, &nr));
		CHECK_U64(nr, ==, 3);
		for (uint64_t i = 0; i < 3; i++) {
			CHECK_U64(c[i].value, ==, 1000 + i);
			CHECK_U64(c[i].enabled_ns, ==, format & COATI_READ_ENABLED ? 200 : 0);
			CHECK_U64(c[i].id, ==, format & COATI_READ_ID ? 4000 + i : 0);
			CHECK_U64(c[i].lost, ==, format & COATI_READ_LOST ? 5000 + i : 0);
		}
		for (size_t size = 0; size < n * 8; size++)
			CHECK_ERR(coati_count_decode_group(words, size, &into, &nr), -EBADMSG);
	}
}

TEST(a_group_that_claims_more_members_than_its_bytes_is_malformed)
{
	uint64_t words[2] = { UINT64_MAX, 1 };
	struct coati_count c;
	struct count_group into = { COATI_READ_GROUP, &c, 1 };
	uint32_t nr;

	CHECK_ERR(coati_count_decode_group(words, sizeof(words), &into, &nr), -EBADMSG);
}

static void nothing(void *ctx)
{
}

/* B14: the end of file of a pinned event that lost its counter is an error, not zeros. */
TEST(end_of_file_of_a_pinned_event_is_an_error)
{
	static struct fake_kernel k;
	struct coati_attr attr = { .type = 0, .flags = COATI_ATTR_PINNED };
	struct event_request req = { &k.calls, &attr, &COATI_SELF, NULL };
	struct coati_event *ev = NULL;
	struct coati_count c = { .value = 123 };
	struct coati_error err;

	fake_kernel_init(&k);
	CHECK_OK(coati_event_request(&req, &ev, NULL));
	k.pinned_lost = true;
	CHECK_ERR(coati_event_read(ev, &c), -EIO);
	CHECK_U64(c.value, ==, 123);
	CHECK_ERR(coati_event_measure(ev, nothing, NULL, &c, &err), -EIO);
	CHECK_HAS(err.text, "pinned");
	coati_event_close(&ev);
}

TEST(a_read_while_a_thread_is_made_is_done_again)
{
	static struct fake_kernel k;
	struct coati_attr attr = { .type = 0 };
	struct event_request req = { &k.calls, &attr, &COATI_SELF, NULL };
	struct coati_event *ev = NULL;
	struct coati_count c = { .value = 123 };

	fake_kernel_init(&k);
	CHECK_OK(coati_event_request(&req, &ev, NULL));
	k.forking = 3;
	CHECK_OK(coati_event_read(ev, &c));
	CHECK_U64(c.value, ==, 0);
	CHECK_INT(k.forking, ==, 0);
	k.forking = 1000000; /* not for ever */
	CHECK_ERR(coati_event_read(ev, &c), -ECHILD);
	coati_event_close(&ev);
}

static struct fake_kernel k;

static void the_region(void *ctx)
{
	fake_kernel_log(&k, '!');
	fake_kernel_event(&k, *(int *)ctx)->value += 7;
}

static struct coati_event *measured(uint32_t type, int *ret_fd)
{
	struct coati_attr attr = { .type = type, .flags = COATI_ATTR_DISABLED };
	struct event_request req = { &k.calls, &attr, &COATI_SELF, NULL, false };
	struct coati_event *ev = NULL;

	fake_kernel_init(&k);
	CHECK_OK(coati_event_request(&req, &ev, NULL));
	*ret_fd = coati_event_fd(ev);
	return ev;
}

TEST(measuring_puts_nothing_between_the_orders_and_the_region)
{
	int fd;
	struct coati_event *ev = measured(COATI_TYPE_SOFTWARE, &fd);
	struct coati_count c;

	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_STR(k.log, "eR!R");
	CHECK_U64(c.value, ==, 7);
	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_STR(k.log, "eR!RR!R"); /* it runs already */
	CHECK_U64(c.value, ==, 7);
	coati_event_close(&ev);
}

TEST(measuring_a_tracepoint_does_not_read_while_it_runs)
{
	int fd;
	struct coati_event *ev = measured(COATI_TYPE_TRACEPOINT, &fd);
	struct coati_count c;

	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_STR(k.log, "Re!dR");
	CHECK_U64(c.value, ==, 7);
	CHECK_OK(coati_event_enable(ev));
	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_STR(k.log, "Re!dRedRe!dR");
	CHECK_U64(c.value, ==, 7);
	coati_event_close(&ev);
}

TEST(measuring_after_other_orders_starts_from_what_they_left)
{
	struct coati_attr attr = { .type = 1 };
	struct event_request req = { &k.calls, &attr, &COATI_SELF, NULL, false };
	struct coati_event *ev = NULL;
	struct coati_count c;
	int fd;

	fake_kernel_init(&k);
	CHECK_OK(coati_event_request(&req, &ev, NULL));
	fd = coati_event_fd(ev);
	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_STR(k.log, "R!R"); /* it was running */
	fake_kernel_event(&k, fd)->value = 0;
	CHECK_OK(coati_event_reset(ev));
	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_U64(c.value, ==, 7);
	CHECK_OK(coati_event_enable(ev));
	fake_kernel_event(&k, fd)->value += 100;
	CHECK_OK(coati_event_measure(ev, the_region, &fd, &c, NULL));
	CHECK_U64(c.value, ==, 7);
	coati_event_close(&ev);
}
