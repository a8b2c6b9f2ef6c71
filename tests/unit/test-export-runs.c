/* SPDX-License-Identifier: MIT */
/* Items of a timeline that are packed and merged: as they were, and in order, however late each of
 * them ended. */
#include "lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/live-events.h"

#define MANY  150000 /* more than one run */
#define SITES 3
#define ARGS  3

static struct live_site sites[SITES];
static struct live_site *site_list[SITES];

static void make_sites(void)
{
	for (uint32_t i = 0; i < SITES; i++) {
		sites[i] = (struct live_site){ .name = "site", .number = i };
		site_list[i] = &sites[i];
	}
}

/* Of any kind; most of them short, some as long as all of it. */
static struct live_item make_item(uint32_t order)
{
	static const struct live_arg args[ARGS] = {
		{ .name = "a", .letter = 's', .text = "text" },
		{ .name = "b", .letter = 'd', .text = "", .real = 0.25 },
		{ .name = "c", .letter = 'i', .text = "", .number = -7 }
	};
	struct live_item i = { .kind = (unsigned int)(test_random() % ITEM_KINDS) & 15,
			       .begin = 1000 + order * 10 - test_random() % 200,
			       .order = order,
			       .name = "",
			       .place = LIVE_NONE,
			       .thread = (uint32_t)(test_random() % 1000) };

	i.flags = (uint8_t)test_random();
	i.lane = (unsigned int)(test_random() % LIVE_LANES) & 15;
	i.end = i.begin;
	if (live_is_slice(&i))
		i.end += test_random() % (test_random() % 100 ? 500 : 10 * MANY);
	if (test_random() % 2)
		i.site = &sites[test_random() % SITES];
	if (i.kind == ITEM_LOG || i.kind == ITEM_LOSS || i.kind == ITEM_STATE)
		i.name = "name";
	if (i.kind == ITEM_ENTER && i.site)
		i.name = i.site->name;
	if (i.kind == ITEM_TASK || i.kind == ITEM_ENTER || i.kind == ITEM_FLOW)
		i.id = test_random() >> test_random() % 64;
	if (i.kind == ITEM_TASK || i.kind == ITEM_FLOW || i.kind == ITEM_LOSS ||
	    i.kind == ITEM_COUNTER)
		i.parent = test_random() >> test_random() % 64;
	if (i.kind == ITEM_STATE || i.kind == ITEM_COUNTER)
		i.place = (uint32_t)(test_random() % 5);
	if (i.kind == ITEM_STATE || i.kind == ITEM_INSTANT || i.kind == ITEM_LABELS) {
		i.args = args;
		i.nr_args = (uint16_t)(test_random() % (ARGS + 1));
	}
	return i;
}

static void check_args(const struct live_item *i, const struct live_item *expected)
{
	for (uint32_t n = 0; n < i->nr_args; n++) {
		CHECK(i->args[n].name == expected->args[n].name);
		CHECK(i->args[n].text == expected->args[n].text || !*i->args[n].text);
		CHECK_INT(i->args[n].letter, ==, expected->args[n].letter);
		CHECK_INT(i->args[n].number, ==, expected->args[n].number);
		CHECK(i->args[n].real == expected->args[n].real);
	}
}

/* All of it; arguments are others with the same content. */
static void check_item(const struct live_item *i, const struct live_item *expected)
{
	struct live_item a = *i, b = *expected;

	CHECK_INT(a.nr_args, ==, b.nr_args);
	check_args(i, expected);
	if (a.kind == ITEM_STATE || a.kind == ITEM_INSTANT || a.kind == ITEM_LABELS)
		a.args = b.args = NULL;
	/* an empty name may be another literal */
	CHECK_STR(a.name, b.name);
	a.name = b.name = NULL;
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

TEST(export_items_are_packed_and_come_back)
{
	struct live_item *items = coati_alloc_array(MANY, sizeof(*items)), got;
	struct live_pack pack = { 0 };
	struct live_unpack u;
	size_t nr = 0;

	make_sites();
	for (uint32_t i = 0; i < MANY; i++) {
		items[i] = make_item(i);
		CHECK_INT(coati_pack_add(&pack, &items[i]), ==, 0);
	}
	CHECK_INT(pack.nr, ==, MANY);
	for (coati_unpack_init(&u, &pack, site_list); coati_unpack_next(&u, &got); nr++)
		check_item(&got, &items[nr]);
	CHECK(!u.failed);
	CHECK_INT(nr, ==, MANY);
	coati_unpack_fini(&u);
	coati_pack_fini(&pack);
	coati_free(items);
}

static int by_end(const void *a, const void *b)
{
	const struct live_item *x = a, *y = b;

	return x->end != y->end ? (x->end < y->end ? -1 : 1) : x->order < y->order ? -1 : 1;
}

TEST(export_items_are_merged_in_order_however_late_they_ended)
{
	struct live_item *items = coati_alloc_array(MANY, sizeof(*items));
	const struct live_item *got;
	struct live_runs runs;
	struct live_merge m;
	size_t nr = 0;

	make_sites();
	coati_runs_init(&runs);
	for (uint32_t i = 0; i < MANY; i++)
		items[i] = make_item(i);
	qsort(items, MANY, sizeof(*items), by_end);
	for (uint32_t i = 0; i < MANY; i++)
		CHECK_INT(coati_runs_add(&runs, &items[i]), ==, 0);
	CHECK_INT(coati_runs_end(&runs), ==, 0);
	CHECK(runs.runs.len > 2);
	qsort(items, MANY, sizeof(*items), coati_live_compare);
	CHECK_INT(coati_merge_init(&m, &runs, site_list), ==, 0);
	for (; (got = coati_merge_next(&m)); nr++)
		check_item(got, &items[nr]);
	CHECK(!m.failed);
	CHECK_INT(nr, ==, MANY);
	coati_merge_fini(&m);
	coati_runs_fini(&runs);
	coati_free(items);
}

TEST(export_items_that_find_no_memory_say_so)
{
	struct live_runs runs;
	struct live_merge m;
	int r = -ENOMEM;

	make_sites();
	for (uint64_t n = 0; r < 0; n++) {
		coati_runs_init(&runs);
		coati_alloc_fail_after(n);
		r = 0;
		for (uint32_t i = 0; r == 0 && i < 100; i++) {
			struct live_item item = make_item(i);

			r = coati_runs_add(&runs, &item);
		}
		if (r == 0)
			r = coati_runs_end(&runs);
		if (r == 0)
			r = coati_merge_init(&m, &runs, site_list);
		else
			m = (struct live_merge){ 0 };
		while (r == 0 && coati_merge_next(&m))
			;
		if (m.failed)
			r = -ENOMEM;
		coati_alloc_fail_after(UINT64_MAX);
		coati_merge_fini(&m);
		coati_runs_fini(&runs);
	}
	CHECK_INT(r, ==, 0);
}
