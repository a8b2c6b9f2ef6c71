/* SPDX-License-Identifier: MIT */
/* Time that the host took, read from a /proc made of plain files. */
#include "lib/test.h"

#include "capture/steal.h"
#include "lib/fake-tree.h"

TEST(steal_is_the_eighth_number_of_all_cpus_together)
{
	uint64_t ns = 0;

	CHECK_INT(fake_file("proc", "stat",
			    "cpu  10 20 30 40 50 60 70 81 90 100\ncpu0 1 2 3 4 5 6 7 8 9\n"),
		  ==, 0);
	CHECK_ERR(coati_steal_read("proc", &ns), 0);
	CHECK_U64(ns, ==, 81 * coati_steal_step_ns());
}

TEST(steal_that_is_not_told_is_an_error)
{
	static const char *const bad[] = { "cpu  1 2 3 4 5 6 7\n",
					   "cpu\n",
					   "\n",
					   "intr 1 2 3 4 5 6 7 8 9\n",
					   "",
					   "cpu  1 2 3 4 5 6 7 x\n",
					   "cpu  1 2 3 4 5 6 7 18446744073709551615\n" };
	uint64_t ns = 7;

	CHECK_INT(coati_steal_read("nowhere", &ns), <, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK_INT(fake_file("proc", "stat", bad[i]), ==, 0);
		CHECK_INT(coati_steal_read("proc", &ns), <, 0);
	}
	CHECK_U64(ns, ==, 7);
}
