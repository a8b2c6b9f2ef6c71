/* SPDX-License-Identifier: MIT */
/* Time off the CPUs out of context switches whose times are known: paired, at the edges, and where
 * something is missing. */
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

#include "lib/fake-tree.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "unit/profile-tape.h"

#define OFF_EVENT 1 /* of the tapes here */
#define PID	  10
#define PREEMPTED (COATI_MISC_SWITCH_OUT | COATI_MISC_SWITCH_OUT_PREEMPT)

static void open_tape(struct tape *t, uint64_t attr_flags)
{
	tape_program();
	tape_begin(t, "a");
	t->time = 0;
	t->attr_flags = COATI_ATTR_CONTEXT_SWITCH | attr_flags;
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", COATI_SAMPLE_CALLCHAIN);
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CONTEXT_SWITCHES, COATI_OFF_CPU_EVENT,
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(t);
	tape_process(t, PID, "app");
}

static void put_in(struct tape *t, uint32_t tid, uint64_t time)
{
	tape_switch(t, PID, tid, time, 0);
}

/* With the stack main, work, at the same time. */
static void put_out(struct tape *t, uint32_t tid, uint64_t time, uint16_t misc)
{
	tape_put(t, (struct tape_sample){ .event = OFF_EVENT,
					  .pid = PID,
					  .tid = tid,
					  .time = time,
					  TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	tape_switch(t, PID, tid, time, misc);
}

static void put_task(struct tape *t, uint32_t type, uint32_t tid, uint64_t time)
{
	struct coati_record rec = { .type = type, .id = { .pid = PID, .tid = tid, .time = time } };

	rec.u.task = (struct coati_task){ .pid = PID, .tid = tid, .ppid = PID, .ptid = PID };
	tape_record(t, &rec);
}

static void put_lost(struct tape *t, uint32_t cpu, uint64_t time)
{
	struct coati_record rec = { .type = COATI_RECORD_LOST,
				    .id = { .pid = PID, .tid = PID, .time = time, .cpu = cpu },
				    .u.lost = { .id = 100, .lost = 2 } };

	tape_record(t, &rec);
}

/* What the recorder says of itself. */
static void close_tape(struct tape *t, const char *account)
{
	if (account)
		CHECK_OK(coati_writer_feature(t->writer, COATI_FEATURE_RECORDER, account,
					      strlen(account)));
	tape_close(t);
}

static struct coati_profile *read_with(const struct coati_filter *f, uint64_t bin_ns)
{
	struct coati_profile_opts o = { .size = sizeof(o), .filter = f, .bin_ns = bin_ns };

	return tape_read(&o, (const char *const[]){ "a", NULL });
}

static struct coati_view *view_of(struct coati_profile *p, uint32_t flags)
{
	struct coati_view_opts o = { .size = sizeof(o), .flags = flags };
	struct coati_view *v = NULL;

	CHECK_OK(coati_view_new(p, &o, &v, NULL));
	return v;
}

static uint64_t off_ns(const struct coati_profile *p)
{
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(p, &q);
	return q.off_ns;
}

static uint64_t unpaired(const struct coati_profile *p)
{
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(p, &q);
	return q.off_unpaired;
}

static uint64_t total_of(struct coati_profile *p, enum coati_by by, const char *name)
{
	struct coati_view *v = view_of(p, COATI_VIEW_NO_ON_CPU);
	uint64_t total = tape_row(v, by, name).total;

	coati_view_free(&v);
	return total;
}

TEST(off_cpu_time_lies_between_out_and_in_on_the_stack_of_the_out)
{
	struct tape t;
	struct coati_profile *p;

	open_tape(&t, 0);
	put_in(&t, PID, 100000);
	put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 230000);
	put_out(&t, PID, 300000, PREEMPTED);
	put_in(&t, PID, 305000);
	close_tape(&t, "begin_ns=100000\nend_ns=400000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 35000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "work"), ==, 35000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[preempted]"), ==, 5000);
	CHECK_U64(total_of(p, COATI_BY_WAIT, "preempted"), ==, 5000);
	CHECK_U64(total_of(p, COATI_BY_WAIT, "unknown"), ==, 30000);
	CHECK_U64(unpaired(p), ==, 0);
	coati_profile_free(&p);
}

