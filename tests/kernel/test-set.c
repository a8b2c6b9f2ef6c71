/* SPDX-License-Identifier: MIT */
/* Sets on the real kernel: commands, processes with many threads, CPUs, cgroups. */
#include <coati/child.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/set.h"
#include "need.h"

#define PAGES_OF_THE_PROGRAM 1000

static struct coati_event_list *parsed(const char *events)
{
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };

	need_perf();
	CHECK_OK(coati_event_list_new(NULL, &list, &err));
	if (coati_event_list_add(list, events, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return list;
}

static struct coati_set *opened_set(const struct coati_event_list *list, struct coati_set_opts opts)
{
	struct coati_set *set = NULL;
	struct coati_error err = { 0 };

	opts.size = sizeof(opts);
	opts.flags |= COATI_SET_USER_OK;
	if (coati_set_open(list, &opts, &set, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return set;
}

/* The sum of event @event over all entries. */
static uint64_t total(struct coati_set *set, uint32_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < coati_set_count(set); i++) {
		struct coati_set_entry e;
		struct coati_count c;

		CHECK_OK(coati_set_entry(set, i, &e));
		CHECK_OK(coati_set_read(set, i, &c));
		if (e.event == event)
			sum += c.value;
	}
	return sum;
}

/* Runs a command with counting from its exec to its end; the counts of the first @nr events. */
static void run_counted(const char *const *argv, const char *events, uint64_t *ret, uint32_t nr)
{
	static const char *const no_env[] = { NULL };
	struct coati_child_opts opts = { .size = sizeof(opts), .envp = no_env };
	struct coati_event_list *list = parsed(events);
	struct coati_child_status status = { .size = sizeof(status) };
	struct coati_child *child = NULL;
	struct coati_set *set;
	int32_t pid;

	CHECK_OK(coati_child_start(argv, &opts, &child, NULL));
	pid = coati_child_pid(child);
	set = opened_set(list, (struct coati_set_opts){ .pids = &pid,
							.nr_pids = 1,
							.flags = COATI_SET_INHERIT |
								 COATI_SET_ENABLE_ON_EXEC });
	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	for (uint32_t i = 0; i < nr; i++)
		ret[i] = total(set, i);
	coati_child_free(&child);
	coati_set_close(&set);
	coati_event_list_free(list);
}

static const char *program(void)
{
	const char *path = getenv("COATI_TOUCH_PAGES");

	return path ? path : COATI_TOUCH_PAGES_DEFAULT;
}

TEST(set_counts_a_command_from_its_exec_the_same_every_time)
{
	const char *const argv[] = { program(), NULL };
	uint64_t first[2];

	/* where the stack starts decides whether it needs one page more */
	personality(ADDR_NO_RANDOMIZE);
	run_counted(argv, "page-faults:u,dummy:u", first, 2);
	CHECK_U64(first[0], >=, PAGES_OF_THE_PROGRAM);
	CHECK_U64(first[0], <, PAGES_OF_THE_PROGRAM + 20);
	for (int i = 0; i < 5; i++) {
		uint64_t again[2];

		run_counted(argv, "{page-faults:u,dummy:u}", again, 2);
		CHECK_U64(again[0], ==, first[0]);
		CHECK_U64(again[1], ==, first[1]);
	}
}

/* What `perf stat -x,` says of the same program; skips without it. */
static uint64_t perf_stat_faults(void)
{
	char command[512], line[256] = "";
	uint64_t value = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "env -i perf stat -x, -e page-faults:u -o perf.csv %s >/dev/null 2>&1", program());
	if (system("perf --version >/dev/null 2>&1") != 0 || system(command) != 0)
		test_skip("perf stat does not run here");
	f = fopen("perf.csv", "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f) && (line[0] < '0' || line[0] > '9'))
		;
	fclose(f);
	for (const char *p = line; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	return value;
}

TEST(set_agrees_with_perf_stat_on_the_faults_of_a_command)
{
	const char *const argv[] = { program(), NULL };
	uint64_t ours;

	personality(ADDR_NO_RANDOMIZE);
	run_counted(argv, "page-faults:u", &ours, 1);
	CHECK_U64(ours, ==, perf_stat_faults());
}

TEST(set_counts_the_children_of_a_command_too)
{
	const char *const argv[] = { "/bin/sh", "-c", "$0; $0; $0", program(), NULL };
	uint64_t faults;

	run_counted(argv, "page-faults:u", &faults, 1);
	CHECK_U64(faults, >=, 3 * PAGES_OF_THE_PROGRAM);
}

struct work {
	pthread_barrier_t ready, go, done;
	uintptr_t pages;
};

static void *worker(void *arg)
{
	struct work *w = arg;

	pthread_barrier_wait(&w->ready);
	pthread_barrier_wait(&w->go);
	touch_pages(&w->pages);
	pthread_barrier_wait(&w->done);
	return NULL;
}

/* A sanitizer may have started some of its own. */
static int nr_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;
	int nr = 0;

	CHECK(tasks);
	while ((d = readdir(tasks)))
		nr += d->d_name[0] != '.';
	closedir(tasks);
	return nr;
}

TEST(set_on_a_process_watches_all_of_its_threads)
{
	struct coati_event_list *list = parsed("page-faults:u");
	struct work w = { .pages = 200 };
	int32_t pid = getpid();
	struct coati_set *set;
	pthread_t threads[4];

	pthread_barrier_init(&w.ready, NULL, 5);
	pthread_barrier_init(&w.go, NULL, 5);
	pthread_barrier_init(&w.done, NULL, 5);
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, worker, &w), ==, 0);
	pthread_barrier_wait(&w.ready);
	set = opened_set(list, (struct coati_set_opts){ .pids = &pid, .nr_pids = 1 });
	CHECK_INT(coati_set_count(set), ==, nr_threads());
	CHECK_OK(coati_set_enable(set, NULL));
	pthread_barrier_wait(&w.go);
	pthread_barrier_wait(&w.done);
	CHECK_OK(coati_set_disable(set, NULL));
	CHECK_U64(total(set, 0), >=, 800);
	CHECK_U64(total(set, 0), <, 1000);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	coati_set_close(&set);
	coati_event_list_free(list);
}

