/* SPDX-License-Identifier: MIT */
/* What the kernel writes of tasks, mappings and itself, held against what the test did. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"
#include "record-tap.h"
#include "lib/bpf-asm.h"

#define RING_BYTES (256 * 1024)

/* An event that counts nothing and writes what @flags ask for, with every field in its trailer. */
static struct coati_attr side_band(uint64_t flags)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);

	attr.sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_ID |
			   COATI_SAMPLE_STREAM_ID | COATI_SAMPLE_CPU | COATI_SAMPLE_IDENTIFIER;
	attr.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_SAMPLE_ID_ALL | flags;
	attr.flags |= COATI_ATTR_USE_CLOCKID;
	attr.clockid = CLOCK_MONOTONIC;
	return attr;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The trailer names our event, that task and a time since @start. */
static void check_trailer(const struct tap *t, const struct coati_record *rec, pid_t pid,
			  uint64_t start)
{
	CHECK_U64(rec->id.present, ==, t->fmt.sample_type);
	CHECK_INT(rec->id.pid, ==, pid);
	CHECK_U64(rec->id.id, ==, t->id);
	CHECK_U64(rec->id.time, >=, start);
	CHECK_U64(rec->id.time, <=, now());
	CHECK_INT(rec->id.cpu, <, sysconf(_SC_NPROCESSORS_CONF));
}

/* A child that waits for its event, does @work and is gone at once. */
static pid_t run_child(struct tap *t, const struct coati_attr *attr, void (*work)(void))
{
	int go[2], status;
	char c = 0;
	pid_t pid;

	need_perf();
	CHECK_OK(pipe2(go, O_CLOEXEC));
	pid = fork();
	CHECK_OK(pid);
	if (pid == 0) {
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		if (work)
			work();
		_exit(0);
	}
	tap_open(t, attr, COATI_ON(pid, -1), RING_BYTES);
	CHECK_INT(write(go[1], &c, 1), ==, 1);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	close(go[0]);
	close(go[1]);
	return pid;
}

static void rename_task(void)
{
	prctl(PR_SET_NAME, "other name");
}

TEST(kernel_comm_record_names_the_task_even_when_it_is_gone)
{
	struct coati_attr attr = side_band(COATI_ATTR_COMM);
	uint64_t start = now();
	struct coati_record rec;
	struct tap t;
	pid_t pid = run_child(&t, &attr, rename_task);

	tap_find(&t, COATI_RECORD_COMM, &rec);
	CHECK_STR(rec.u.comm.name, "other name");
	CHECK_INT(rec.u.comm.pid, ==, pid);
	CHECK_INT(rec.u.comm.tid, ==, pid);
	CHECK(!(rec.misc & COATI_MISC_COMM_EXEC));
	check_trailer(&t, &rec, pid, start);
	tap_close(&t);
}

TEST(kernel_comm_record_of_every_length_has_its_trailer)
{
	struct coati_attr attr = side_band(COATI_ATTR_COMM);
	struct coati_record rec;
	uint64_t start = now();
	struct tap t;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	for (size_t len = 0; len < 16; len++) {
		char name[17] = "";

		memset(name, 'x', len);
		CHECK_OK(prctl(PR_SET_NAME, name));
		tap_find(&t, COATI_RECORD_COMM, &rec);
		CHECK_STR(rec.u.comm.name, name);
		check_trailer(&t, &rec, getpid(), start);
	}
	tap_close(&t);
}

TEST(kernel_exit_record_names_the_child)
{
	struct coati_attr attr = side_band(COATI_ATTR_TASK);
	uint64_t start = now();
	struct coati_record rec;
	struct tap t;
	pid_t pid = run_child(&t, &attr, NULL);

	tap_find(&t, COATI_RECORD_EXIT, &rec);
	CHECK_INT(rec.u.task.pid, ==, pid);
	CHECK_INT(rec.u.task.tid, ==, pid);
	CHECK_INT(rec.u.task.ppid, ==, getpid());
	CHECK_U64(rec.u.task.time, >=, start);
	check_trailer(&t, &rec, pid, start);
	tap_close(&t);
}

TEST(kernel_fork_record_names_parent_and_child)
{
	struct coati_attr attr = side_band(COATI_ATTR_TASK);
	uint64_t start = now();
	struct coati_record rec;
	struct tap t;
	int status;
	pid_t pid;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	tap_find(&t, COATI_RECORD_FORK, &rec);
	CHECK_INT(rec.u.task.pid, ==, pid);
	CHECK_INT(rec.u.task.tid, ==, pid);
	CHECK_INT(rec.u.task.ppid, ==, getpid());
	CHECK_INT(rec.u.task.ptid, ==, getpid());
	check_trailer(&t, &rec, getpid(), start);
	tap_close(&t);
}