TEST(off_cpu_intervals_are_no_samples_and_views_take_either_or_both)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	open_tape(&t, 0);
	tape_put(&t, (struct tape_sample){ .pid = PID, .time = 100000, TAPE_STACK(TAPE_LEAF) });
	put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 230000);
	close_tape(&t, NULL);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 1);
	CHECK_U64(q.complete + q.unrooted, ==, 1);
	CHECK_U64(q.off_intervals, ==, 1);
	v = view_of(p, COATI_VIEW_NO_OFF_CPU);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 1000);
	coati_view_free(&v);
	v = view_of(p, COATI_VIEW_NO_ON_CPU);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 30000);
	coati_view_free(&v);
	v = view_of(p, 0);
	coati_view_info(v, &info);
	CHECK_U64(info.total, ==, 31000);
	CHECK_STR(info.unit, "ns");
	CHECK_U64(tape_row(v, COATI_BY_WAIT, "running").total, ==, 1000);
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(off_cpu_without_stacks_still_knows_how_long)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 100000);
	tape_switch(&t, PID, PID, 200000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 220000);
	tape_switch(&t, PID, PID, 300000, PREEMPTED);
	put_in(&t, PID, 301000);
	close_tape(&t, "begin_ns=100000\nend_ns=400000\n");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.off_no_stack, ==, 2);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[off-CPU]"), ==, 20000);
	CHECK_U64(total_of(p, COATI_BY_WAIT, "unknown"), ==, 20000);
	CHECK_U64(total_of(p, COATI_BY_WAIT, "preempted"), ==, 1000);
	coati_profile_free(&p);
}

TEST(off_cpu_time_at_the_edges_counts_up_to_them)
{
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 150000);
	put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
	close_tape(&t, "begin_ns=100000\nend_ns=500000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 350000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[off-CPU since before the recording]"), ==,
		  50000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "work"), ==, 300000);
	coati_profile_free(&p);
}

TEST(off_cpu_time_since_before_the_recording_has_the_stack_that_the_recorder_found)
{
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	/* the recorder looks a little after the beginning; a thread that runs again is left alone
	 *  */
	tape_put(&t, (struct tape_sample){ .event = OFF_EVENT,
					   .pid = PID,
					   .time = 101000,
					   TAPE_STACK(TAPE_WORK, TAPE_MAIN) });
	put_in(&t, PID, 150000);
	tape_switch(&t, PID, PID, 200000, COATI_MISC_SWITCH_OUT);
	close_tape(&t, "begin_ns=100000\nend_ns=500000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 350000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[off-CPU since before the recording]"), ==, 0);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "work"), ==, 50000);
	CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[off-CPU]"), ==, 300000);
	coati_profile_free(&p);
}

