/* SPDX-License-Identifier: MIT */
/* The names of this kernel: its formats parse, its catalog can be typed, our word on filters is
 * the kernel's. */
#include "need.h"

#include <limits.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "event/catalog.h"
#include "event/filter.h"
#include "event/tracefs.h"

/* Every tracepoint of this kernel. */
static uint32_t for_each_tracepoint(const char *tracefs,
				    void (*fn)(const char *tracefs, const char *system,
					       const char *name))
{
	struct dir_names systems, names;
	struct arena arena;
	uint32_t count = 0;

	coati_arena_init(&arena, 64 << 20);
	CHECK_OK(coati_tracefs_systems(tracefs, &arena, &systems));
	for (size_t i = 0; i < systems.len; i++) {
		CHECK_OK(coati_tracefs_events(tracefs, systems.v[i], &arena, &names));
		for (size_t j = 0; j < names.len; j++, count++)
			fn(tracefs, systems.v[i], names.v[j]);
	}
	coati_arena_fini(&arena);
	return count;
}

static void check_format(const char *tracefs, const char *system, const char *name)
{
	struct coati_tp_format f;
	struct arena arena;
	uint64_t id = 0;
	int r;

	coati_arena_init(&arena, 1 << 20);
	r = coati_tracefs_read_format(tracefs, system, name, &arena, &f);
	if (r < 0 || strcmp(f.name, name) != 0)
		test_fail_at(__FILE__, __LINE__, "%s:%s: %s", system, name, coati_errno_name(r));
	if (coati_tracefs_id(tracefs, system, name, &id, NULL) == 0)
		CHECK_U64(f.id, ==, id);
	CHECK_INT(f.nr_common, >=, 4);
	CHECK(coati_tp_format_find(&f, "common_pid") != NULL);
	CHECK_OK(coati_filter_check("common_pid != 3 && comm ~ 'x*'", &f, NULL));
	for (uint32_t i = 0; i < f.nr_fields; i++) {
		const struct coati_tp_field *field = &f.fields[i];

		CHECK(field->name[0] && field->type[0]);
		CHECK(!field->array_len || field->size % field->array_len == 0);
	}
	coati_arena_fini(&arena);
}

TEST(events_every_format_of_this_kernel_parses)
{
	CHECK_INT(for_each_tracepoint(need_tracefs(), check_format), >, 50);
}

TEST(events_every_name_in_the_catalogue_can_be_typed)
{
	struct coati_catalog_opts opts = { .size = sizeof(opts), .tracefs = need_tracefs() };
	struct coati_event_list *list = NULL;
	struct coati_catalog *cat = NULL;
	struct coati_event_info info;
	struct coati_error err;
	uint32_t tracepoints = 0;
	int r;

	CHECK_OK(coati_event_list_new(NULL, &list, &err));
	CHECK_OK(coati_catalog_open(&opts, &cat, &err));
	while ((r = coati_catalog_next(cat, &info)) > 0) {
		bool is_form = strchr(info.name, '[') || strstr(info.name, "SYMBOL") ||
			       strstr(info.name, "NAME") || strstr(info.name, "HEX");

		if (!is_form && coati_event_list_add(list, info.name, &err) < 0)
			test_fail_at(__FILE__, __LINE__, "%s: %s", info.name, err.text);
		tracepoints += info.kind == COATI_EVENT_TRACEPOINT;
	}
	CHECK_INT(r, ==, 0);
	CHECK_INT(tracepoints, >, 50);
	CHECK(coati_catalog_gap(cat, 0) == NULL);
	coati_catalog_close(cat);
	coati_event_list_free(list);
}

TEST(events_software_events_are_said_to_be_available)
{
	struct coati_catalog_opts opts = { .size = sizeof(opts),
					   .kinds = UINT32_C(1) << COATI_EVENT_SOFTWARE,
					   .probe = 1 };
	struct coati_catalog *cat = NULL;
	struct coati_event_info info;

	need_perf();
	CHECK_OK(coati_catalog_open(&opts, &cat, NULL));
	while (coati_catalog_next(cat, &info) > 0) {
		if (strcmp(info.name, "page-faults") == 0)
			CHECK_INT(info.available, ==, 1);
	}
	coati_catalog_close(cat);
}

/* The kernel's word: it takes one filter in the life of an event. */
static bool kernel_takes(const struct coati_attr *attr, const char *filter)
{
	struct coati_event *ev = opened(attr, NULL);
	int r = coati_event_set_filter(ev, filter, NULL);

	coati_event_close(&ev);
	return r == 0;
}

