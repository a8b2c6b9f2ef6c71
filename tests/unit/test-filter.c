/* SPDX-License-Identifier: MIT */
/* Filters: checked against formats, bound to events. */
#include "lib/events.h"
#include "lib/fake-tree.h"

#include "base/alloc.h"
#include "event/filter.h"
#include "event/tracefs.h"

static void read_format(const char *system, const char *name, struct arena *arena,
			struct coati_tp_format *ret)
{
	CHECK_OK(fake_tracefs("tracing"));
	coati_arena_init(arena, 1 << 20);
	CHECK_OK(coati_tracefs_read_format("tracing", system, name, arena, ret));
}

TEST(filter_takes_what_the_kernel_takes)
{
	static const char *const texts[] = {
		"prev_pid == 0",
		"prev_pid==0",
		"(prev_pid == 0)",
		"!(prev_pid == 0)",
		"!prev_pid == 0",
		"!!prev_pid == 0",
		"! prev_pid == 1",
		"prev_pid == 0 && next_pid > 3 || prev_prio < 100",
		"prev_pid == 0||next_pid == 1",
		"((((prev_pid == 0))))",
		"!(!(prev_pid == 1))",
		"prev_comm == \"x\"",
		"prev_comm == 'x y && z'",
		"prev_comm != \"x\"",
		"prev_comm == \"\"",
		"prev_comm ~ \"x*\"",
		"prev_comm.ustring ~ \"x\"",
		"prev_comm == \"x\"&&prev_pid==1",
		"prev_pid & 3",
		"prev_pid&1",
		"prev_pid & 1 && next_pid == 3",
		"prev_pid == -1",
		"prev_pid == 0x10",
		"prev_pid == 010",
		"prev_pid <= 5 && prev_pid >= 3 && prev_pid != 4",
		"prev_pid == 2147483648",
		"prev_state == -9223372036854775808",
		"common_pid == 3",
		"common_type == 70000",
		"common_preempt_count == 1",
		"comm == \"x\"",
		"COMM == 'x'",
		"cpu == 1",
		"CPU > 1",
		"CPU == CPUS{0-1}",
		"CPU & CPUS{0}",
		"prev_pid == CPUS{0}",
		"prev_state.function == schedule",
		"prev_state.function != 0xffffffff81000000 && cpu == 1",
		"(prev_state.function == schedule)",
		"prev_pid  ==\t3",
	};
	struct coati_tp_format format;
	struct coati_error err;
	struct arena arena;

	read_format("sched", "sched_switch", &arena, &format);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (coati_filter_check(texts[i], &format, &err) < 0)
			test_fail_at(__FILE__, __LINE__, "%s: column %d: %s", texts[i], err.column,
				     err.text);
		CHECK_OK(coati_filter_check(texts[i], NULL, NULL));
	}
	coati_arena_fini(&arena);
}