TEST(off_cpu_threads_wait_for_a_cpu_from_their_start_and_for_nothing_after_their_end)
{
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_task(&t, COATI_RECORD_FORK, 11, 200000);
	put_in(&t, 11, 203000);
	put_out(&t, 11, 210000, COATI_MISC_SWITCH_OUT);
	put_in(&t, 11, 240000);
	put_task(&t, COATI_RECORD_EXIT, 11, 250000);
	put_out(&t, 11, 251000, COATI_MISC_SWITCH_OUT); /* seen where CPUs are watched */
	close_tape(&t, "begin_ns=100000\nend_ns=500000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 33000);
	CHECK_U64(total_of(p, COATI_BY_WAIT, "runnable"), ==, 3000);
	CHECK_U64(unpaired(p), ==, 0);
	coati_profile_free(&p);
}

TEST(off_cpu_number_of_a_thread_that_ended_is_given_to_another)
{
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_task(&t, COATI_RECORD_FORK, 11, 200000);
	put_in(&t, 11, 201000);
	put_task(&t, COATI_RECORD_EXIT, 11, 210000);
	put_task(&t, COATI_RECORD_FORK, 11, 300000);
	put_in(&t, 11, 302000);
	close_tape(&t, "begin_ns=100000\nend_ns=500000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 3000);
	coati_profile_free(&p);
}

TEST(off_cpu_of_a_command_begins_at_its_exec)
{
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_begin(&t, "a");
	t.time = 0;
	t.attr_flags = COATI_ATTR_CONTEXT_SWITCH | COATI_ATTR_ENABLE_ON_EXEC;
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	tape_start(&t);
	tape_switch(&t, PID, PID, 20000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 90000);
	tape_comm(&t, PID, PID, "app", COATI_MISC_COMM_EXEC);
	tape_switch(&t, PID, PID, 100000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 140000);
	close_tape(&t, "begin_ns=0\nend_ns=150000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 40000);
	CHECK_U64(unpaired(p), ==, 0);
	coati_profile_free(&p);
}

TEST(off_cpu_unpaired_switches_are_counted_and_not_guessed)
{
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 100000);
	put_in(&t, PID, 200000); /* when did it leave? */
	put_out(&t, PID, 210000, COATI_MISC_SWITCH_OUT);
	put_out(&t, PID, 300000, COATI_MISC_SWITCH_OUT); /* when did it come back? */
	put_in(&t, PID, 301000);
	close_tape(&t, "begin_ns=100000\nend_ns=400000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 1000);
	CHECK_U64(unpaired(p), ==, 2);
	coati_profile_free(&p);
}

/* On CPU 1 something is lost after 220000, which is told at 400000, long after the thread has come
 * back on CPU 0. */
static void write_lossy(const char *account)
{
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 100000);
	tape_put(&t, (struct tape_sample){
			     .pid = 77, .cpu = 1, .time = 220000, TAPE_STACK(TAPE_LEAF) });
	put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 300000); /* it may have been on CPU 1 in between */
	put_out(&t, PID, 310000, COATI_MISC_SWITCH_OUT);
	put_lost(&t, 1, 400000);
	put_in(&t, PID, 410000); /* the same */
	put_out(&t, PID, 420000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 425000);
	close_tape(&t, account);
}

TEST(off_cpu_time_in_which_something_was_lost_does_not_count)
{
	struct coati_profile *p;

	write_lossy("begin_ns=100000\nend_ns=500000\nlost=2\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 5000);
	CHECK_U64(unpaired(p), ==, 2);
	coati_profile_free(&p);
}

TEST(off_cpu_of_a_recorder_that_tells_no_losses_drops_what_is_open_at_a_loss)
{
	struct coati_profile *p;

	write_lossy("begin_ns=100000\nend_ns=500000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), ==, 105000);
	CHECK_U64(unpaired(p), ==, 1);
	coati_profile_free(&p);
}

static void write_long(void)
{
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 1000000);
	put_out(&t, PID, 1500000, COATI_MISC_SWITCH_OUT);
	put_in(&t, PID, 3200000);
	close_tape(&t, "begin_ns=1000000\nend_ns=4000000\n");
}

TEST(off_cpu_time_is_cut_where_the_filter_cuts)
{
	struct coati_filter f = { .size = sizeof(f), .time = "1ms-2ms" };
	struct coati_profile *p;

	write_long();
	p = read_with(&f, 0);
	CHECK_U64(off_ns(p), ==, 1000000);
	coati_profile_free(&p);
}

TEST(off_cpu_time_is_spread_over_the_bins_it_lies_in)
{
	static const uint64_t expected[] = { 500000, 1000000, 200000 };
	struct coati_profile *p;
	uint64_t sum = 0, count = 0;

	write_long();
	p = read_with(NULL, 1000000);
	CHECK_INT(coati_profile_entry_count(p), ==, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct coati_profile_entry *e = coati_profile_entry(p, i);

		CHECK_INT(e->bin, <, 3);
		CHECK_U64(e->weight, ==, expected[e->bin]);
		sum += e->weight;
		count += e->count;
	}
	CHECK_U64(sum, ==, 1700000);
	CHECK_U64(count, ==, 1);
	coati_profile_free(&p);
}

TEST(off_cpu_time_from_the_start_on_is_spread_over_bins_too)
{
	static const uint64_t expected[] = { 1000000, 1000000, 200000 };
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	put_in(&t, PID, 3200000); /* it was away all the time */
	close_tape(&t, "begin_ns=1000000\nend_ns=3200000\n");
	p = read_with(NULL, 1000000);
	CHECK_INT(coati_profile_entry_count(p), ==, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct coati_profile_entry *e = coati_profile_entry(p, i);

		CHECK_INT(e->bin, ==, i);
		CHECK_U64(e->weight, ==, expected[i]);
		CHECK_U64(e->count, ==, i == 0);
	}
	CHECK_U64(off_ns(p), ==, 2200000);
	coati_profile_free(&p);
}

TEST(off_cpu_filters_by_event_thread_and_cpu_hold)
{
	struct coati_filter by_event = { .size = sizeof(by_event), .event = "cpu-clock" };
	struct coati_filter by_thread = { .size = sizeof(by_thread), .thread = "99" };
	struct coati_filter by_cpu = { .size = sizeof(by_cpu), .cpu = "3" };
	const struct coati_filter *filters[] = { &by_event, &by_thread, &by_cpu };
	struct coati_profile *p;

	write_long();
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		p = read_with(filters[i], 0);
		CHECK_U64(off_ns(p), ==, 0);
		coati_profile_free(&p);
	}
}

TEST(off_cpu_can_be_left_alone)
{
	struct coati_profile_opts o = { .size = sizeof(o), .flags = COATI_PROFILE_NO_OFF_CPU };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_long();
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 1);
	CHECK_U64(q.off_intervals, ==, 0);
	coati_profile_free(&p);
}

