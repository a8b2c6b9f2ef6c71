/* SPDX-License-Identifier: MIT */
/* Tracepoints, breakpoints and probes in the event grammar, over fake trees. */
#include "lib/events.h"
#include "lib/fake-tree.h"

#include <stdio.h>

#include "base/alloc.h"
#include "event/list.h"

static struct coati_event_list *list_over_fake_trees(void)
{
	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	return events_new("sys", "tracing");
}

static void add(struct coati_event_list *list, const char *text)
{
	struct coati_error err = { 0 };

	if (coati_event_list_add(list, text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: column %d: %s", text, err.column, err.text);
}

TEST(tracepoint_has_the_id_that_tracefs_says)
{
	struct coati_event_list *list = list_over_fake_trees();
	const struct coati_event_desc *d;

	add(list, "sched:sched_switch:u");
	d = events_one(list);
	CHECK_INT(d->kind, ==, COATI_EVENT_TRACEPOINT);
	CHECK_INT(d->attr.type, ==, COATI_TYPE_TRACEPOINT);
	CHECK_U64(d->attr.config, ==, 314);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_STR(d->name, "sched:sched_switch:u");
	coati_event_list_free(list);
}

TEST(tracepoint_globs_expand_in_the_order_of_names)
{
	struct coati_event_list *list = list_over_fake_trees();

	add(list, "s*:s*_[so]*,{sched:*}:u,*:*issue/period=3,name=io/");
	CHECK_INT(coati_event_list_count(list), ==, 7);
	CHECK_STR(coati_event_list_get(list, 0)->name, "sched:sched_switch");
	CHECK_STR(coati_event_list_get(list, 1)->name, "sched:sched_switch_extra");
	CHECK_STR(coati_event_list_get(list, 2)->name, "syscalls:sys_enter_openat");
	CHECK_STR(coati_event_list_get(list, 3)->name, "sched:sched_switch:u");
	CHECK_STR(coati_event_list_get(list, 5)->name, "sched:sched_wakeup:u");
	CHECK_INT(coati_event_list_get(list, 5)->group, ==, 0);
	CHECK_STR(coati_event_list_get(list, 6)->name, "io");
	CHECK_U64(coati_event_list_get(list, 6)->attr.config, ==, 900);
	CHECK_U64(coati_event_list_get(list, 6)->attr.sample_period, ==, 3);
	coati_event_list_free(list);
}

TEST(tracepoint_errors_offer_the_nearest_system_and_name)
{
	struct coati_event_list *list = list_over_fake_trees();

	events_refused(list, "shced:sched_switch", -ENOENT, 1, "did you mean 'sched'?");
	events_refused(list, "sched:sched_swicth", -ENOENT, 7, "did you mean 'sched_switch'?");
	events_refused(list, "cs,sched:zzz*", -ENOENT, 10, "no tracepoint matches 'sched:zzz*'");
	events_refused(list, "zzz*:x", -ENOENT, 1, "system 'zzz*'");
	events_refused(list, "cylces:u", -ENOENT, 1, "did you mean 'cycles'?");
	events_refused(list, "sched:", -EINVAL, 7, "expected the name of a tracepoint");
	events_refused(list, "sched:sched_switch:q", -EINVAL, 20, "'q' is not a modifier");
	events_refused(list, "odd:bad_id", -EBADMSG, 5, "cannot be read");
	events_refused(list, "odd:no_id", -ENOENT, 5, "'odd:no_id' has no id");
	events_refused(list, "..:sched", -ENOENT, 1, "'..'");
	coati_event_list_free(list);
}

TEST(tracepoint_without_tracefs_names_the_place)
{
	struct coati_event_list *list = events_new(NULL, "/nonexistent/tracing");

	events_refused(list, "cs,sched:sched_switch", -ENOENT, 4, "/nonexistent/tracing");
	coati_event_list_free(list);
}

TEST(tracepoint_every_failing_allocation_leaves_the_list_as_it_was)
{
	struct coati_event_list *list = list_over_fake_trees();
	struct coati_error err;
	uint64_t n = 0;
	int r;

	do {
		coati_alloc_fail_after(n++);
		r = coati_event_list_add(list, "s*:*,mem:0x1000/4:rw", &err);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0) {
			CHECK_ERR(r, -ENOMEM);
			CHECK_INT(coati_event_list_count(list), ==, 0);
		}
	} while (r < 0);
	CHECK_U64(n, >, 5);
	CHECK_INT(coati_event_list_count(list), ==, 5);
	coati_event_list_free(list);
}

TEST(breakpoint_takes_address_length_access_and_modifiers)
{
	struct coati_event_list *list = list_over_fake_trees();
	const struct coati_event_desc *d;

	add(list, "mem:0x1000/8:w:u,mem:4096,mem:0x2000:rw/name=watch/,mem:0x1000:k");
	d = coati_event_list_get(list, 0);
	CHECK_INT(d->kind, ==, COATI_EVENT_BREAKPOINT);
	CHECK_INT(d->attr.type, ==, COATI_TYPE_BREAKPOINT);
	CHECK_INT(d->attr.bp_type, ==, COATI_BP_W);
	CHECK_U64(d->attr.config1, ==, 0x1000);
	CHECK_U64(d->attr.config2, ==, 8);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_STR(d->name, "mem:0x1000/8:w:u");
	d = coati_event_list_get(list, 1);
	CHECK_INT(d->attr.bp_type, ==, COATI_BP_RW);
	CHECK_U64(d->attr.config1, ==, 4096);
	CHECK_U64(d->attr.config2, ==, 4);
	CHECK_STR(coati_event_list_get(list, 2)->name, "watch");
	d = coati_event_list_get(list, 3);
	CHECK_INT(d->attr.bp_type, ==, COATI_BP_RW);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_EXCLUDE_USER | COATI_ATTR_EXCLUDE_HV);
	coati_event_list_free(list);
}

