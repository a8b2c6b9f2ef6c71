/* SPDX-License-Identifier: MIT */
/* Counting one cgroup on one CPU: its own work, and not its neighbor's. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/cgroup.h"
#include "need.h"

#define PAGES_INSIDE  100
#define PAGES_OUTSIDE 500

/* A child that touches pages when told to, in a cgroup of its own on one CPU. */
struct inmate {
	char dir[PATH_MAX];
	char name[64];
	pid_t pid;
	int tell, answer; /* our ends of two pipes */
	int cpu;
};

static void run_inmate(int hear, int answer)
{
	uintptr_t pages = PAGES_INSIDE;
	bool rehearsed = false;
	char c;

	while (read(hear, &c, 1) == 1) {
		if (rehearsed)
			touch_pages(&pages);
		else
			rehearse(touch_pages, &pages);
		rehearsed = true;
		if (write(answer, &c, 1) != 1)
			break;
	}
	_exit(0);
}

static int pin_to_one_cpu(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_OK(sched_setaffinity(0, sizeof(set), &set));
	return cpu;
}

/* Let the child work once; true when it did. */
static bool work(struct inmate *in)
{
	char c = 'x';

	return write(in->tell, &c, 1) == 1 && read(in->answer, &c, 1) == 1;
}

static bool move(const struct inmate *in)
{
	char path[PATH_MAX + 32];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", in->dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && dprintf(fd, "%d", (int)in->pid) > 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static void start(struct inmate *in)
{
	int to[2], from[2];

	CHECK_OK(pipe2(to, O_CLOEXEC));
	CHECK_OK(pipe2(from, O_CLOEXEC));
	in->cpu = pin_to_one_cpu();
	in->pid = fork();
	CHECK_OK(in->pid);
	if (in->pid == 0) {
		close(to[1]);
		run_inmate(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	in->tell = to[1];
	in->answer = from[0];
}

static void stop(struct inmate *in)
{
	close(in->tell);
	close(in->answer);
	waitpid(in->pid, NULL, 0);
	rmdir(in->dir);
}

/* The page faults of its cgroup while it works once and we work too; everything is cleared away
 * before anything is checked. */
static int count_inmate(struct inmate *in, struct coati_count *ret, struct coati_error *err)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_target target = { .pid = -1, .cpu = in->cpu };
	uintptr_t outside = PAGES_OUTSIDE;
	struct coati_event *ev = NULL;
	int r;

	target.cgroup_fd = coati_cgroup_open(in->name, err);
	if (target.cgroup_fd < 0)
		return target.cgroup_fd;
	r = coati_event_open(&attr, &target, NULL, &ev, err);
	close(target.cgroup_fd);
	if (r < 0)
		return r;
	r = work(in) ? 0 : -EIO; /* once before: the faults that only the first time has */
	if (r == 0)
		r = coati_event_enable(ev);
	if (r == 0)
		r = work(in) ? 0 : -EIO;
	touch_pages(&outside);
	if (r == 0)
		r = coati_event_disable(ev);
	if (r == 0)
		r = coati_event_read(ev, ret);
	coati_event_close(&ev);
	return r;
}

TEST(cgroup_counts_its_own_page_faults_and_not_its_neighbours)
{
	struct coati_error err = { 0 };
	struct coati_count count = { 0 };
	struct inmate in = { .pid = -1 };
	char mountinfo[65536];
	struct cgroup_mount m;
	int r, fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, got;

	need_root();
	while ((got = read(fd, mountinfo + n, sizeof(mountinfo) - 1 - (size_t)n)) > 0)
		n += got;
	close(fd);
	mountinfo[n] = '\0';
	coati_cgroup_mount_find(mountinfo, &m);
	if (!m.version)
		test_skip_need("cgroup", "no cgroup hierarchy is mounted");
	snprintf(in.name, sizeof(in.name), "coati-test-%d", (int)getpid());
	if ((size_t)snprintf(in.dir, sizeof(in.dir), "%s/%s", m.path, in.name) >= sizeof(in.dir) ||
	    mkdir(in.dir, 0755) < 0)
		test_skip_need("cgroup", "no cgroup can be made below %s: %s", m.path,
			       strerror(errno));
	start(&in);
	r = move(&in) ? count_inmate(&in, &count, &err) : -EIO;
	stop(&in);
	CHECK_INT(access(in.dir, F_OK), ==, -1);
	if (r < 0)
		test_fail_at(__FILE__, __LINE__, "%d: %s", r, err.text);
	CHECK_U64(count.value, ==, PAGES_INSIDE);
}

TEST(cgroup_of_a_hierarchy_that_perf_does_not_follow_is_refused)
{
	struct coati_error err = { 0 };
	int r;

	if (access("/sys/fs/cgroup/cpuset/cgroup.procs", F_OK) < 0)
		test_skip("no other hierarchy of cgroup v1 is mounted");
	r = coati_cgroup_open("/sys/fs/cgroup/cpuset", &err);
	if (r == -EOPNOTSUPP)
		test_skip_need("cgroup", "%s", err.text);
	CHECK_ERR(r, -EINVAL);
	CHECK_HAS(err.text, "perf events do not follow");
}