static void check_same_word(const char *tracefs, const char *tracepoint, const char *filter)
{
	char system[64];
	const char *name = strchr(tracepoint, ':') + 1;
	struct coati_error err = { 0 };
	struct coati_tp_format f;
	struct coati_attr attr;
	struct arena arena;
	int ours;

	snprintf(system, sizeof(system), "%.*s", (int)(name - tracepoint - 1), tracepoint);
	attr = need_tracepoint(system, name);
	coati_arena_init(&arena, 1 << 20);
	CHECK_OK(coati_tracefs_read_format(tracefs, system, name, &arena, &f));
	ours = coati_filter_check(filter, &f, &err);
	if ((ours == 0) != kernel_takes(&attr, filter))
		test_fail_at(__FILE__, __LINE__, "%s \"%s\": we say %s", tracepoint, filter,
			     ours ? err.text : "right");
	coati_arena_fini(&arena);
}

TEST(events_our_word_on_filters_is_the_kernels)
{
	static const char *const filters[] = {
		"prev_pid == 0",
		"!prev_pid == 0 && (next_pid > 3 || prev_prio <= 100)",
		"!!(prev_pid == 0)",
		"prev_comm == \"x\"",
		"prev_comm ~ 'x*'",
		"prev_comm.ustring ~ \"x\"",
		"prev_comm == \"\"",
		"prev_pid & 3 && next_pid&1",
		"prev_pid == -1",
		"prev_pid == 0x10 || prev_pid == 010",
		"prev_pid == 2147483648",
		"common_type == 70000",
		"comm == \"x\" && COMM != 'y'",
		"cpu == 1 || CPU > 0",
		"0",
		"prev_pid",
		"prev_pid = 0",
		"prev_comm == x",
		"prev_comm == 3",
		"prev_comm < \"a\"",
		"prev_pid ~ \"3\"",
		"prev_pid == \"3\"",
		"prev_pid == 08",
		"prev_pid == +3",
		"prev_pid == ~1",
		"prev_pid == - 1",
		"prev_pid == 0x",
		"prev_pid == 3x",
		"prev_pid == 99999999999999999999",
		"prev_state == 18446744073709551615",
		"common_type == -1",
		"nofield == 1",
		"(prev_pid == 0",
		"prev_pid == 0)",
		"()",
		"!",
		"prev_pid == 0 & next_pid == 1",
		"prev_pid == 0 next_pid == 1",
		"prev_pid==1 && || prev_pid == 2",
		"prev_pid == 1;",
		"prev_comm == \"x",
		"prev_comm !~ \"x\"",
		"prev_pid.function == schedule",
		"prev_state.function > schedule",
		"prev_pid .ustring == 3",
	};
	const char *tracefs = need_tracefs();

	need_root();
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		check_same_word(tracefs, "sched:sched_switch", filters[i]);
	check_same_word(tracefs, "syscalls:sys_enter_openat", "filename == \"x\"");
	check_same_word(tracefs, "syscalls:sys_enter_openat", "filename.ustring ~ \"*x\"");
	check_same_word(tracefs, "syscalls:sys_enter_openat", "filename == 3");
	check_same_word(tracefs, "syscalls:sys_enter_openat", "filename & 3");
	check_same_word(tracefs, "syscalls:sys_enter_openat", "dfd == -1");
	check_same_word(tracefs, "syscalls:sys_enter_openat", "dfd == 0xffffffffffffffff");
}

TEST(events_without_tracefs_the_mount_command_is_said)
{
	char buf[PATH_MAX];
	struct coati_error err = { 0 };

	if (coati_tracefs_find(NULL, buf, sizeof(buf), &err) == 0)
		test_skip("tracefs is mounted");
	if (err.code == -ENOENT)
		CHECK_HAS(err.text, "mount -t tracefs nodev /sys/kernel/tracing");
	else
		CHECK_HAS(err.text, "mount -o remount");
}

TEST(events_a_tracefs_that_may_not_be_read_is_said_with_the_remedy)
{
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };
	const char *tracefs = need_tracefs();

	need_root();
	become_nobody();
	CHECK_OK(coati_event_list_new(NULL, &list, &err));
	if (coati_event_list_add(list, "cs,sched:sched_switch", &err) == 0)
		test_skip("%s can be read by everyone", tracefs);
	CHECK_INT(err.code, ==, -EACCES);
	CHECK_INT(err.column, ==, 4);
	CHECK_HAS(err.text, "as root: mount -o remount,mode=750,gid=65534 /sys/kernel/tracing");
	coati_event_list_free(list);
}