/* Nonsense of every kind: times that go back, threads of no number, nobody. */
TEST(off_cpu_of_wild_switches_never_exceeds_the_recording)
{
	uint64_t seed = 12345;
	struct coati_profile *p;
	struct tape t;

	open_tape(&t, 0);
	for (int i = 0; i < 3000; i++) {
		uint32_t tid, what;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		tid = (uint32_t)(seed >> 60);
		what = (uint32_t)(seed >> 40) % 8;
		if (what < 3)
			put_in(&t, tid, 1000 + (seed >> 33) % 1000000);
		else if (what < 6)
			tape_switch(&t, PID, tid, 1000 + (seed >> 33) % 1000000,
				    COATI_MISC_SWITCH_OUT);
		else
			put_task(&t, what == 6 ? COATI_RECORD_FORK : COATI_RECORD_EXIT, tid,
				 1000 + (seed >> 33) % 1000000);
	}
	close_tape(&t, "begin_ns=1000\nend_ns=900000\n");
	p = tape_profile("a");
	CHECK_U64(off_ns(p), >, 0);
	CHECK_U64(off_ns(p), <=, 16u * 899000u);
	coati_profile_free(&p);
}

#define WAKE_EVENT 2
#define WAKE_ID	   7

/* The same with wake-ups. */
static void open_tape_with_wakes(struct tape *t)
{
	tape_program();
	tape_begin(t, "a");
	t->time = 0;
	t->attr_flags = COATI_ATTR_CONTEXT_SWITCH;
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", COATI_SAMPLE_CALLCHAIN);
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CONTEXT_SWITCHES, COATI_OFF_CPU_EVENT,
		   COATI_SAMPLE_CALLCHAIN);
	tape_event(t, COATI_TYPE_TRACEPOINT, WAKE_ID, COATI_OFF_CPU_WAKING, COATI_SAMPLE_RAW);
	CHECK_OK(fake_file("tracefs", "events/header_page", "x\n"));
	CHECK_OK(fake_file("tracefs", "events/header_event", "x\n"));
	CHECK_OK(fake_file("tracefs", "events/sched/sched_waking/id", "7\n"));
	CHECK_OK(fake_file(
		"tracefs", "events/sched/sched_waking/format",
		"name: sched_waking\nID: 7\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"));
	CHECK_OK(coati_writer_tracing_data(t->writer, "tracefs", NULL));
	tape_start(t);
	tape_process(t, PID, "app");
}

