/* SPDX-License-Identifier: MIT */
/* Captures of ourselves and of commands: nothing is missing, nothing is counted twice, what is lost
 * is said. */
#include <coati/capture.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/child.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "capture/session.h"
#include "capture/synth.h"
#include "event/event.h"
#include "need.h"
#include "recording/writer.h"

#define OUT "out.data"

static const int32_t self[] = { 0 };
#define ON_SELF .tids = self, .nr_tids = 1

/* What is in a recording. */
struct content {
	uint64_t types[128];
	uint64_t samples[8]; /* by event */
	uint64_t lost, lost_samples, kernel_maps, build_ids;
	uint64_t time_zero_after_init; /* records without time that come too late */
	uint64_t first_sample, last_sample;
	char comms[1 << 18]; /* of every thread of the machine */
	char maps[65536];
};

static void add_text(char *to, size_t size, const char *text)
{
	size_t len = strlen(to);

	if (len + strlen(text) + 2 < size)
		snprintf(to + len, size - len, "%s\n", text);
}

static void take(struct content *c, const struct coati_recording_item *item,
		 const struct coati_record *rec)
{
	c->types[rec->type & 127]++;
	if (rec->type == COATI_RECORD_SAMPLE) {
		c->samples[item->event & 7]++;
		if (!c->first_sample)
			c->first_sample = item->time;
		c->last_sample = item->time;
	}
	if (rec->type == COATI_RECORD_LOST)
		c->lost += rec->u.lost.lost;
	if (rec->type == COATI_RECORD_LOST_SAMPLES)
		c->lost_samples += rec->u.lost_samples;
	if (rec->type == COATI_RECORD_COMM)
		add_text(c->comms, sizeof(c->comms), rec->u.comm.name);
	if (rec->type == COATI_RECORD_MMAP && rec->misc == COATI_MISC_KERNEL)
		c->kernel_maps++;
	if (rec->type == COATI_RECORD_MMAP2) {
		char line[4200];

		snprintf(line, sizeof(line), "%llx-%llx %llx %s",
			 (unsigned long long)rec->u.mmap.addr,
			 (unsigned long long)(rec->u.mmap.addr + rec->u.mmap.len),
			 (unsigned long long)rec->u.mmap.pgoff, rec->u.mmap.name);
		add_text(c->maps, sizeof(c->maps), line);
		c->build_ids += rec->u.mmap.build_id_size != 0;
	}
}

static struct content *read_back(const char *path)
{
	static struct content c;
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_error err = { 0 };
	int n;

