/* SPDX-License-Identifier: MIT */
/* Locations alone, for whoever packs names: the same that a whole profile of the recording has. */
#include "lib/test.h"

#include <string.h>

#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "reading/reading.h"
#include "unit/profile-tape.h"

#define KERNEL_AT UINT64_C(0xffffffff81000000)

static struct coati_profile *read_places(const char *path)
{
	const struct coati_profile_opts o = { .size = sizeof(o), .flags = COATI_PROFILE_PLACES };

	return tape_read(&o, (const char *const[]){ path, NULL });
}

static bool has_location(const struct coati_profile *p, const struct location *l)
{
	for (size_t i = 0; i < p->locations.len; i++) {
		const struct location *own = &p->locations.v[i];

		if (own->pub.image == l->pub.image && own->pub.vaddr == l->pub.vaddr &&
		    own->pub.flags == l->pub.flags && own->since == l->since)
			return true;
	}
	return false;
}

/* Both have @nr, and the same. */
static void check_same(const struct coati_profile *all, const struct coati_profile *places,
		       uint32_t nr)
{
	CHECK_U64(all->locations.len, ==, nr);
	CHECK_U64(places->locations.len, ==, nr);
	for (size_t i = 0; i < all->locations.len; i++)
		CHECK(has_location(places, &all->locations.v[i]));
}

/* Names and lines: what both get when they ask. */
static void check_names(struct coati_profile *all, struct coati_profile *places)
{
	const uint32_t how = COATI_RESOLVE_INLINES | COATI_RESOLVE_LINES;

	CHECK_OK(coati_profile_resolve(all, how, NULL));
	CHECK_OK(coati_profile_resolve(places, how, NULL));
	for (size_t i = 0; i < all->locations.len; i++) {
		const struct coati_profile_location *a = &all->locations.v[i].pub;

		for (size_t k = 0; k < places->locations.len; k++) {
			const struct coati_profile_location *b = &places->locations.v[k].pub;

			if (a->image != b->image || a->vaddr != b->vaddr || a->flags != b->flags ||
			    all->locations.v[i].since != places->locations.v[k].since)
				continue;
			CHECK_U64(a->nr_names, ==, b->nr_names);
			CHECK_STR(a->names[0].function, b->names[0].function);
		}
	}
}

static void check_tape(const char *path, uint32_t nr)
{
	struct coati_profile *all = tape_profile(path), *places = read_places(path);

	check_same(all, places, nr);
	CHECK_U64(places->stacks.len, ==, 0);
	CHECK_U64(places->entries.len, ==, 0);
	CHECK(!coati_profile_lacks_places(places));
	check_names(all, places);
	coati_profile_free(&all);
	coati_profile_free(&places);
}

TEST(profile_places_are_the_locations_of_all_stacks)
{
	const uint64_t both[] = { COATI_CONTEXT_KERNEL, KERNEL_AT + 8, KERNEL_AT + 16,
				  COATI_CONTEXT_USER,	TAPE_LEAF,     TAPE_MAIN };
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (int i = 0; i < 3; i++) {
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .misc = COATI_MISC_KERNEL,
						   .ip = KERNEL_AT + 8,
						   .chain = both,
						   .nr = 6 });
		/* where it stands is not what the chain begins with */
		tape_put(&t, (struct tape_sample){ .pid = 10,
						   .ip = TAPE_OTHER,
						   TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
		/* nobody told of this process */
		tape_put(&t, (struct tape_sample){ .pid = 99, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	}
	tape_close(&t);
	/* leaf, work - 1, main - 1; two of the kernel; other; two of nobody */
	check_tape("a", 8);
}

TEST(profile_places_follow_an_exec_and_a_process_number_that_is_used_again)
{
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_comm(&t, 10, 10, "next", COATI_MISC_COMM_EXEC);
	/* the same address, and nothing is there */
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_map(&t, 10, TAPE_BASE, "/nowhere/else");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	check_tape("a", 3);
}

/* A process that tells stacks, more than the memory of addresses holds, over and over. */
TEST(profile_places_are_complete_when_more_addresses_are_seen_than_are_kept_at_hand)
{
	enum { NR = 2 * READING_SPOTS };
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t i = 0; i < NR; i++)
			tape_put(&t, (struct tape_sample){ .pid = 10,
							   TAPE_STACK(TAPE_BASE + 0x100000 + i) });
	tape_close(&t);
	check_tape("a", NR);
}

/* ---- live events ---- */

#define TOLD_HEAD                                                                \
	"batch kind=process pid=7\n"                                             \
	"- process pid=7 uid=0 start=99 boot=\"0123456789abcdef\" comm=\"app\" " \
	"exe=\"/bin/app\"\n"

static const char told[] = TOLD_HEAD "batch kind=sites pid=7\n"
				     "- site id=1 kind=1 name=\"handle\"\n"
				     "- site id=2 kind=5 name=\"point\" fields=\"fd:i from:s\"\n"
				     "batch kind=table pid=7\n"
				     "- stack id=1 addresses=0x7f0000000224,0x7f0000000205\n"
				     "- stack id=2 addresses=0x7f0000000214,0x7f0000000205\n"
				     "batch tid=7 base=1001000000 told=2\n"
				     "1001000000 open_enter tid=7 id=0\n"
				     "1001001000 sample stack=1 weight=1000\n"
				     "1001002000 sample stack=2 weight=1000\n"
				     "1001002000 instant site=2 fd=4 from=\"lo\"\n"
				     "1001002000 stack id=3 addresses=0x7f0000000234\n"
				     "1001002000 sample stack=3 weight=1\n"
				     "1001002000 region_begin site=1\n"
				     "1001003000 region_end\n"
				     "batch kind=end\n";

static void tape_told(const char *text)
{
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	t.attr_flags = COATI_ATTR_USE_CLOCKID;
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_DUMMY, "dummy", 0);
	tape_live_event(&t);
	tape_start(&t);
	tape_process(&t, 7, "app");
	tape_live_text(&t, text);
	tape_close(&t);
}

TEST(profile_places_have_the_stacks_of_live_events)
{
	struct coati_profile_hooks hooks = { 0 };
	struct coati_contexts *contexts;
	struct coati_profile *all, *places;

	tape_told(told);
	CHECK_OK(coati_contexts_new(&contexts, NULL));
	hooks.contexts = coati_contexts_samples(contexts);
	all = tape_read_hooked(NULL, &hooks, (const char *const[]){ "a", NULL });
	places = read_places("a");
	check_same(all, places, 4);
	CHECK(!coati_profile_lacks_places(places));
	coati_profile_free(&all);
	coati_profile_free(&places);
	coati_contexts_free(&contexts);
}

TEST(profile_places_say_that_live_events_which_cannot_be_walked_lack)
{
	struct coati_profile *places;

	/* fields of a site that nobody told of, in a batch that defines a stack */
	tape_told(TOLD_HEAD "batch tid=7 base=1001000000 flags=0\n"
			    "1001000000 open_enter tid=7 id=0\n"
			    "hex 0b0009\n"
			    "batch kind=end\n");
	places = read_places("a");
	CHECK(coati_profile_lacks_places(places));
	coati_profile_free(&places);
}