static void put_wake(struct tape *t, uint32_t whom, uint64_t time)
{
	const uint32_t payload[4] = { WAKE_ID, 0, whom, 0 };
	struct coati_record rec = { .type = COATI_RECORD_SAMPLE,
				    .id = { .pid = 77, .tid = 77, .time = time, .id = 102 } };

	rec.u.sample = (struct coati_sample){ .present = t->formats[WAKE_EVENT].sample_type,
					      .period = 1,
					      .raw = (const uint8_t *)payload,
					      .raw_size = sizeof(payload) };
	tape_record(t, &rec);
}

TEST(off_cpu_wake_before_the_thread_has_left_its_cpu_makes_it_wait_for_one)
{
	/* only where all wake-ups are recorded can nothing else have brought it back */
	for (uint64_t all = 0; all < 2; all++) {
		struct coati_profile *p;
		char account[80];
		struct tape t;

		open_tape_with_wakes(&t);
		put_in(&t, PID, 150000);
		put_wake(&t, PID, 199000);
		put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
		put_in(&t, PID, 230000);
		/* woken while it went on running: what it sleeps for later has a wake-up of its own
		 *  */
		put_wake(&t, PID, 240000);
		put_out(&t, PID, 250000, COATI_MISC_SWITCH_OUT);
		put_wake(&t, PID, 257000);
		put_in(&t, PID, 260000);
		snprintf(account, sizeof(account), "begin_ns=100000\nend_ns=260000\nwakes_all=%d\n",
			 (int)all);
		close_tape(&t, account);
		p = tape_profile("a");
		CHECK_U64(off_ns(p), ==, 90000);
		CHECK_U64(total_of(p, COATI_BY_WAIT, "runnable"), ==, all ? 33000 : 3000);
		CHECK_U64(total_of(p, COATI_BY_FUNCTION, "[off-CPU since before the recording]"),
			  ==, 50000);
		coati_profile_free(&p);
	}
}

/* A wake-up is no sample, unless the reader asks for them. */
TEST(off_cpu_wakes_are_samples_only_when_they_are_asked_for)
{
	for (uint32_t asked = 0; asked < 2; asked++) {
		struct coati_profile_opts o = { .size = sizeof(o),
						.flags = asked ? COATI_PROFILE_WAKES : 0 };
		struct coati_profile_quality q = { .size = sizeof(q) };
		struct coati_profile *p;
		uint32_t nr = 0;
		struct tape t;

		open_tape_with_wakes(&t);
		put_in(&t, PID, 150000);
		put_out(&t, PID, 200000, COATI_MISC_SWITCH_OUT);
		put_wake(&t, PID, 210000);
		put_wake(&t, PID, 220000);
		put_in(&t, PID, 230000);
		close_tape(&t, "begin_ns=150000\nend_ns=230000\nwakes_all=1\n");
		p = tape_read(&o, (const char *const[]){ "a", NULL });
		for (uint32_t i = 0; i < coati_profile_event_count(p); i++)
			nr += !strcmp(coati_profile_event(p, i)->name, COATI_OFF_CPU_WAKING);
		CHECK_U64(nr, ==, asked);
		coati_profile_quality(p, &q);
		CHECK_U64(q.samples, ==, asked ? 2 : 0);
		CHECK_U64(q.off_ns, ==, 30000);
		coati_profile_free(&p);
	}
}
