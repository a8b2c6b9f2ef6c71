/* SPDX-License-Identifier: MIT */
/* Recordings of real programs against what the programs themselves saw of their mappings and of the
 * code that they made. */
#include <coati/process.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/recording.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/parse.h"
#include "need.h"
#include "process/processes.h"

#define OUT	  "out.data"
#define TRUTH	  "truth"
#define NAMES_MAX 64

struct fact {
	int32_t pid;
	uint64_t from, to, start, end;
	const char *path;
};

struct tally {
	struct strbuf text;
	struct fact *facts;
	size_t nr_facts;
	struct coati_images *images;
	struct coati_processes *ps;
	uint64_t samples, checked, unknown, pids;
	int32_t pid; /* of the first */
	struct {
		const char *name;
		uint64_t samples;
	} names[NAMES_MAX];
};

static const char *program(void)
{
	const char *path = getenv("COATI_LIVE_LIVES");

	return path ? path : COATI_LIVE_LIVES_DEFAULT;
}

/* Record the program in that mode. */
static void record(const char *mode)
{
	const char *tool = test_tool();
	int status;
	pid_t pid;

	need_perf();
	pid = fork();
	CHECK_INT(pid, >=, 0);
	if (pid == 0) {
		execl(tool, tool, "record", "-q", "--no-pack", "-g", "none", "-e", "cpu-clock:u",
		      "-F", "5000", "-o", OUT, "--", program(), mode, TRUTH, (char *)NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		test_skip("code cannot be made at run time here");
	CHECK_INT(WEXITSTATUS(status), ==, 0);
}

static bool parse_fact(char *line, struct fact *ret)
{
	char *word[5];
	uint32_t pid = 0;

	for (int i = 0; i < 5; i++)
		if (!(word[i] = strsep(&line, " ")))
			return false;
	ret->path = line;
	CHECK_OK(coati_parse_u32(word[0], 1, INT32_MAX, &pid));
	ret->pid = (int32_t)pid;
	CHECK_OK(coati_parse_u64(word[1], 1, UINT64_MAX, &ret->from));
	CHECK_OK(coati_parse_u64(word[2], 1, UINT64_MAX, &ret->to));
	CHECK_OK(coati_parse_hex(word[3], &ret->start));
	CHECK_OK(coati_parse_hex(word[4], &ret->end));
	return line;
}

static void read_truth(struct tally *t)
{
	char *line, *rest;

	t->text = (struct strbuf)STRBUF_INIT(16 << 20);
	CHECK_OK(coati_file_read(AT_FDCWD, TRUTH, &t->text));
	t->facts = coati_alloc_array(t->text.len / 16 + 1, sizeof(*t->facts));
	CHECK(t->facts);
	rest = t->text.text;
	while ((line = strsep(&rest, "\n")))
		if (parse_fact(line, &t->facts[t->nr_facts]))
			t->nr_facts++;
}

static const char *name_of(struct tally *t, const struct coati_place *place, uint64_t time)
{
	struct coati_address a = { .image = place->image, .vaddr = place->vaddr, .time = time };

	CHECK_OK(coati_images_resolve(t->images, &a, 1, 0, NULL));
	return a.names[0].function;
}

static void count_name(struct tally *t, const char *name)
{
	for (int i = 0; i < NAMES_MAX; i++) {
		if (!t->names[i].name)
			t->names[i].name = name;
		if (strcmp(t->names[i].name, name) != 0)
			continue;
		t->names[i].samples++;
		return;
	}
}

static uint64_t samples_of(const struct tally *t, const char *name)
{
	for (int i = 0; i < NAMES_MAX && t->names[i].name; i++)
		if (!strcmp(t->names[i].name, name))
			return t->names[i].samples;
	return 0;
}

/* What the program saw at that time and place must be what we say. */
static void check_sample(struct tally *t, const struct coati_record *rec)
{
	uint64_t ip = rec->u.sample.ip, time = rec->id.time;
	int32_t pid = (int32_t)rec->id.pid;
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_place place;

	t->samples++;
	if (!t->pid)
		t->pid = pid;
	t->pids += pid != t->pid;
	if (coati_processes_find(t->ps, pid, ip, time, &place) < 0) {
		test_note("nothing at %llx of %d", (unsigned long long)ip, pid);
		t->unknown++;
		return;
	}
	CHECK_OK(coati_image_info(t->images, place.image, &info));
	if (info.kind == COATI_IMAGE_JIT)
		count_name(t, name_of(t, &place, time));
	for (size_t i = 0; i < t->nr_facts; i++) {
		const struct fact *f = &t->facts[i];

		if (f->pid != pid || time < f->from || time > f->to || ip < f->start ||
		    ip >= f->end)
			continue;
		CHECK_STR(info.path, f->path);
		t->checked++;
		break;
	}
}

static void read_recording(struct tally *t)
{
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	int n;

	*t = (struct tally){ 0 };
	read_truth(t);
	CHECK_OK(coati_images_new(NULL, &t->images, NULL));
	CHECK_OK(coati_processes_new(t->images, NULL, &t->ps, NULL));
	CHECK_OK(coati_recording_open(OUT, NULL, &r, NULL));
	while ((n = coati_recording_next(r, &item)) > 0) {
		CHECK_OK(coati_record_decode(
			&item.raw, coati_format_table_get(coati_recording_formats(r), item.event),
			&rec));
		CHECK_OK(coati_processes_feed(t->ps, &item.raw, &rec));
		if (rec.type == COATI_RECORD_SAMPLE)
			check_sample(t, &rec);
	}
	CHECK_INT(n, ==, 0);
	coati_recording_close(&r);
}

static void end(struct tally *t)
{
	coati_processes_free(&t->ps);
	coati_images_free(&t->images);
	coati_strbuf_fini(&t->text);
	coati_free(t->facts);
}

TEST(process_tree_with_threads_exec_and_libraries_maps_as_it_saw_itself)
{
	struct coati_processes_stats stats;
	struct tally t;

	record("tree");
	read_recording(&t);
	test_note("%llu samples, %llu held against the program's own maps, %llu in the child",
		  (unsigned long long)t.samples, (unsigned long long)t.checked,
		  (unsigned long long)t.pids);
	CHECK_U64(t.samples, >, 50);
	CHECK_U64(t.checked, >, t.samples / 2);
	CHECK_U64(t.unknown, ==, 0);
	CHECK_U64(t.pids, >, 10);
	coati_processes_get_stats(t.ps, &stats);
	CHECK_U64(stats.execs, >=, 2);
	CHECK_U64(stats.refused, ==, 0);
	end(&t);
}

TEST(process_with_a_perf_map_has_its_names)
{
	struct tally t;
	char path[64];

	record("map");
	read_recording(&t);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", t.pid);
	CHECK_OK(unlink(path));
	CHECK_U64(t.unknown, ==, 0);
	CHECK_U64(samples_of(&t, "made at run time"), >, t.samples / 2);
	end(&t);
}

TEST(process_with_a_jitdump_has_the_names_of_each_time)
{
	uint64_t first, second;
	struct tally t;

	record("dump");
	read_recording(&t);
	first = samples_of(&t, "first code");
	second = samples_of(&t, "second code");
	test_note("%llu samples, %llu and %llu in the two functions at one place",
		  (unsigned long long)t.samples, (unsigned long long)first,
		  (unsigned long long)second);
	CHECK_U64(t.unknown, ==, 0);
	CHECK_U64(first, >, t.samples / 5);
	CHECK_U64(second, >, t.samples / 5);
	end(&t);
}

/* ---- a container ---- */

struct contained {
	pid_t pid; /* as we see it; 0: no namespaces here */
	uint64_t addr;
};

/* Process 1 of its own namespace, with a perf map in a /tmp of its own. */
static void contained_main(int out)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = code == MAP_FAILED ? 0 : (uintptr_t)code;
	FILE *f = fopen("/tmp/perf-1.map", "we");

	if (!f)
		_exit(3);
	fprintf(f, "%llx 40 in a container\n", (unsigned long long)addr);
	fclose(f);
	(void)!write(out, &addr, sizeof(addr));
	for (;;)
		pause();
}

static void container_main(const int outs[2])
{
	pid_t pid = 0;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
		pid = fork();
	if (pid == 0 && getpid() == 1)
		contained_main(outs[1]);
	close(outs[1]);
	(void)!write(outs[0], &pid, sizeof(pid));
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

static struct contained start_container(pid_t *ret_outer)
{
	struct contained c = { 0 };
	int pids[2], addrs[2];

	CHECK_OK(pipe2(pids, O_CLOEXEC));
	CHECK_OK(pipe2(addrs, O_CLOEXEC));
	*ret_outer = fork();
	CHECK_INT(*ret_outer, >=, 0);
	if (*ret_outer == 0)
		container_main((const int[2]){ pids[1], addrs[1] });
	close(pids[1]);
	close(addrs[1]);
	if (read(pids[0], &c.pid, sizeof(c.pid)) != sizeof(c.pid) ||
	    read(addrs[0], &c.addr, sizeof(c.addr)) != sizeof(c.addr))
		c.addr = 0;
	close(pids[0]);
	close(addrs[0]);
	return c;
}

TEST(process_in_a_container_has_the_perf_map_of_its_own_folder)
{
	struct coati_processes_opts o = { .size = sizeof(o), .flags = COATI_PROCESSES_LIVE };
	struct coati_place place;
	struct contained c;
	struct tally t = { 0 };
	pid_t outer;

	need_root();
	c = start_container(&outer);
	if (!c.pid || !c.addr) {
		waitpid(outer, NULL, 0);
		test_skip("no namespaces here");
	}
	CHECK_OK(coati_images_new(NULL, &t.images, NULL));
	CHECK_OK(coati_processes_new(t.images, &o, &t.ps, NULL));
	CHECK_OK(coati_processes_find(t.ps, c.pid, c.addr + 8, 1, &place));
	CHECK_OK(coati_processes_load_jit(t.ps));
	CHECK_STR(name_of(&t, &place, 1), "in a container");
	CHECK_OK(kill(c.pid, SIGKILL));
	CHECK_INT(waitpid(outer, NULL, 0), ==, outer);
	coati_processes_free(&t.ps);
	coati_images_free(&t.images);
}