static void *short_life(void *arg)
{
	return NULL;
}

static void *spawner(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
		pthread_t t;

		if (pthread_create(&t, NULL, short_life, NULL) == 0)
			pthread_join(t, NULL);
	}
	return NULL;
}

TEST(set_on_a_process_bears_threads_that_come_and_go)
{
	struct coati_event_list *list = parsed("page-faults:u,{task-clock:u,dummy:u}");
	int32_t pid = getpid();
	int stop = 0;
	pthread_t t;

	CHECK_INT(pthread_create(&t, NULL, spawner, &stop), ==, 0);
	for (int i = 0; i < 30; i++) {
		uint64_t flags = i % 2 ? COATI_SET_INHERIT : 0;
		struct coati_set *set = opened_set(
			list,
			(struct coati_set_opts){ .pids = &pid, .nr_pids = 1, .flags = flags });

		CHECK_INT(coati_set_count(set), >=, 3);
		CHECK_OK(coati_set_enable(set, NULL));
		total(set, 0);
		coati_set_close(&set);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	coati_event_list_free(list);
}

TEST(set_on_a_process_that_has_ended_says_so)
{
	struct coati_event_list *list = parsed("page-faults:u");
	struct coati_set_opts opts = { .size = sizeof(opts), .nr_pids = 1 };
	struct coati_set *set = NULL;
	struct coati_error err = { 0 };
	int32_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	CHECK_OK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)); /* a zombie */
	opts.pids = &pid;
	CHECK_ERR(coati_set_open(list, &opts, &set, &err), -ESRCH);
	CHECK_HAS(err.text, "has ended");
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	CHECK_ERR(coati_set_open(list, &opts, &set, &err), -ESRCH);
	coati_event_list_free(list);
}

