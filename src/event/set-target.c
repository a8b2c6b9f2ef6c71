/* SPDX-License-Identifier: MIT */
/* see set-target.h */
#include "event/set-target.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "event/cgroup.h"

#define ONLINE "/sys/devices/system/cpu/online"

void coati_set_targets_init(struct set_targets *t)
{
	*t = (struct set_targets){ .cgroup_fd = -1 };
	t->v.max = SET_TARGETS_MAX;
	coati_map_init(&t->tids, SET_TARGETS_MAX);
}

void coati_set_targets_fini(struct set_targets *t)
{
	ARRAY_FINI(&t->v);
	coati_map_fini(&t->tids);
	fd_closep(&t->cgroup_fd);
}

void coati_set_targets_clear(struct set_targets *t)
{
	t->v.len = 0;
	coati_map_fini(&t->tids);
	coati_map_init(&t->tids, SET_TARGETS_MAX);
}

static int too_many(struct coati_error *err, int code)
{
	if (code == -ENOMEM)
		return coati_fail(err, code, "open events: %m; free some memory");
	return coati_fail(err, -E2BIG, "open events: more than %u threads and CPUs; name fewer",
			  SET_TARGETS_MAX);
}

static int add(struct set_targets *t, int32_t tid, int32_t cpu)
{
	struct set_target *target = ARRAY_ADD(&t->v);

	if (!target)
		return t->v.len >= SET_TARGETS_MAX ? -E2BIG : -ENOMEM;
	target->at = (struct coati_target){ tid, cpu, t->cgroup_fd };
	return 0;
}

/* One thread, on any CPU or on each of those that were listed. */
static int add_thread(struct set_targets *t, int32_t tid)
{
	int r = coati_map_put(&t->tids, (uint64_t)tid, 1);

	if (r < 0)
		return r;
	if (!t->any_listed)
		return add(t, tid, -1);
	r = 0;
	for (int32_t cpu = 0; r == 0 && cpu < SET_CPUS_MAX; cpu++)
		if (cpu_in(t->cpus, cpu))
			r = add(t, tid, cpu);
	return r;
}

static bool knows_thread(const struct set_targets *t, int32_t tid)
{
	uint64_t unused;

	return coati_map_get(&t->tids, (uint64_t)tid, &unused);
}

/* The threads of process @pid that are new; their number. A process without threads is gone:
 * -ESRCH. */
static int scan_process(struct set_targets *t, int32_t pid)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	char path[64];
	int added = 0, seen = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		uint32_t tid;
		int r;

		if (coati_parse_u32(e->d_name, 1, INT32_MAX, &tid) < 0)
			continue;
		seen++;
		if (knows_thread(t, (int32_t)tid))
			continue;
		r = add_thread(t, (int32_t)tid);
		if (r < 0)
			return r;
		added++;
	}
	return seen ? added : -ESRCH;
}

static int process_failed(int32_t pid, int code, struct coati_error *err)
{
	if (code == -ESRCH)
		return coati_fail(err, code,
				  "no process %d: it has ended or never existed; look it up with "
				  "ps or pgrep",
				  pid);
	if (code == -E2BIG || code == -ENOMEM)
		return too_many(err, code);
	return coati_fail(err, code,
			  "process %d: its threads in /proc/%d/task cannot be read: %m; run as its "
			  "user or as root",
			  pid, pid);
}

int coati_set_targets_add_threads(struct set_targets *t, const struct coati_set_opts *opts,
				  struct coati_error *err)
{
	int added = 0;

	for (uint64_t i = 0; i < opts->nr_pids; i++) {
		int r = opts->pids[i] > 0 ? scan_process(t, opts->pids[i]) : -ESRCH;

		/* a process that ends between two readings is no error: its events are there */
		if (r == -ESRCH)
			continue;
		if (r < 0)
			return process_failed(opts->pids[i], r, err);
		added += r;
	}
	return added;
}

