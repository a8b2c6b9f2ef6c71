/* SPDX-License-Identifier: MIT */
/* A set of numbers by process: dense ones, lone ones, and no more pages than allowed. */
#include "lib/test.h"

#include <errno.h>

#include "live-read/idset.h"

TEST(idset_has_what_was_added_and_nothing_else)
{
	struct idset s;

	coati_idset_init(&s, 1000);
	for (uint64_t id = 0; id < 5000; id += 3)
		CHECK_OK(coati_idset_add(&s, 1, id));
	CHECK_OK(coati_idset_add(&s, 2, UINT64_MAX));
	for (uint64_t id = 0; id < 5000; id++) {
		CHECK(coati_idset_has(&s, 1, id) == (id % 3 == 0));
		CHECK(!coati_idset_has(&s, 2, id));
	}
	CHECK(coati_idset_has(&s, 2, UINT64_MAX));
	CHECK(!coati_idset_has(&s, 1, UINT64_MAX));
	coati_idset_del(&s, 1, 3);
	CHECK(!coati_idset_has(&s, 1, 3) && coati_idset_has(&s, 1, 6));
	coati_idset_fini(&s);
}

TEST(idset_has_a_ceiling_of_pages)
{
	struct idset s;

	coati_idset_init(&s, 2);
	CHECK_OK(coati_idset_add(&s, 1, 0));
	CHECK_OK(coati_idset_add(&s, 1, 10000));
	CHECK_OK(coati_idset_add(&s, 1, 1));
	CHECK_INT(coati_idset_add(&s, 1, 20000), ==, -E2BIG);
	CHECK(!coati_idset_has(&s, 1, 20000) && coati_idset_has(&s, 1, 10000));
	coati_idset_fini(&s);
}