	memset(&c, 0, sizeof(c));
	if (coati_recording_open(path, NULL, &r, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	while ((n = coati_recording_next(r, &item)) > 0) {
		const struct coati_sample_format *f =
			coati_format_table_get(coati_recording_formats(r), item.event);

		CHECK(f);
		CHECK_OK(coati_record_decode(&item.raw, f, &rec));
		take(&c, &item, &rec);
	}
	if (n < 0)
		test_fail_at(__FILE__, __LINE__, "%s", coati_recording_error(r)->text);
	coati_recording_close(&r);
	return &c;
}

static struct coati_event_list *list_of(const char *events)
{
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(coati_event_list_new(NULL, &list, &err));
	if (coati_event_list_add(list, events, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return list;
}

/* Every getppid, and nothing else, as a sample. */
static struct coati_event_list *getppid_list(void)
{
	struct coati_event_list *list;
	char filter[64];

	need_perf();
	need_root();
	need_tracefs();
	list = list_of("raw_syscalls:sys_enter");
	snprintf(filter, sizeof(filter), "id == %d", SYS_getppid);
	CHECK_OK(coati_event_list_filter(list, filter, NULL));
	return list;
}

static struct coati_capture *opened_capture(const struct coati_event_list *list,
					    struct coati_capture_opts opts)
{
	struct coati_capture *cap = NULL;
	struct coati_error err = { 0 };

	opts.size = sizeof(opts);
	if (coati_capture_open(list, &opts, &cap, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(err.code, ==, 0);
	return cap;
}

static void begin(struct coati_capture *cap, const char *path, uint64_t max_bytes)
{
	struct coati_writer_opts o = { .size = sizeof(o), .max_bytes = max_bytes };
	struct coati_writer *w = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(coati_writer_open(path, &o, &w, &err));
	if (coati_capture_begin(cap, &w, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK(!w);
}

static void call_many(uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		call_getppid(NULL);
}

static struct coati_capture_stats finish(struct coati_capture **cap)
{
	struct coati_capture_stats st = { .size = sizeof(st) };
	struct coati_error err = { 0 };

	CHECK_OK(coati_capture_stop(*cap, &err));
	if (coati_capture_finish(*cap, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	coati_capture_get_stats(*cap, &st);
	coati_capture_close(cap);
	CHECK(!*cap);
	return st;
}

TEST(capture_has_every_hit_of_a_tracepoint)
{
	struct coati_event_list *list = getppid_list();
	struct coati_capture_opts o = { ON_SELF, .stacks = COATI_STACKS_NONE };
	struct coati_capture *cap = opened_capture(list, o);
	struct coati_capture_stats st = { .size = sizeof(st) };
	struct content *c;

	begin(cap, OUT, 0);
	CHECK_OK(coati_capture_start(cap, NULL));
	call_many(5000);
	st = finish(&cap);
	call_many(10);
	CHECK_U64(st.samples, ==, 5000);
	CHECK_U64(st.lost, ==, 0);
	c = read_back(OUT);
	CHECK_U64(c->samples[0], ==, 5000);
	CHECK_U64(c->samples[1], ==, 0);
	CHECK_U64(c->first_sample, ==, st.first_time);
	CHECK_U64(c->last_sample, ==, st.last_time);
	CHECK_U64(c->types[COATI_RECORD_FINISHED_INIT], ==, 1);
	coati_event_list_free(list);
}

TEST(capture_record_makes_a_file_of_its_own)
{
	struct coati_event_list *list = getppid_list();
	struct coati_capture_opts o = { ON_SELF, .stacks = COATI_STACKS_NONE };
	struct coati_capture *cap = opened_capture(list, o);
	struct coati_error err = { 0 };
	struct content *c;

	CHECK_ERR(coati_capture_record(cap, "none/there", &err), -ENOENT);
	CHECK_HAS(err.text, "none/there");
	CHECK_OK(coati_capture_record(cap, OUT, &err));
	CHECK_ERR(coati_capture_record(cap, "second", &err), -EINVAL);
	CHECK_OK(coati_capture_start(cap, NULL));
	call_many(100);
	CHECK_U64(finish(&cap).samples, ==, 100);
	c = read_back(OUT);
	CHECK_U64(c->samples[0], ==, 100);
	coati_event_list_free(list);
}

TEST(capture_delivers_or_counts_as_lost_whatever_the_ring)
{
	static const uint64_t sizes[] = { 4096, 8192, 65536 };
	struct coati_event_list *list = getppid_list();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct coati_capture_opts o = { ON_SELF, .stacks = COATI_STACKS_NONE,
						.ring_bytes = sizes[i] };
		struct coati_capture *cap = opened_capture(list, o);
		struct coati_capture_stats st = { .size = sizeof(st) };
		struct content *c;

		begin(cap, OUT, 0);
		CHECK_OK(coati_capture_start(cap, NULL));
		for (int round = 0; round < 20; round++) {
			CHECK_OK(coati_capture_set_deadline(cap, 0));
			call_many(1000);
			CHECK_ERR(coati_capture_wait(cap), -ETIMEDOUT);
		}
		call_many(1000);
		st = finish(&cap);
		if (!st.lost_exact)
			test_skip("this kernel does not count losses");
		CHECK_U64(st.lost, >, 0);
		CHECK_U64(st.samples + st.lost, ==, 21000);
		c = read_back(OUT);
		CHECK_U64(c->samples[0], ==, st.samples);
		CHECK_U64(c->lost_samples, ==, st.lost);
		CHECK_U64(c->lost, <=, st.lost);
	}
	coati_event_list_free(list);
}

static struct coati_capture_stats capture_command(const struct coati_event_list *list,
						  const char *const *argv,
						  struct coati_capture_opts o)
{
	struct coati_child *child = NULL;
	struct coati_child_status status = { .size = sizeof(status) };
	struct coati_capture *cap;
	int32_t pid;
	int r;

	CHECK_OK(coati_child_start(argv, NULL, &child, NULL));
	pid = coati_child_pid(child);
	o.flags |= COATI_CAPTURE_ON_EXEC;
	o.pids = &pid;
	o.nr_pids = 1;
	cap = opened_capture(list, o);
	CHECK_OK(coati_child_exec(child, NULL));
	begin(cap, OUT, 0);
	while ((r = coati_capture_wait(cap)) > 0)
		;
	CHECK_INT(r, ==, 0);
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	coati_child_free(&child);
	return finish(&cap);
}

TEST(capture_of_a_command_ends_with_it_and_has_its_life)
{
	const char *const argv[] = { "sh", "-c", "true; exec sleep 0.05", NULL };
	struct coati_event_list *list;
	struct content *c;

	need_perf();
	list = list_of("cpu-clock:u");
	capture_command(list, argv, (struct coati_capture_opts){ 0 });
	c = read_back(OUT);
	CHECK_HAS(c->comms, "sh\n");
	CHECK_HAS(c->comms, "sleep\n");
	CHECK_HAS(c->maps, "libc");
	CHECK_U64(c->types[COATI_RECORD_EXIT], >=, 1);
	CHECK_U64(c->types[COATI_RECORD_MMAP2], >=, 4);
	CHECK_U64(c->build_ids, >, 0);
	/* of what was before the exec only that it was: a child of ours (and the thread of a
	 * sanitizer in it) */
	CHECK_U64(c->types[COATI_RECORD_FORK], >=, 1);
	CHECK_U64(c->types[COATI_RECORD_FORK], <=, 2);
	CHECK(!strstr(c->maps, "kernel-tests"));
	coati_event_list_free(list);
}

TEST(capture_of_a_command_follows_its_children)
{
	const char *const argv[] = { "sh", "-c", "(true; true) & sh -c 'true; true'; wait", NULL };
	struct coati_event_list *list;
	struct content *c;

	need_perf();
	list = list_of("cpu-clock:u");
	capture_command(list, argv, (struct coati_capture_opts){ 0 });
	c = read_back(OUT);
	CHECK_U64(c->types[COATI_RECORD_FORK], >=, 3);
	/* a sanitizer's own thread in the held child ends at exec */
	CHECK_U64(c->types[COATI_RECORD_EXIT], >=, c->types[COATI_RECORD_FORK]);
	CHECK_U64(c->types[COATI_RECORD_EXIT], <=, c->types[COATI_RECORD_FORK] + 1);
	capture_command(list, argv,
			(struct coati_capture_opts){ .flags = COATI_CAPTURE_NO_INHERIT });
	c = read_back(OUT);
	CHECK_U64(c->types[COATI_RECORD_EXIT], >=, 1);
	CHECK_U64(c->types[COATI_RECORD_EXIT], <=, 2);
	coati_event_list_free(list);
}

/* B12 of the Go library: a group of one never got its ring. */
TEST(capture_of_a_group_with_one_member_has_its_samples)
{
	const char *const argv[] = { "true", NULL };
	struct coati_event_list *list;
	struct content *c;

	need_perf();
	list = list_of("{page-faults/period=1/u}:S");
	/* kernels before 6.12 have no inherited events that read their group */
	capture_command(list, argv,
			(struct coati_capture_opts){ .flags = COATI_CAPTURE_NO_INHERIT });
	c = read_back(OUT);
	CHECK_U64(c->types[COATI_RECORD_SAMPLE], >, 10);
	coati_event_list_free(list);
}

/* Every executable mapping of /proc/self/maps is a line of @maps. */
static void check_own_maps(const char *maps)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	char *line, *rest, want[4200];
	struct coati_mmap m;
	int nr = 0;

	CHECK_OK(coati_file_read(AT_FDCWD, "/proc/self/maps", &s));
	rest = s.text;
	while ((line = strsep(&rest, "\n"))) {
		if (coati_maps_line(line, &m) < 0 || !(m.prot & PROT_EXEC) ||
		    !strcmp(m.name, "[vsyscall]"))
			continue;
		snprintf(want, sizeof(want), "%llx-%llx %llx %s\n", (unsigned long long)m.addr,
			 (unsigned long long)(m.addr + m.len),
			 (unsigned long long)(m.name[0] ? m.pgoff : m.addr),
			 m.name[0] ? m.name : "//anon");
		CHECK_HAS(maps, want);
		nr++;
	}
	CHECK_INT(nr, >, 2);
	coati_strbuf_fini(&s);
}

TEST(capture_of_what_runs_already_knows_its_mappings)
{
	struct coati_event_list *list;
	struct coati_capture *cap;
	void *jit = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(jit != MAP_FAILED);
	need_perf();
	list = list_of("cpu-clock:u");
	cap = opened_capture(list, (struct coati_capture_opts){ ON_SELF });
	begin(cap, OUT, 0);
	finish(&cap);
	check_own_maps(read_back(OUT)->maps);
	coati_event_list_free(list);
}

static pthread_barrier_t barrier;

static void *named_thread(void *name)
{
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

TEST(capture_of_a_process_knows_its_threads_by_name)
{
	char *names[] = { "first thread", "second) S 1", "third\nline" };
	struct coati_event_list *list;
	struct coati_capture *cap;
	pthread_t threads[3];
	int32_t pid = getpid();
	struct content *c;

	need_perf();
	list = list_of("cpu-clock:u");
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		CHECK_OK(-pthread_create(&threads[i], NULL, named_thread, names[i]));
	pthread_barrier_wait(&barrier);
	cap = opened_capture(list, (struct coati_capture_opts){ .pids = &pid, .nr_pids = 1 });
	begin(cap, OUT, 0);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	finish(&cap);
	c = read_back(OUT);
	for (int i = 0; i < 3; i++)
		CHECK_HAS(c->comms, names[i]);
	/* as if each had been started; a sanitizer may have a thread of its own */
	CHECK_U64(c->types[COATI_RECORD_FORK], >=, 4);
	CHECK_U64(c->types[COATI_RECORD_EXIT], >=, 3);
	coati_event_list_free(list);
}

TEST(capture_of_the_machine_knows_the_kernel_and_everybody)
{
	struct coati_event_list *list;
	struct coati_capture *cap;
	struct content *c;
	char comm[32] = "";

	need_root();
	list = list_of("cpu-clock");
	prctl(PR_GET_NAME, comm);
	cap = opened_capture(list, (struct coati_capture_opts){ 0 });
	begin(cap, OUT, 0);
	CHECK_OK(coati_capture_start(cap, NULL));
	CHECK_OK(coati_capture_set_deadline(cap, (int64_t)(now_ns() + 50 * NSEC_PER_MSEC)));
	while (coati_capture_wait(cap) != -ETIMEDOUT)
		;
	finish(&cap);
	c = read_back(OUT);
	CHECK_HAS(c->comms, comm);
	/* a PID namespace of its own has no kernel threads */
	if (coati_file_read_line(AT_FDCWD, "/proc/2/comm", comm, sizeof(comm)) >= 0 &&
	    !strcmp(comm, "kthreadd"))
		CHECK_HAS(c->comms, "kthreadd");
	CHECK_U64(c->types[COATI_RECORD_SAMPLE], >, 0);
	if (access("/proc/kallsyms", R_OK) == 0)
		CHECK_U64(c->kernel_maps, >=, 1);
	coati_event_list_free(list);
}

TEST(capture_writes_the_newest_of_an_overwritable_ring_each_time_once)
{
	struct coati_event_list *list = getppid_list();
	struct coati_capture_opts o = { ON_SELF, .stacks = COATI_STACKS_NONE, .ring_bytes = 4096,
					.flags = COATI_CAPTURE_OVERWRITE };
	struct coati_capture *cap = opened_capture(list, o);
	struct coati_capture_stats st = { .size = sizeof(st) };
	uint64_t first;

	begin(cap, OUT, 0);
	CHECK_OK(coati_capture_start(cap, NULL));
	call_many(3);
	CHECK_OK(coati_capture_snapshot(cap, NULL));
	coati_capture_get_stats(cap, &st);
	first = st.samples;
	CHECK_U64(first, <=, 3);
	CHECK_OK(coati_capture_snapshot(cap, NULL)); /* nothing new */
	coati_capture_get_stats(cap, &st);
	CHECK_U64(st.samples, ==, first);
	CHECK_U64(st.overwritten, ==, 0);
	call_many(1000);
	st = finish(&cap);
	CHECK_U64(st.samples, >, first);
	CHECK_U64(st.samples, <, 2 * 4096 / 64);
	CHECK_U64(st.snapshots, ==, 3);
	CHECK_U64(st.overwritten, >=, 1);
	CHECK_U64(read_back(OUT)->samples[0], ==, st.samples);
	coati_event_list_free(list);
}

TEST(capture_takes_a_snapshot_when_an_event_has_happened_too_often)
{
	struct coati_event_list *list = getppid_list(), *when = list_of("page-faults");
	struct coati_capture_opts o = { ON_SELF, .flags = COATI_CAPTURE_OVERWRITE, .when = when,
					.when_count = 200 };
	struct coati_capture *cap = opened_capture(list, o);
	struct coati_capture_stats st = { .size = sizeof(st) };
	uintptr_t pages = 50;
	cpu_set_t here;

	CPU_ZERO(&here); /* counted on each CPU by itself */
	CPU_SET(sched_getcpu(), &here);
	CHECK_OK(sched_setaffinity(0, sizeof(here), &here));
	begin(cap, OUT, 0);
	CHECK_OK(coati_capture_start(cap, NULL));
	call_many(10);
	touch_pages(&pages);
	CHECK_OK(coati_capture_set_deadline(cap, 0));
	CHECK_ERR(coati_capture_wait(cap), -ETIMEDOUT);
	coati_capture_get_stats(cap, &st);
	CHECK_U64(st.snapshots, ==, 0);
	pages = 300;
	touch_pages(&pages);
	CHECK_ERR(coati_capture_wait(cap), -ETIMEDOUT);
	coati_capture_get_stats(cap, &st);
	CHECK_U64(st.snapshots, ==, 1);
	CHECK_U64(st.samples, >=, 10);
	finish(&cap);
	CHECK_U64(read_back(OUT)->samples[1], >=, 1); /* what asked for it is there too */
	coati_event_list_free(when);
	coati_event_list_free(list);
}

TEST(capture_of_several_recordings_makes_each_whole_in_itself)
{
	struct coati_event_list *list = getppid_list();
	int32_t pid = getpid();
	struct coati_capture_opts o = { .pids = &pid,
					.nr_pids = 1,
					.stacks = COATI_STACKS_NONE,
					.flags = COATI_CAPTURE_PARTS };
	struct coati_capture *cap = opened_capture(list, o);
	uint64_t samples = 0;

	CHECK_OK(coati_capture_start(cap, NULL));
	for (int i = 0; i < 3; i++) {
		struct content *c;

		begin(cap, OUT, 0);
		call_many(100);
		CHECK_OK(coati_capture_finish(cap, NULL));
		call_many(11); /* while none is open */
		c = read_back(OUT);
		check_own_maps(c->maps);
		CHECK_U64(c->types[COATI_RECORD_FINISHED_INIT], ==, 1);
		CHECK_U64(c->samples[0], ==, i ? 111 : 100);
		samples += c->samples[0];
	}
	CHECK_U64(samples, ==, 322);
	coati_capture_close(&cap);
	coati_event_list_free(list);
}

TEST(capture_stops_at_the_largest_size_and_leaves_a_readable_file)
{
	struct coati_event_list *list = getppid_list();
	struct coati_capture_opts o = { ON_SELF, .stacks = COATI_STACKS_NONE };
	struct coati_capture *cap = opened_capture(list, o);
	struct coati_error err = { 0 };
	struct stat st;
	int r;

	begin(cap, OUT, 100000);
	CHECK_OK(coati_capture_start(cap, NULL));
	CHECK_OK(coati_capture_set_deadline(cap, 0));
	do {
		call_many(100);
		r = coati_capture_wait(cap);
	} while (r == -ETIMEDOUT);
	CHECK_ERR(r, -EFBIG);
	CHECK_ERR(coati_capture_wait(cap), -EFBIG);
	CHECK_ERR(coati_capture_finish(cap, &err), -EFBIG);
	CHECK_HAS(err.text, "too large");
	coati_capture_close(&cap);
	CHECK_OK(stat(OUT, &st));
	CHECK_U64(st.st_size, <, 200000);
	CHECK_U64(read_back(OUT)->samples[0], >, 500);
	coati_event_list_free(list);
}

TEST(capture_for_an_ordinary_user_is_of_user_space_and_says_so)
{
	struct coati_event_list *list;
	struct coati_capture *cap;

	need_root();
	need_paranoid(2);
	become_nobody();
	list = list_of("cpu-clock");
	cap = opened_capture(
		list, (struct coati_capture_opts){ ON_SELF, .flags = COATI_CAPTURE_USER_OK });
	CHECK_U64(coati_capture_event_dropped(cap, 0), ==, COATI_DROP_KERNEL);
	CHECK(coati_capture_event_attr(cap, 0)->flags & COATI_ATTR_EXCLUDE_KERNEL);
	coati_capture_close(&cap);
	coati_event_list_free(list);
}

TEST(capture_rings_fit_the_budget_of_an_ordinary_user)
{
	struct coati_event_list *list;
	struct coati_capture_stats st = { .size = sizeof(st) };
	struct coati_capture *cap, *second;
	struct coati_capture_opts o = { ON_SELF, .flags = COATI_CAPTURE_USER_OK,
					.ring_bytes = UINT64_C(1) << 28 };

	need_root();
	need_paranoid(2);
	become_nobody();
	list = list_of("cpu-clock:u");
	cap = opened_capture(list, o);
	coati_capture_get_stats(cap, &st);
	CHECK_U64(st.ring_bytes, <, o.ring_bytes);
	CHECK_U64(st.ring_bytes, >=, 4096);
	second = opened_capture(list, o); /* what the first has counts against the same budget */
	coati_capture_close(&second);
	coati_capture_close(&cap);
	coati_event_list_free(list);
}

static void *wake_it(void *cap)
{
	coati_capture_wake(cap);
	return NULL;
}

TEST(capture_wait_ends_at_a_wake_and_at_the_deadline)
{
	struct coati_event_list *list;
	struct coati_capture *cap;
	pthread_t waker;

	need_perf();
	list = list_of("cpu-clock:u");
	cap = opened_capture(list, (struct coati_capture_opts){ ON_SELF });
	CHECK_ERR(coati_capture_wait(cap), -EINVAL); /* nothing to write into yet */
	begin(cap, OUT, 0);
	CHECK_OK(-pthread_create(&waker, NULL, wake_it, cap));
	while (coati_capture_wait(cap) != -EINTR) /* 1: its own tick, or the side band */
		;
	pthread_join(waker, NULL);
	CHECK_OK(coati_capture_set_deadline(cap, (int64_t)(now_ns() + NSEC_PER_MSEC)));
	while (coati_capture_wait(cap) != -ETIMEDOUT)
		;
	CHECK_ERR(coati_capture_set_deadline(cap, -2), -EINVAL);
	finish(&cap);
	coati_event_list_free(list);
}

TEST(capture_refuses_what_makes_no_sense)
{
	struct coati_event_list *list = list_of("cpu-clock:u"), *none = NULL;
	struct coati_capture_opts o = { .size = sizeof(o), ON_SELF };
	struct coati_capture *cap = NULL;
	struct coati_error err = { 0 };
	struct coati_writer *w = NULL;

	CHECK_OK(coati_event_list_new(NULL, &none, NULL));
	CHECK_ERR(coati_capture_open(none, &o, &cap, &err), -EINVAL);
	CHECK_ERR(coati_capture_open(NULL, &o, &cap, &err), -EINVAL);
	o.flags = UINT64_C(1) << 40;
	CHECK_ERR(coati_capture_open(list, &o, &cap, &err), -EINVAL);
	o.flags = COATI_CAPTURE_ON_EXEC;
	CHECK_ERR(coati_capture_open(list, &o, &cap, &err), -EINVAL);
	CHECK(!cap);
	CHECK_ERR(coati_capture_begin(NULL, &w, NULL), -EINVAL);
	CHECK_ERR(coati_capture_start(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_capture_stop(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_capture_finish(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_capture_snapshot(NULL, NULL), -EINVAL);
	coati_capture_close(&cap);
	coati_capture_close(NULL);
	coati_event_list_free(none);
	coati_event_list_free(list);
}

/* Wherever the file is full: the capture has no recording then, and begins the next one. */
TEST(capture_begins_again_after_a_recording_that_could_not_be_begun)
{
	struct coati_capture_opts o = { .size = sizeof(o), ON_SELF };
	struct coati_event_list *list;
	struct coati_capture *cap;
	uint64_t failed = 0;
	int r = -EFBIG;

	need_perf();
	list = list_of("page-faults:u");
	cap = opened_capture(list, o);
	for (uint64_t limit = 1; r < 0; limit += limit < 8192 ? 64 : 1024) {
		struct coati_writer_opts wo = { .size = sizeof(wo), .max_bytes = limit };
		struct coati_writer *w = NULL;

		CHECK_U64(limit, <, 1 << 20);
		CHECK_OK(coati_writer_open(OUT, &wo, &w, NULL));
		r = coati_capture_begin(cap, &w, NULL);
		if (r < 0) {
			CHECK_ERR(r, -EFBIG);
			CHECK_ERR(coati_capture_finish(cap, NULL), -EINVAL);
			begin(cap, OUT, 0);
			failed++;
		}
		coati_capture_finish(cap, NULL);
	}
	CHECK_U64(failed, >=, 4);
	coati_capture_close(&cap);
	coati_event_list_free(list);
}

TEST(capture_survives_each_failing_allocation)
{
	struct coati_event_list *list;
	int r = -ENOMEM;

	need_perf();
	list = list_of("cpu-clock:u,page-faults:u");
	for (uint64_t n = 0; r < 0; n++) {
		struct coati_capture_opts o = { .size = sizeof(o), ON_SELF };
		struct coati_capture *cap = NULL;
		struct coati_writer *w = NULL;

		CHECK_U64(n, <, 3000);
		CHECK_OK(coati_writer_open(OUT, NULL, &w, NULL));
		coati_alloc_fail_after(n);
		r = coati_capture_open(list, &o, &cap, NULL);
		if (r == 0)
			r = coati_capture_begin(cap, &w, NULL);
		if (r == 0)
			r = coati_capture_finish(cap, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		coati_writer_close(&w, NULL);
		coati_capture_close(&cap);
	}
	coati_event_list_free(list);
}