/* Maps our own program where it can be run, and returns where. */
static void *map_program(struct stat *st)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *p;

	CHECK_OK(fd);
	CHECK_OK(fstat(fd, st));
	p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	CHECK(p != MAP_FAILED);
	close(fd);
	return p;
}

static void check_mapping(const struct coati_mmap *m, const void *p)
{
	char exe[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	CHECK_OK(len);
	exe[len] = '\0';
	CHECK_STR(m->name, exe);
	CHECK_INT(m->pid, ==, getpid());
	CHECK_U64(m->addr, ==, (uintptr_t)p);
	CHECK_U64(m->len, ==, 8192);
	CHECK_U64(m->pgoff, ==, 4096);
}

TEST(kernel_mmap_record_says_what_was_mapped)
{
	struct coati_attr attr = side_band(COATI_ATTR_MMAP);
	uint64_t start = now();
	struct coati_record rec;
	struct stat st;
	struct tap t;
	void *p;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	p = map_program(&st);
	tap_find(&t, COATI_RECORD_MMAP, &rec);
	check_mapping(&rec.u.mmap, p);
	check_trailer(&t, &rec, getpid(), start);
	tap_close(&t);
}

TEST(kernel_mmap2_record_has_the_file_behind_it)
{
	struct coati_attr attr = side_band(COATI_ATTR_MMAP | COATI_ATTR_MMAP2);
	uint64_t start = now();
	struct coati_record rec;
	struct stat st;
	struct tap t;
	void *p;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	p = map_program(&st);
	tap_find(&t, COATI_RECORD_MMAP2, &rec);
	check_mapping(&rec.u.mmap, p);
	CHECK_U64(rec.u.mmap.ino, ==, st.st_ino);
	CHECK_U64(rec.u.mmap.prot, ==, PROT_READ | PROT_EXEC);
	CHECK_U64(rec.u.mmap.flags & MAP_PRIVATE, ==, MAP_PRIVATE);
	CHECK_INT(rec.u.mmap.build_id_size, ==, 0);
	check_trailer(&t, &rec, getpid(), start);
	tap_close(&t);
}

TEST(kernel_mmap2_record_has_a_build_id_where_the_file_has_one)
{
	struct coati_attr attr =
		side_band(COATI_ATTR_MMAP | COATI_ATTR_MMAP2 | COATI_ATTR_BUILD_ID);
	struct coati_record rec;
	struct stat st;
	struct tap t;
	void *p, *anon;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	p = map_program(&st);
	tap_find(&t, COATI_RECORD_MMAP2, &rec);
	check_mapping(&rec.u.mmap, p);
	if (!(rec.misc & COATI_MISC_MMAP_BUILD_ID))
		test_skip("the test program was linked without a build id");
	CHECK_INT(rec.u.mmap.build_id_size, ==, 20);
	CHECK_U64(rec.u.mmap.prot, ==, PROT_READ | PROT_EXEC);

	anon = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(anon != MAP_FAILED);
	tap_find(&t, COATI_RECORD_MMAP2, &rec);
	CHECK_STR(rec.u.mmap.name, "//anon");
	CHECK(!(rec.misc & COATI_MISC_MMAP_BUILD_ID));
	CHECK_INT(rec.u.mmap.build_id_size, ==, 0);
	tap_close(&t);
}

TEST(kernel_switch_record_says_that_we_slept)
{
	struct coati_attr attr = side_band(COATI_ATTR_CONTEXT_SWITCH);
	struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t start = now();
	struct coati_record rec;
	struct tap t;

	need_perf();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	nanosleep(&nap, NULL);
	tap_find(&t, COATI_RECORD_SWITCH, &rec);
	CHECK(rec.misc & COATI_MISC_SWITCH_OUT);
	check_trailer(&t, &rec, getpid(), start);
	tap_find(&t, COATI_RECORD_SWITCH, &rec);
	CHECK(!(rec.misc & COATI_MISC_SWITCH_OUT));
	tap_close(&t);
}

/* Two threads on one CPU that wake each other in turns. */
struct pair {
	int to_other[2], to_us[2];
	uint32_t tid;
	int cpu;
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK_OK(sched_setaffinity(0, sizeof(set), &set));
}

static void *answer(void *arg)
{
	struct pair *pair = arg;
	char c;

	pin(pair->cpu);
	pair->tid = (uint32_t)syscall(SYS_gettid);
	while (read(pair->to_other[0], &c, 1) == 1 && c)
		if (write(pair->to_us[1], &c, 1) != 1)
			break;
	return NULL;
}

/* Bit 0: we left, bit 1: we came, bit 2: the other left, bit 3: the other came. */
static unsigned int directions(struct tap *t, const struct pair *pair)
{
	unsigned int seen = 0;
	struct coati_record rec;

	while (tap_next(t, &rec)) {
		bool out = rec.misc & COATI_MISC_SWITCH_OUT;

		if (rec.type != COATI_RECORD_SWITCH_CPU_WIDE)
			continue;
		CHECK_INT(rec.id.cpu, ==, pair->cpu);
		if (rec.id.tid == (uint32_t)getpid() && rec.u.sw.next_prev_tid == pair->tid)
			seen |= out ? 1 : 2;
		if (rec.id.tid == pair->tid && rec.u.sw.next_prev_tid == (uint32_t)getpid())
			seen |= out ? 4 : 8;
	}
	return seen;
}

TEST(kernel_cpu_wide_switch_records_show_both_threads_in_both_directions)
{
	struct coati_attr attr = side_band(COATI_ATTR_CONTEXT_SWITCH);
	struct pair pair = { .cpu = sched_getcpu() };
	unsigned int seen = 0;
	pthread_t thread;
	struct tap t;
	char c = 1;

	need_root();
	pin(pair.cpu);
	CHECK_OK(pipe2(pair.to_other, O_CLOEXEC));
	CHECK_OK(pipe2(pair.to_us, O_CLOEXEC));
	CHECK_INT(pthread_create(&thread, NULL, answer, &pair), ==, 0);
	tap_open(&t, &attr, COATI_ON(-1, pair.cpu), RING_BYTES);
	/* Others may come in between: as often as it takes. */
	for (int i = 0; i < 10000 && seen != 15; i++) {
		CHECK_INT(write(pair.to_other[1], &c, 1), ==, 1);
		CHECK_INT(read(pair.to_us[0], &c, 1), ==, 1);
		seen |= directions(&t, &pair);
	}
	CHECK_INT(seen, ==, 15);
	c = 0;
	CHECK_INT(write(pair.to_other[1], &c, 1), ==, 1);
	pthread_join(thread, NULL);
	tap_close(&t);
}

/* A child that faults and runs another program; then its READ, if the kernel writes one. */
static bool child_leaves_a_read(struct tap *t, pid_t *ret_pid, struct coati_record *ret)
{
	uintptr_t pages = 25;
	pid_t pid = fork();

	CHECK_OK(pid);
	if (pid == 0) {
		touch_pages(&pages);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	*ret_pid = pid;
	while (tap_next(t, ret))
		/* a sanitizer may have a thread of its own in the child */
		if (ret->type == COATI_RECORD_READ && ret->u.read.tid == (uint32_t)pid)
			return true;
	return false;
}

/* Whether the kernel writes one depends on how the tasks were scheduled: it takes a few
 * children. */
TEST(kernel_read_record_has_the_counts_of_a_task_that_ended)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_read_value v;
	struct coati_record rec;
	bool found = false;
	struct tap t;
	pid_t pid;

	attr.sample_period = 1000000000;
	attr.sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_IDENTIFIER;
	attr.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_SAMPLE_ID_ALL |
		     COATI_ATTR_INHERIT_STAT | COATI_ATTR_INHERIT | COATI_ATTR_TASK;
	attr.read_format = COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID;
	need_perf();
	/* An event that is inherited has a ring only on one CPU. */
	pin(sched_getcpu());
	tap_open(&t, &attr, COATI_ON(0, sched_getcpu()), RING_BYTES);
	for (int i = 0; i < 300 && !found; i++)
		found = child_leaves_a_read(&t, &pid, &rec);
	if (!found)
		test_skip("300 children ended and the kernel wrote no READ");
	CHECK_INT(rec.u.read.pid, ==, pid);
	CHECK_U64(rec.u.read.block.nr, ==, 1);
	CHECK_U64(rec.u.read.block.enabled_ns, >, 0);
	CHECK_OK(coati_read_block_get(&rec.u.read.block, 0, &v));
	CHECK_U64(v.value, >=, 25);
	CHECK_U64(v.value, <, 10000);
	CHECK_U64(v.id, ==, t.id);
	CHECK_U64(rec.id.id, ==, t.id);
	tap_close(&t);
}

TEST(kernel_namespaces_record_has_the_inodes_of_proc)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct coati_attr attr = side_band(COATI_ATTR_NAMESPACES);
	struct coati_record rec;
	uint64_t start = now();
	struct tap t;

	need_root();
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	if (unshare(CLONE_NEWUTS) < 0)
		test_skip("no namespaces here: %s", strerror(errno));
	tap_find(&t, COATI_RECORD_NAMESPACES, &rec);
	CHECK_INT(rec.u.namespaces.pid, ==, getpid());
	CHECK_U64(rec.u.namespaces.nr, ==, 7);
	for (uint32_t i = 0; i < 7; i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		/* A kernel without that kind writes zeros. */
		if (stat(path, &st) == 0)
			CHECK_U64(coati_u64_at(&rec.u.namespaces.links, 2 * i + 1), ==, st.st_ino);
	}
	check_trailer(&t, &rec, getpid(), start);
	tap_close(&t);
}

