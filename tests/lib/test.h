/* SPDX-License-Identifier: MIT */
/*
 * The test runner. A test is a sentence:
 *
 *	TEST(cursor_past_the_end_reads_zero_and_stays_bad)
 *	{
 *		struct cursor c = cursor_over("ab", 2);
 *		CHECK_U64(cursor_u32(&c), ==, 0);
 *		CHECK(c.bad);
 *	}
 *
 * Each test runs in a process of its own with a time limit, default signal dispositions and a
 * scratch folder (below TMPDIR) that is the current folder and is removed afterwards. The limit
 * is four times as long with COATI_TEST_SLOW, and grows with the load of each CPU up to tenfold
 * (COATI_TEST_LOAD sets that load). Processes that a test leaves behind are killed and fail it. A
 * failed CHECK ends its test. Output is TAP; at the end "# slow:" names the tests that took half
 * a second. A test that cannot run here calls test_skip("reason"); when the environment variable
 * COATI_TEST_MUST names the word @need of test_skip_need(), the skip is a failure.
 *
 * Command line of a suite: [--list] [--no-fork] [--stop] [--seed N] [--share I/N] [--slow MS]
 * [--only FILE] [PART-OF-NAME...]. --stop ends the run after the first failure; --slow sets from
 * how long on a test is named at the end; --only runs the tests that FILE names in full, in that
 * order, each with an optional time limit in seconds behind its name.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*test_fn)(void);

struct test_case {
	const char *name, *file;
	test_fn fn;
	unsigned int limit_s;
	struct test_case *next;
	bool ran;
	int64_t took_ms, cpu_ms;
};

void test_register(struct test_case *t);

#define TEST_LIMIT(test_name, seconds)                                                    \
	static void test_case_##test_name(void);                                          \
	static struct test_case test_entry_##test_name = {                                \
		#test_name, __FILE__, test_case_##test_name, (seconds), NULL, false, 0, 0 \
	};                                                                                \
	__attribute__((constructor)) static void test_enter_##test_name(void)             \
	{                                                                                 \
		test_register(&test_entry_##test_name);                                   \
	}                                                                                 \
	static void test_case_##test_name(void)
#define TEST(test_name) TEST_LIMIT(test_name, 30)

/* Ends the test as failed, with the place. */
void test_fail_at(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
/* Ends the test as skipped. */
void test_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/*
 * As test_skip(), unless COATI_TEST_MUST (comma-separated words) contains @need: then it fails.
 * Words in use: perf (perf events at all), root, tracefs, hw (a PMU), instructions, cache,
 * multiplex, rdpmc (what it can do), old (a kernel before 6.3), uprobe, kprobe, breakpoint, cgroup,
 * bpf, quiet (a host that takes no CPU time from this guest; scripts/test never asks for it by
 * itself).
 */
void test_skip_need(const char *need, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* A line of diagnosis ("# ..."). */
void test_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Deterministic random numbers, from the seed that the run prints: 1, or that of --seed, which
 * scripts/soak changes from round to round. */
uint64_t test_random(void);
/* Copies a file to where other users can read and execute it, as long as they may enter the
 * folder. */
void test_copy_file(const char *from, const char *to);
/* Folder tests/data of the source tree (from COATI_TEST_DATA, set by the build). */
const char *test_data_dir(void);
/* The built tool, from COATI_TOOL. */
const char *test_tool(void);
/* How often to repeat what is left to chance (kills, races): @usual, times COATI_SOAK, which
 * scripts/soak sets. The time limit grows alike. */
unsigned int test_rounds(unsigned int usual);
/* Whether everything takes several times as long (COATI_TEST_SLOW is set: a sanitizer, an
 * emulator). What is large only to be large may then be smaller; the plain builds run it whole. */
bool test_slow(void);
/* Whether the program runs under user-mode emulation (COATI_TEST_EMULATED is set): system calls
 * are translated, so that clocks are coarse, and perf events, ptrace and much of /proc are those
 * of the emulator or missing. */
bool test_emulated(void);

#define CHECK(cond)                                                    \
	do {                                                           \
		if (!(cond))                                           \
			test_fail_at(__FILE__, __LINE__, "%s", #cond); \
	} while (0)

#define CHECK_INT(a, op, b)                                                                   \
	do {                                                                                  \
		long long check_a_ = (long long)(a), check_b_ = (long long)(b);               \
		if (!(check_a_ op check_b_))                                                  \
			test_fail_at(__FILE__, __LINE__, "%s %s %s: %lld, %lld", #a, #op, #b, \
				     check_a_, check_b_);                                     \
	} while (0)

#define CHECK_U64(a, op, b)                                                                        \
	do {                                                                                       \
		unsigned long long check_a_ = (unsigned long long)(a);                             \
		unsigned long long check_b_ = (unsigned long long)(b);                             \
		if (!(check_a_ op check_b_))                                                       \
			test_fail_at(__FILE__, __LINE__, "%s %s %s: %llu (0x%llx), %llu (0x%llx)", \
				     #a, #op, #b, check_a_, check_a_, check_b_, check_b_);         \
	} while (0)

#define CHECK_STR(a, b)                                                                \
	do {                                                                           \
		const char *check_a_ = (a), *check_b_ = (b);                           \
		if (!check_a_ || !check_b_ || strcmp(check_a_, check_b_))              \
			test_fail_at(__FILE__, __LINE__, "%s: \"%s\", not \"%s\"", #a, \
				     check_a_ ? check_a_ : "(null)",                   \
				     check_b_ ? check_b_ : "(null)");                  \
	} while (0)

/* The text @a contains @part. */
#define CHECK_HAS(a, part)                                                              \
	do {                                                                            \
		const char *check_a_ = (a), *check_b_ = (part);                         \
		if (!check_a_ || !strstr(check_a_, check_b_))                           \
			test_fail_at(__FILE__, __LINE__, "%s: \"%s\" lacks \"%s\"", #a, \
				     check_a_ ? check_a_ : "(null)", check_b_);         \
	} while (0)

/* Equal bytes; prints both as hex where they differ. */
#define CHECK_MEM(a, b, size) \
	test_check_mem(__FILE__, __LINE__, #a, (const void *[]){ (a), (b) }, (size))
void test_check_mem(const char *file, int line, const char *what, const void *const *two,
		    size_t size);

/* The text is one valid JSON value (RFC 8259, valid UTF-8). */
#define CHECK_JSON(text) test_check_json(__FILE__, __LINE__, #text, (text))
void test_check_json(const char *file, int line, const char *what, const char *text);

/* The call returns exactly that (negative) code; prints names of errnos. */
#define CHECK_ERR(expr, code) test_check_err(__FILE__, __LINE__, #expr, (expr), (code))
void test_check_err(const char *file, int line, const char *what, long long got, long long want);
/* The call succeeds (>= 0). */
#define CHECK_OK(expr) test_check_ok(__FILE__, __LINE__, #expr, (expr))
void test_check_ok(const char *file, int line, const char *what, long long got);
