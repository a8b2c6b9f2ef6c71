/* SPDX-License-Identifier: MIT */
/* Breakpoints: what each CPU can watch. */
#include "lib/test.h"

#include "event/breakpoint.h"

/* Attributes for @length bytes at @addr on a CPU with those rules; the error code. */
static int check(const struct breakpoint_rules *rules, uint32_t bp_type, uint64_t addr,
		 uint64_t length)
{
	struct coati_attr attr = { .bp_type = bp_type, .config1 = addr, .config2 = length };
	struct coati_error err = { 0 };
	bool read_write;
	int r = coati_breakpoint_check(rules, &attr, &read_write, &err);

	CHECK(r == 0 || *err.text);
	return r;
}

TEST(breakpoint_default_is_four_bytes_read_and_written)
{
	struct coati_attr attr = { .sample_period = 7 };
	const char *note = "x";

	CHECK_OK(coati_breakpoint_attr(&(struct breakpoint){ 0x1000, 0, "" }, &attr, &note, NULL));
	CHECK_U64(attr.type, ==, COATI_TYPE_BREAKPOINT);
	CHECK_U64(attr.bp_type, ==, COATI_BP_RW);
	CHECK_U64(attr.config1, ==, 0x1000);
	CHECK_U64(attr.config2, ==, 4);
	CHECK_U64(attr.sample_period, ==, 7);
	CHECK(!note);
}

TEST(breakpoint_on_execution_has_the_size_of_a_long)
{
	struct coati_attr attr = { 0 };

	CHECK_OK(coati_breakpoint_attr(&(struct breakpoint){ 0x1000, 0, "x" }, &attr, NULL, NULL));
	CHECK_U64(attr.bp_type, ==, COATI_BP_X);
	CHECK_U64(attr.config2, ==, sizeof(long));
}

TEST(breakpoint_letters_are_checked_one_by_one)
{
	static const char *const bad[] = { "q",	 "rq", "rr",  "wrw", "xx",
					   "rx", "wx", "rwx", "R",   "r w" };
	struct coati_attr attr = { .type = 99 };
	struct coati_error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		CHECK_ERR(coati_breakpoint_attr(&(struct breakpoint){ 0, 4, bad[i] }, &attr, NULL,
						&err),
			  -EINVAL);
		CHECK(*err.text);
		CHECK_U64(attr.type, ==, 99);
	}
	CHECK_OK(coati_breakpoint_attr(&(struct breakpoint){ 0, 4, "wr" }, &attr, NULL, NULL));
	CHECK_U64(attr.bp_type, ==, COATI_BP_RW);
	CHECK_OK(coati_breakpoint_attr(&(struct breakpoint){ 0, 4, "w" }, &attr, NULL, NULL));
	CHECK_U64(attr.bp_type, ==, COATI_BP_W);
}

TEST(breakpoint_data_on_x86_is_an_aligned_power_of_two)
{
	for (uint64_t length = 0; length < 20; length++)
		for (uint64_t addr = 0x1000; addr < 0x1010; addr++) {
			bool ok = (length == 1 || length == 2 || length == 4 || length == 8) &&
				  addr % length == 0;

			CHECK_ERR(check(&coati_breakpoint_x86, COATI_BP_W, addr, length),
				  ok ? 0 : -EINVAL);
		}
}

TEST(breakpoint_data_on_arm64_stays_inside_of_eight_aligned_bytes)
{
	for (uint64_t length = 0; length < 20; length++)
		for (uint64_t addr = 0x1000; addr < 0x1010; addr++) {
			bool ok = length >= 1 && addr % 8 + length <= 8;

			CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_W, addr, length),
				  ok ? 0 : -EINVAL);
		}
	CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_W, UINT64_MAX, UINT64_MAX), -EINVAL);
}

TEST(breakpoint_on_execution_has_one_length_and_the_alignment_of_code)
{
	CHECK_ERR(check(&coati_breakpoint_x86, COATI_BP_X, 0x1003, sizeof(long)), 0);
	CHECK_ERR(check(&coati_breakpoint_x86, COATI_BP_X, 0x1003, 4), -EINVAL);
	CHECK_ERR(check(&coati_breakpoint_x86, COATI_BP_X, 0x1000, 1), -EINVAL);
	CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_X, 0x1004, sizeof(long)), 0);
	CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_X, 0x1004, 4), 0);
	CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_X, 0x1002, 4), -EINVAL);
	CHECK_ERR(check(&coati_breakpoint_arm64, COATI_BP_X, 0x1004, 2), -EINVAL);
}

TEST(breakpoint_on_reads_alone_becomes_read_and_write_where_the_cpu_has_no_such_kind)
{
	struct coati_attr attr = { .bp_type = COATI_BP_R, .config2 = 4 };
	bool read_write;

	CHECK_OK(coati_breakpoint_check(&coati_breakpoint_arm64, &attr, &read_write, NULL));
	CHECK_U64(attr.bp_type, ==, COATI_BP_R);
	CHECK(!read_write);
	CHECK_OK(coati_breakpoint_check(&coati_breakpoint_x86, &attr, &read_write, NULL));
	CHECK_U64(attr.bp_type, ==, COATI_BP_RW);
	CHECK(read_write);
}

TEST(breakpoint_note_says_that_writes_count_too)
{
#if defined(__x86_64__)
	struct coati_attr attr = { 0 };
	const char *note = NULL;

	CHECK_OK(coati_breakpoint_attr(&(struct breakpoint){ 0x1000, 1, "r" }, &attr, &note, NULL));
	CHECK_HAS(note, "writes are counted too");
#else
	test_skip("this CPU can watch reads alone");
#endif
}