/* Is the perf_event controller in a hierarchy of its own (version 1)? Records are written where it
 * is. */
static bool is_cgroup_v1(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[128];
	bool v1 = false;

	if (!f)
		test_skip_need("cgroup", "this kernel has no cgroups");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "perf_event\t", 11))
			v1 = line[11] != '0';
	fclose(f);
	return v1;
}

TEST(kernel_cgroup_record_has_id_and_path)
{
	/* An event that asks for nothing but CGROUP is not told: another kind must go with it. */
	struct coati_attr attr = side_band(COATI_ATTR_CGROUP | COATI_ATTR_COMM);
	char path[] = "cg/coati-test-XXXXXX";
	bool v1 = is_cgroup_v1();
	struct coati_record rec;
	struct stat st;
	struct tap t;

	need_root();
	CHECK_OK(mkdir("cg", 0700));
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "cg", v1 ? "cgroup" : "cgroup2", 0, v1 ? "perf_event" : NULL) < 0)
		test_skip_need("cgroup", "cgroups cannot be mounted: %s", strerror(errno));
	pin(sched_getcpu());
	tap_open(&t, &attr, COATI_ON(-1, sched_getcpu()), RING_BYTES);
	CHECK(mkdtemp(path));
	CHECK_OK(stat(path, &st));
	CHECK_OK(rmdir(path));
	CHECK_OK(umount("cg"));
	do
		tap_find(&t, COATI_RECORD_CGROUP, &rec);
	while (rec.u.cgroup.id != st.st_ino);
	CHECK_HAS(rec.u.cgroup.path, strrchr(path, '/'));
	CHECK_U64(rec.id.id, ==, t.id);
	tap_close(&t);
}