TEST(set_system_wide_has_one_entry_per_cpu)
{
	struct coati_event_list *list = parsed("cpu-clock,page-faults");
	struct coati_set *set, *one;
	uintptr_t pages = 500;

	need_root();
	set = opened_set(list, (struct coati_set_opts){ .size = 0 });
	CHECK_INT(coati_set_count(set), ==, 2 * sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_OK(coati_set_enable(set, NULL));
	touch_pages(&pages);
	CHECK_OK(coati_set_disable(set, NULL));
	CHECK_U64(total(set, 1), >=, 500);
	one = opened_set(list, (struct coati_set_opts){ .cpus = "0" });
	CHECK_INT(coati_set_count(one), ==, 2);
	coati_set_close(&one);
	coati_set_close(&set);
	coati_event_list_free(list);
}

/* Root may go beyond the hard limit, unless it lacks CAP_SYS_RESOURCE, as in many containers. */
static void keep_hard_limits(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	CHECK_INT(syscall(SYS_capget, &head, data), ==, 0);
	data[0].effective &= ~(1u << CAP_SYS_RESOURCE);
	CHECK_INT(syscall(SYS_capset, &head, data), ==, 0);
}

TEST(set_raises_the_descriptor_limit_when_it_must)
{
	struct coati_event_list *list = parsed("dummy:u");
	struct rlimit l = { 32, 4096 };
	int32_t tid = 0;
	struct coati_set *set;

	for (int i = 0; i < 60; i++)
		CHECK_OK(coati_event_list_add(list, "dummy:u", NULL));
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &l));
	set = opened_set(list, (struct coati_set_opts){ .tids = &tid, .nr_tids = 1 });
	CHECK_INT(coati_set_count(set), ==, 61);
	coati_set_close(&set);
	l = (struct rlimit){ 32, 40 };
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &l));
	keep_hard_limits();
	{
		struct coati_set_opts opts = { .size = sizeof(opts), .tids = &tid, .nr_tids = 1 };
		struct coati_error err = { 0 };

		CHECK_ERR(coati_set_open(list, &opts, &set, &err), -EMFILE);
		CHECK_HAS(err.text, "ulimit -n");
	}
	coati_event_list_free(list);
}

TEST(set_sets_the_filters_of_tracepoints)
{
	struct coati_event_list *list;
	int32_t tid = 0;
	struct coati_set *set;

	need_tracefs();
	list = parsed("syscalls:sys_enter_close");
	if (coati_event_list_filter(list, "fd == 4711", NULL) < 0)
		test_skip_need("tracefs", "the filter is not taken");
	CHECK_OK(coati_event_list_add(list, "syscalls:sys_enter_close", NULL));
	set = opened_set(list, (struct coati_set_opts){ .tids = &tid, .nr_tids = 1 });
	CHECK_OK(coati_set_enable(set, NULL));
	close(4711);
	close(4711);
	close(4712);
	CHECK_OK(coati_set_disable(set, NULL));
	CHECK_U64(total(set, 0), ==, 2);
	CHECK_U64(total(set, 1), ==, 3);
	coati_set_close(&set);
	coati_event_list_free(list);
}

TEST(set_in_a_cgroup_counts_what_runs_in_it)
{
	struct coati_event_list *list = parsed("page-faults");
	uintptr_t pages = 400;
	struct coati_set *set;
	char path[64], procs[96];
	pid_t pid;
	FILE *f;

	need_root();
	snprintf(path, sizeof(path), "/sys/fs/cgroup/coati-test-%d", getpid());
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	if (access("/sys/fs/cgroup/cgroup.procs", W_OK) != 0 || mkdir(path, 0755) != 0)
		test_skip_need("cgroup", "no cgroup v2 at /sys/fs/cgroup that can be written");
	set = opened_set(list, (struct coati_set_opts){ .cgroup = path });
	CHECK_OK(coati_set_enable(set, NULL));
	touch_pages(&pages); /* outside */
	pid = fork();
	if (pid == 0) {
		f = fopen(procs, "we");
		if (!f || fprintf(f, "%d", getpid()) < 0 || fclose(f) != 0)
			_exit(1);
		touch_pages(&pages);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	CHECK_OK(coati_set_disable(set, NULL));
	CHECK_U64(total(set, 0), >=, 400);
	CHECK_U64(total(set, 0), <, 700);
	coati_set_close(&set);
	CHECK_OK(rmdir(path));
	coati_event_list_free(list);
}