TEST(breakpoint_errors_point_into_the_text)
{
	struct coati_event_list *list = list_over_fake_trees();

	events_refused(list, "mem:", -EINVAL, 5, "expected the address");
	events_refused(list, "mem:main", -EINVAL, 5, "found 'main'");
	events_refused(list, "cs,mem:0x1000/9", -EINVAL, 4, "9");
	events_refused(list, "mem:0x1000/0", -EINVAL, 12, "at least 1");
	events_refused(list, "mem:0x1000:wq", -EINVAL, 13, "letters of r w x");
	events_refused(list, "mem:0x1007/4:w", -EINVAL, 1, "");
	events_refused(list, "mem:0x1000:rwx", -EINVAL, 1, "");
	coati_event_list_free(list);
}

TEST(probe_paths_may_be_quoted)
{
	struct coati_event_list *list = list_over_fake_trees();
	const char *tail = ":main";
	char text[600];

	snprintf(text, sizeof(text), "uprobe:'/nonexistent/a:b,c'%s", tail);
	events_refused(list, text, -ENOENT, 1, "/nonexistent/a:b,c");
	events_refused(list, "cs,u:/nonexistent/x:main", -ENOENT, 4, "/nonexistent/x");
	events_refused(list, "ur:/nonexistent/x:main+0x10:u", -ENOENT, 1, "/nonexistent/x");
	events_refused(list, "usdt:/nonexistent/x:libc:setjmp", -ENOENT, 1, "/nonexistent/x");
	coati_event_list_free(list);
}

TEST(probe_errors_say_what_was_expected)
{
	struct coati_event_list *list = list_over_fake_trees();

	events_refused(list, "uprobe:", -EINVAL, 8, "expected the path");
	events_refused(list, "uprobe:/x", -EINVAL, 10, "expected ':' and a symbol");
	events_refused(list, "uprobe:/x:", -EINVAL, 11, "expected a symbol");
	events_refused(list, "uprobe:/x:main+", -EINVAL, 16, "expected an offset");
	events_refused(list, "uprobe:/x:main+zz", -EINVAL, 16, "found 'zz'");
	events_refused(list, "uprobe:/x:+3", -EINVAL, 11, "a symbol before '+'");
	events_refused(list, "uprobe:'/x:main", -EINVAL, 8, "not closed");
	events_refused(list, "usdt:/x", -EINVAL, 8, "a provider");
	events_refused(list, "usdt:/x:libc", -EINVAL, 13, "name of a probe");
	events_refused(list, "usdt:/x:libc:", -EINVAL, 14, "name of a probe");
	events_refused(list, "kprobe:", -EINVAL, 8, "expected a symbol");
	events_refused(list, "kprobe:do_sys_open", -EOPNOTSUPP, 1, "");
	coati_event_list_free(list);
}