static int read_online(uint64_t *cpus, struct coati_error *err)
{
	char text[4096];
	int r = coati_file_read_line(AT_FDCWD, ONLINE, text, sizeof(text));
	long nr;

	if (r >= 0)
		r = coati_parse_cpulist(text, cpus, SET_CPUS_MAX);
	if (r >= 0)
		return 0;
	nr = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr < 1)
		return coati_fail(err, r,
				  "which CPUs are online: " ONLINE ": %m; is /sys mounted?");
	for (int32_t cpu = 0; cpu < nr && cpu < SET_CPUS_MAX; cpu++)
		cpus[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	return 0;
}

static int find_cpus(struct set_targets *t, const char *text, struct coati_error *err)
{
	uint64_t online[SET_CPU_WORDS] = { 0 };
	int r = read_online(online, err);

	if (r < 0)
		return r;
	if (!text) {
		memcpy(t->cpus, online, sizeof(online));
		return 0;
	}
	r = coati_parse_cpulist(text, t->cpus, SET_CPUS_MAX);
	if (r < 0)
		return coati_fail(err, r == -ERANGE ? -EINVAL : r,
				  "'%s' is not a list of CPUs; write it as 0-3,8", text);
	for (int32_t cpu = 0; cpu < SET_CPUS_MAX; cpu++)
		if (cpu_in(t->cpus, cpu) && !cpu_in(online, cpu))
			return coati_fail(err, -ENODEV,
					  "CPU %d is not online; " ONLINE " lists those that are",
					  cpu);
	t->any_listed = true;
	return 0;
}

static int check_opts(const struct coati_set_opts *o, struct coati_error *err)
{
	if ((o->nr_pids && !o->pids) || (o->nr_tids && !o->tids) || o->nr_pids > SET_TARGETS_MAX ||
	    o->nr_tids > SET_TARGETS_MAX)
		return coati_fail(err, -EINVAL,
				  "open events: the lists of processes and threads do not fit "
				  "their lengths");
	if (o->cgroup && (o->nr_pids || o->nr_tids))
		return coati_fail(err, -EINVAL,
				  "a cgroup is watched as a whole; leave out the processes and "
				  "threads, or the cgroup");
	return 0;
}

/* Threads that were named one by one, and processes. */
static int find_threads(struct set_targets *t, const struct coati_set_opts *o,
			struct coati_error *err)
{
	for (uint64_t i = 0; i < o->nr_tids; i++) {
		int r = 0;

		if (o->tids[i] < 0)
			return coati_fail(err, -EINVAL, "%d is not a thread; look it up with ps -L",
					  o->tids[i]);
		if (!knows_thread(t, o->tids[i]))
			r = add_thread(t, o->tids[i]);
		if (r < 0)
			return too_many(err, r);
	}
	for (uint64_t i = 0; i < o->nr_pids; i++) {
		int r = o->pids[i] > 0 ? scan_process(t, o->pids[i]) : -ESRCH;

		if (r < 0)
			return process_failed(o->pids[i], r, err);
	}
	return 0;
}

int coati_set_targets_find(struct set_targets *t, const struct coati_set_opts *o,
			   struct coati_error *err)
{
	int r = check_opts(o, err);

	if (r < 0)
		return r;
	t->all_cpus = !o->nr_pids && !o->nr_tids;
	if (o->cgroup && t->cgroup_fd < 0) {
		t->cgroup_fd = coati_cgroup_open(o->cgroup, err);
		if (t->cgroup_fd < 0)
			return t->cgroup_fd;
	}
	if (t->all_cpus || o->cpus || o->flags & COATI_SET_PER_CPU) {
		r = find_cpus(t, o->cpus, err);
		if (r < 0)
			return r;
	}
	if (o->flags & COATI_SET_PER_CPU)
		t->any_listed = true;
	if (!t->all_cpus)
		return find_threads(t, o, err);
	for (int32_t cpu = 0; r == 0 && cpu < SET_CPUS_MAX; cpu++)
		if (cpu_in(t->cpus, cpu))
			r = add(t, -1, cpu);
	return r < 0 ? too_many(err, r) : 0;
}