TEST(filter_refuses_with_column_and_reason)
{
	static const struct {
		const char *text;
		int code, column;
		const char *part;
	} rows[] = {
		{ "", -EINVAL, 1, "expected a field" },
		{ "   ", -EINVAL, 4, "expected a field" },
		{ "0", -ENOENT, 1, "no field '0'" },
		{ "prev_pid", -EINVAL, 9, "expected an operator" },
		{ "prev_pid = 0", -EINVAL, 10, "expected an operator" },
		{ "prev_pid ! 1", -EINVAL, 10, "expected an operator" },
		{ "prev_pid && 1", -EINVAL, 10, "expected an operator" },
		{ "prev_pid ==", -EINVAL, 12, "expected a number" },
		{ "prev_pid == x", -EINVAL, 13, "expected a number, found 'x'" },
		{ "prev_pid == +3", -EINVAL, 13, "expected a number" },
		{ "prev_pid == ~1", -EINVAL, 13, "expected a number" },
		{ "prev_pid == - 1", -EINVAL, 13, "not a number" },
		{ "prev_pid == 08", -EINVAL, 13, "'08' is not a number" },
		{ "prev_pid == 0x", -EINVAL, 13, "not a number" },
		{ "prev_pid == 0xfg", -EINVAL, 13, "not a number" },
		{ "prev_pid == 3x", -EINVAL, 13, "'3x' is not a number" },
		{ "prev_pid == 99999999999999999999", -EINVAL, 13, "not a number" },
		{ "prev_state == 18446744073709551615", -EINVAL, 15, "not a number that field" },
		{ "common_type == -1", -EINVAL, 16, "not a number that field" },
		{ "prev_pid == \"3\"", -EINVAL, 13, "is a number" },
		{ "prev_pid ~ \"3\"", -EINVAL, 12, "is a number" },
		{ "prev_pid ~ 3", -EINVAL, 10, "operator '~' does not go with a number" },
		{ "prev_comm == x", -EINVAL, 14, "expected a text in quotes" },
		{ "prev_comm == 3", -EINVAL, 14, "is text" },
		{ "prev_comm < \"a\"", -EINVAL, 11, "operator '<'" },
		{ "prev_comm & \"a\"", -EINVAL, 11, "operator '&'" },
		{ "prev_comm == \"x", -EINVAL, 14, "not closed" },
		{ "prev_comm !~ \"x\"", -EINVAL, 11, "expected an operator" },
		{ "nofield == 1", -ENOENT, 1, "there are: prev_comm prev_pid" },
		{ "cpu == 1 && prev_pdi == 1", -ENOENT, 13, "did you mean 'prev_pid'?" },
		{ "(prev_pid == 0", -EINVAL, 15, "or ')'" },
		{ "prev_pid == 0)", -EINVAL, 14, "or the end" },
		{ "prev_pid == 0 &&", -EINVAL, 17, "expected a field" },
		{ "&& prev_pid", -EINVAL, 1, "expected a field" },
		{ "prev_pid==1 && || cpu == 2", -EINVAL, 16, "expected a field" },
		{ "prev_pid == 0 & next_pid == 1", -EINVAL, 15, "or the end" },
		{ "prev_pid == 0 next_pid == 1", -EINVAL, 15, "or the end" },
		{ "prev_pid == 1;", -EINVAL, 14, "or the end" },
		{ "!", -EINVAL, 2, "expected a field" },
		{ "()", -EINVAL, 2, "expected a field" },
		{ "prev_pid < CPUS{0}", -EINVAL, 10, "CPUS" },
		{ "prev_comm == CPUS{0}", -EINVAL, 14, "is text" },
		{ "CPU == CPUS{}", -EINVAL, 13, "list of CPUs" },
		{ "CPU == CPUS{x}", -EINVAL, 13, "list of CPUs" },
		{ "CPU == CPUS{0", -EINVAL, 8, "not closed" },
		{ "CPU == CPUS 0", -EINVAL, 13, "'{'" },
		{ "prev_pid.function == schedule", -EINVAL, 9, "as large as an address" },
		{ "prev_state.function > schedule", -EINVAL, 21, "operator '>'" },
		{ "prev_state.function == ", -EINVAL, 24, "name or address of a function" },
		{ "prev_pid.ustring == 3", -EINVAL, 9, ".ustring" },
		{ "prev_pid.other == 3", -EINVAL, 9, ".ustring or .function" },
		{ "prev_pid .ustring == 3", -EINVAL, 10, "expected an operator" },
	};
	struct coati_tp_format format;
	struct arena arena;

	read_format("sched", "sched_switch", &arena, &format);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct coati_error err = { 0 };
		int r = coati_filter_check(rows[i].text, &format, &err);

		if (r != rows[i].code || err.column != rows[i].column ||
		    !strstr(err.text, rows[i].part))
			test_fail_at(__FILE__, __LINE__, "%s: %d, column %d: %s", rows[i].text, r,
				     err.column, err.text);
	}
	coati_arena_fini(&arena);
}

TEST(filter_knows_texts_behind_pointers_and_offsets_and_masks)
{
	struct coati_tp_format format;
	struct arena arena;

	read_format("syscalls", "sys_enter_openat", &arena, &format);
	CHECK_OK(coati_filter_check("filename.ustring == '/etc/passwd'", &format, NULL));
	CHECK_OK(coati_filter_check("filename ~ '*x' && dfd == 0xffffffffffffffff", &format, NULL));
	CHECK_ERR(coati_filter_check("filename == 3", &format, NULL), -EINVAL);
	CHECK_ERR(coati_filter_check("dfd == -1", &format, NULL), -EINVAL);
	coati_arena_fini(&arena);
	read_format("block", "block_rq_issue", &arena, &format);
	CHECK_OK(coati_filter_check("cmd == 'x' && cpumask & CPUS{0-3}", &format, NULL));
	CHECK_ERR(coati_filter_check("cpumask == 'x'", &format, NULL), -EINVAL);
	coati_arena_fini(&arena);
}