TEST(kernel_ksymbol_and_bpf_event_records_tell_of_a_program)
{
	struct coati_attr attr = side_band(COATI_ATTR_KSYMBOL | COATI_ATTR_BPF_EVENT);
	const struct bpf_insn insns[] = { ASM_MOV_IMM(BPF_REG_0, 7), ASM_EXIT() };
	struct coati_record rec;
	uint32_t id = 0;
	struct tap t;
	int fd;

	need_root();
	pin(sched_getcpu());
	tap_open(&t, &attr, COATI_ON(-1, sched_getcpu()), RING_BYTES);
	fd = bpf_asm_load(insns, 2, NULL);
	if (fd < 0)
		test_skip_need("bpf", "a BPF program cannot be loaded: %s", strerror(-fd));
	while (tap_next(&t, &rec)) {
		if (rec.type == COATI_RECORD_BPF_EVENT && rec.u.bpf_event.bpf_type == 1 &&
		    rec.id.pid == (uint32_t)getpid())
			id = rec.u.bpf_event.id;
		if (rec.type == COATI_RECORD_KSYMBOL && !rec.u.ksymbol.flags) {
			CHECK_INT(rec.u.ksymbol.ksym_type, ==, 1);
			CHECK_HAS(rec.u.ksymbol.name, "bpf_prog_");
			CHECK_U64(rec.u.ksymbol.addr, >, UINT64_C(1) << 63);
			CHECK_U64(rec.u.ksymbol.len, >, 0);
			CHECK_U64(rec.id.id, ==, t.id);
		}
	}
	CHECK_U64(id, >, 0);
	close(fd);
	tap_close(&t);
}
