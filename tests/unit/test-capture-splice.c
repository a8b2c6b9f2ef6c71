/* SPDX-License-Identifier: MIT */
/* Two chains of one stack: where tables end, frame pointers go on, and never instead of what tables
 * know. */
#include "lib/test.h"

#include "capture/splice.h"

#define MAX 16

struct want {
	const char *what;
	uint64_t ours[MAX], theirs[MAX]; /* up to the first 0 */
	bool is_rooted;
	uint64_t both[MAX]; /* first 0: nothing is added */
};

static uint32_t count(const uint64_t *v)
{
	uint32_t n = 0;

	while (v[n])
		n++;
	return n;
}

TEST(splice_goes_on_behind_the_last_common_frame)
{
	static const struct want wants[] = {
		{ "a cut copy", { 1, 2, 3 }, { 1, 2, 3, 4, 5 }, false, { 1, 2, 3, 4, 5 } },
		{ "functions without a record",
		  { 1, 2, 3, 4 },
		  { 1, 4, 5 },
		  false,
		  { 1, 2, 3, 4, 5 } },
		{ "the last one has no record", { 1, 2, 3 }, { 1, 2, 4 }, false, { 1, 2, 3, 4 } },
		{ "recursion",
		  { 1, 7, 7, 7 },
		  { 1, 7, 7, 7, 7, 7, 8 },
		  false,
		  { 1, 7, 7, 7, 7, 7, 8 } },
		{ "recursion behind one without a record",
		  { 1, 2, 7, 7 },
		  { 1, 7, 7, 7, 8 },
		  false,
		  { 1, 2, 7, 7, 7, 8 } },
		{ "the leaf alone", { 1 }, { 1, 2, 3 }, false, { 1, 2, 3 } },
		{ "nothing more", { 1, 2, 3 }, { 1, 2, 3 }, false, { 0 } },
		{ "shorter", { 1, 2, 3 }, { 1, 2 }, false, { 0 } },
		{ "nothing in common", { 1, 2, 3 }, { 4, 5, 6 }, true, { 0 } },
		{ "they disagree", { 1, 2, 3, 4 }, { 1, 2, 5, 6 }, false, { 0 } },
		{ "they disagree, and one has a root",
		  { 1, 2, 3, 4 },
		  { 1, 2, 5, 6 },
		  true,
		  { 1, 2, 5, 6 } },
	};

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		const struct want *w = &wants[i];
		uint32_t nr_ours = count(w->ours), nr_theirs = count(w->theirs), nr = 0;
		uint64_t both[2 * MAX] = { 0 };
		struct splice s;
		bool adds = coati_splice((struct splice_chain){ w->ours, nr_ours },
					 (struct splice_chain){ w->theirs, nr_theirs },
					 w->is_rooted, &s);

		for (uint32_t k = 0; adds && k < s.ours; k++)
			both[nr++] = w->ours[k];
		for (uint32_t k = s.theirs; adds && k < nr_theirs; k++)
			both[nr++] = w->theirs[k];
		if (nr != count(w->both) || memcmp(both, w->both, nr * sizeof(*both)) != 0)
			test_note("%s: %u frames", w->what, nr);
		CHECK_INT(nr, ==, count(w->both));
		CHECK_MEM(both, w->both, nr * sizeof(*both));
	}
}