TEST(filter_has_limits_on_depth_and_length)
{
	char text[5000];
	struct coati_error err;

	memset(text, '(', sizeof(text));
	text[200] = '\0';
	CHECK_ERR(coati_filter_check(text, NULL, &err), -E2BIG);
	CHECK_INT(err.column, ==, 65);
	memset(text, 'a', sizeof(text));
	text[4096] = '\0';
	CHECK_ERR(coati_filter_check(text, NULL, &err), -E2BIG);
	memset(text, '!', sizeof(text)); /* many, but not deep */
	memcpy(text + 4000, "cpu == 1", 9);
	CHECK_OK(coati_filter_check(text, NULL, &err));
}

TEST(filter_binds_to_the_tracepoints_of_the_last_add)
{
	struct coati_event_list *list;
	struct coati_error err;

	CHECK_OK(fake_tracefs("tracing"));
	list = events_new(NULL, "tracing");
	CHECK_OK(coati_event_list_add(list, "sched:sched_switch", &err));
	CHECK_OK(coati_event_list_add(list, "cs,sched:sched_wakeup/name=w/,syscalls:*", &err));
	CHECK_ERR(coati_event_list_filter(list, "pid == 3", &err), -ENOENT);
	CHECK_HAS(err.text, "'sys_enter_openat' has no field 'pid'");
	CHECK_STR(coati_event_list_get(list, 2)->filter, "");
	CHECK_OK(coati_event_list_filter(list, "common_pid == 3", &err));
	CHECK_OK(coati_event_list_filter(list, "cpu == 1 || cpu == 2", &err));
	CHECK_STR(coati_event_list_get(list, 0)->filter, "");
	CHECK_STR(coati_event_list_get(list, 1)->filter, "");
	CHECK_STR(coati_event_list_get(list, 2)->filter,
		  "(common_pid == 3) && (cpu == 1 || cpu == 2)");
	CHECK_STR(coati_event_list_get(list, 2)->name, "w");
	CHECK_STR(coati_event_list_get(list, 2)->tracepoint, "sched:sched_wakeup");
	CHECK_STR(coati_event_list_get(list, 3)->filter,
		  "(common_pid == 3) && (cpu == 1 || cpu == 2)");
	coati_event_list_free(list);
}

TEST(filter_needs_a_tracepoint_before_it)
{
	struct coati_event_list *list;
	struct coati_error err;

	CHECK_OK(fake_tracefs("tracing"));
	list = events_new(NULL, "tracing");
	CHECK_ERR(coati_event_list_filter(list, "cpu == 1", &err), -EINVAL);
	CHECK_OK(coati_event_list_add(list, "cs", &err));
	CHECK_ERR(coati_event_list_filter(list, "cpu == 1", &err), -EINVAL);
	CHECK_HAS(err.text, "there is none before it");
	CHECK_ERR(coati_event_list_filter(NULL, "cpu == 1", &err), -EINVAL);
	CHECK_ERR(coati_event_list_filter(list, NULL, &err), -EINVAL);
	CHECK_OK(coati_event_list_add(list, "2:314", &err));
	CHECK_OK(coati_event_list_filter(list, "anything == 1", &err));
	CHECK_OK(coati_event_list_add(list, "odd:bad_format", &err));
	CHECK_ERR(coati_event_list_filter(list, "cpu == 1", &err), -EBADMSG);
	CHECK_HAS(err.text, "odd:bad_format");
	coati_event_list_free(list);
}

TEST(filter_joined_ones_stay_within_the_limit)
{
	struct coati_event_list *list;
	struct coati_error err;
	char text[2100];

	CHECK_OK(fake_tracefs("tracing"));
	list = events_new(NULL, "tracing");
	CHECK_OK(coati_event_list_add(list, "sched:sched_switch", &err));
	memset(text, '!', sizeof(text));
	memcpy(text + sizeof(text) - 9, "cpu == 1", 9);
	CHECK_OK(coati_event_list_filter(list, text, &err));
	CHECK_ERR(coati_event_list_filter(list, text, &err), -E2BIG);
	CHECK_STR(coati_event_list_get(list, 0)->filter, text);
	coati_event_list_free(list);
}

TEST(filter_survives_each_failing_allocation)
{
	struct coati_event_list *list;
	struct coati_error err;
	uint64_t n = 0;
	int r;

	CHECK_OK(fake_tracefs("tracing"));
	list = events_new(NULL, "tracing");
	CHECK_OK(coati_event_list_add(list, "sched:sched_switch,sched:sched_wakeup", &err));
	do {
		coati_alloc_fail_after(n++);
		r = coati_event_list_filter(list, "cpu == 1", &err);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		CHECK_STR(coati_event_list_get(list, 1)->filter, r ? "" : "cpu == 1");
	} while (r < 0);
	CHECK_U64(n, >, 4);
	coati_event_list_free(list);
}
