/* SPDX-License-Identifier: MIT */
/* Names that are nearly right. */
#include "lib/test.h"

#include "base/match.h"

TEST(match_counts_each_kind_of_edit_once)
{
	CHECK_U64(coati_edit_distance("", "", 9), ==, 0);
	CHECK_U64(coati_edit_distance("cycles", "cycles", 9), ==, 0);
	CHECK_U64(coati_edit_distance("cycles", "cyclesx", 9), ==, 1);
	CHECK_U64(coati_edit_distance("cycles", "ycles", 9), ==, 1);
	CHECK_U64(coati_edit_distance("cycles", "cykles", 9), ==, 1);
	CHECK_U64(coati_edit_distance("cycles", "cyclse", 9), ==, 1);
	CHECK_U64(coati_edit_distance("cycles", "yccles", 9), ==, 1);
	CHECK_U64(coati_edit_distance("", "abc", 9), ==, 3);
	CHECK_U64(coati_edit_distance("kitten", "sitting", 9), ==, 3);
	/* no stretch is edited twice: swap and insert in one place are three edits */
	CHECK_U64(coati_edit_distance("ca", "abc", 9), ==, 3);
}

TEST(match_ignores_the_case_of_ascii_letters_only)
{
	CHECK_U64(coati_edit_distance("CyClEs", "cYcLeS", 9), ==, 0);
	CHECK_U64(coati_edit_distance("[", "{", 9), ==, 1);
	CHECK_U64(coati_edit_distance("\xc4", "\xe4", 9), ==, 1);
}

TEST(match_reports_all_beyond_the_limit_alike)
{
	CHECK_U64(coati_edit_distance("abc", "abd", 0), ==, 1);
	CHECK_U64(coati_edit_distance("abcdef", "uvwxyz", 2), ==, 3);
	CHECK_U64(coati_edit_distance("a", "abcdef", 2), ==, 3);
	CHECK_U64(coati_edit_distance("abcdef", "uvwxyz", 6), ==, 6);
}

TEST(match_gives_up_on_names_over_128_bytes)
{
	char a[130], b[130];

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	a[128] = b[128] = '\0';
	CHECK_U64(coati_edit_distance(a, b, 500), ==, 128);
	CHECK_U64(coati_edit_distance(a, a, 3), ==, 0);
	a[128] = 'a';
	a[129] = '\0';
	CHECK_U64(coati_edit_distance(a, a, 3), ==, 4);
	CHECK_U64(coati_edit_distance("x", a, 500), ==, 501);
}

/* The definition, without a table: only for short names. */
static size_t slow_distance(const char *a, size_t la, const char *b, size_t lb)
{
	size_t best, d;

	if (!la || !lb)
		return la + lb;
	best = slow_distance(a, la - 1, b, lb - 1) + (a[la - 1] != b[lb - 1]);
	d = slow_distance(a, la - 1, b, lb) + 1;
	best = d < best ? d : best;
	d = slow_distance(a, la, b, lb - 1) + 1;
	best = d < best ? d : best;
	if (la > 1 && lb > 1 && a[la - 1] == b[lb - 2] && a[la - 2] == b[lb - 1]) {
		d = slow_distance(a, la - 2, b, lb - 2) + 1;
		best = d < best ? d : best;
	}
	return best;
}

TEST(match_agrees_with_the_definition_on_random_names)
{
	for (int round = 0; round < 1000; round++) {
		char a[7] = "", b[7] = "";
		size_t la = test_random() % 7, lb = test_random() % 7;

		for (size_t i = 0; i < la; i++)
			a[i] = (char)('a' + test_random() % 3);
		for (size_t i = 0; i < lb; i++)
			b[i] = (char)('a' + test_random() % 3);
		for (size_t limit = 0; limit < 8; limit++) {
			size_t want = slow_distance(a, la, b, lb);

			want = want > limit ? limit + 1 : want;
			CHECK_U64(coati_edit_distance(a, b, limit), ==, want);
			CHECK_U64(coati_edit_distance(b, a, limit), ==, want);
		}
	}
}

TEST(match_keeps_the_nearest_candidate_and_the_first_of_equals)
{
	struct nearest n = coati_nearest_to("cache-mises");

	coati_nearest_offer(&n, "branches");
	CHECK(!n.best);
	coati_nearest_offer(&n, "cache-missed");
	CHECK_STR(n.best, "cache-missed");
	coati_nearest_offer(&n, "cache-misses");
	CHECK_STR(n.best, "cache-misses");
	CHECK_U64(n.distance, ==, 1);
	coati_nearest_offer(&n, "cache-miser");
	CHECK_STR(n.best, "cache-misses");
	coati_nearest_offer(&n, "CACHE-MISES");
	CHECK_STR(n.best, "CACHE-MISES");
	coati_nearest_offer(&n, "cache-mises");
	CHECK_STR(n.best, "CACHE-MISES");
}

TEST(match_keeps_nothing_further_than_a_third_of_the_name)
{
	struct nearest six = coati_nearest_to("cycles"), two = coati_nearest_to("ab");

	coati_nearest_offer(&six, "cyxyzs");
	CHECK(!six.best);
	coati_nearest_offer(&six, "cyxyes");
	CHECK_STR(six.best, "cyxyes");
	coati_nearest_offer(&two, "ac");
	CHECK(!two.best);
}

TEST(match_knows_a_glob_by_its_characters)
{
	CHECK(coati_is_glob("sched:*"));
	CHECK(coati_is_glob("a?"));
	CHECK(coati_is_glob("[ab]"));
	CHECK(!coati_is_glob("sched:sched_switch"));
	CHECK(!coati_is_glob(""));
}
