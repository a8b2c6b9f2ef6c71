/* SPDX-License-Identifier: MIT */
/* Processes that run here and now, and those whose /proc lies or is gone. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "lib/fake-tree.h"
#include "lib/test.h"
#include "process/processes.h"
#include "unit/process-feeder.h"

static const char maps[] =
	"00400000-00402000 r--p 00000000 fe:01 77                         /bin/with blank\n"
	"00402000-00404000 r-xp 00002000 fe:01 77                         /bin/with blank\n"
	"00500000-00501000 rwxp 00000000 00:00 0 \n"
	"00600000-00601000 r-xp 00000000 00:01 9                          /memfd:code (deleted)\n"
	"garbage\n"
	"00700000-00700000 r-xp 00000000 00:01 9                          /empty\n"
	"7ffe00000000-7ffe00002000 r-xp 00000000 00:00 0                  [vdso]\n";

static void open_live(struct feeder *f, const char *procfs)
{
	struct coati_processes_opts o = { .size = sizeof(o),
					  .flags = COATI_PROCESSES_LIVE,
					  .procfs = procfs };

	feeder_open(f, &o);
}

static void fake_live(const char *text)
{
	CHECK_OK(fake_file("proc/42", "maps", text));
	CHECK_OK(fake_file("proc/42", "stat",
			   "42 (na) me) S 7 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1\n"));
}

TEST(live_process_is_read_when_it_is_first_asked_for)
{
	struct coati_thread_info info;
	struct coati_place place;
	struct feeder f;

	fake_live(maps);
	open_live(&f, "proc");
	CHECK_U64(coati_processes_space(f.ps, 42, 100), !=, 0);
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "/bin/with blank");
	CHECK_STR(feeder_path(&f, 42, 0x400010, 100), "-");
	CHECK_STR(feeder_path(&f, 42, 0x500010, 100), "[anon pid 42]");
	CHECK_STR(feeder_path(&f, 42, 0x600010, 100), "/memfd:code (deleted)");
	CHECK_STR(feeder_path(&f, 42, 0x7ffe00000010, 100), "[vdso]");
	CHECK_OK(coati_processes_find(f.ps, 42, 0x403000, 100, &place));
	CHECK_U64(place.pgoff, ==, 0x2000);
	CHECK_U64(place.vaddr, ==, 0x3000);
	CHECK_OK(coati_processes_thread(f.ps, 42, 42, 100, &info));
	CHECK_STR(info.comm, "na) me");
	CHECK_INT(info.ppid, ==, 7);
	feeder_close(&f);
}

TEST(live_thread_has_the_name_that_proc_tells)
{
	struct feeder f;

	fake_live(maps);
	CHECK_OK(fake_file("proc/42", "task/43/comm", "worker\n"));
	open_live(&f, "proc");
	CHECK_STR(feeder_name(&f, 42, 43, 100), "worker");
	CHECK_STR(feeder_name(&f, 42, 44, 100), ":44");
	feeder_close(&f);
}

TEST(live_process_that_is_gone_is_not_known)
{
	struct feeder f;

	CHECK_OK(mkdir("proc", 0700));
	open_live(&f, "proc");
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "-");
	CHECK_STR(feeder_name(&f, 42, 42, 100), ":42");
	feeder_close(&f);
}

/* 0 is what a CPU does when it has nothing to do: whatever the folder has of that name. */
TEST(live_process_0_is_never_read)
{
	struct feeder f;

	fake_live(maps);
	CHECK_OK(fake_file("proc/0", "maps", maps));
	open_live(&f, "proc");
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "/bin/with blank");
	CHECK_STR(feeder_path(&f, 0, 0x402010, 100), "-");
	CHECK_STR(feeder_path(&f, -1, 0x402010, 100), "-");
	CHECK_OK(feeder_fork(&f, 43, 0, 50));
	CHECK_STR(feeder_path(&f, 43, 0x402010, 100), "-");
	feeder_close(&f);
}

TEST(live_process_is_not_read_when_its_start_was_told)
{
	struct feeder f;

	fake_live(maps);
	open_live(&f, "proc");
	CHECK_OK(feeder_fork(&f, 42, 1, 50));
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "-");
	feeder_close(&f);
}

TEST(live_parent_is_read_for_what_its_child_took_over)
{
	struct feeder f;

	fake_live(maps);
	open_live(&f, "proc");
	CHECK_OK(feeder_fork(&f, 43, 42, 50));
	CHECK_STR(feeder_path(&f, 43, 0x402010, 100), "/bin/with blank");
	feeder_close(&f);
}

TEST(live_exec_ends_what_was_read)
{
	struct feeder f;

	fake_live(maps);
	open_live(&f, "proc");
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "/bin/with blank");
	CHECK_OK(feeder_exec(&f, 42, 200, "other"));
	CHECK_STR(feeder_path(&f, 42, 0x402010, 199), "/bin/with blank");
	CHECK_STR(feeder_path(&f, 42, 0x402010, 200), "-");
	feeder_close(&f);
}

TEST(live_files_that_are_malformed_do_no_harm)
{
	static const char *const bad[] = { "",
					   "\n",
					   "x",
					   "-",
					   "0-0 r-xp",
					   "zz-zz r-xp 0 0:0 0 x\n",
					   "1-2 r-xp 0 0:0 0\n1-2 r-xp 0 0:0 0\n",
					   "ffffffffffffffff-0 r-xp 0 0:0 0 x\n",
					   "0-ffffffffffffffff r-xp ffffffffffffffff 0:0 0 x\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct feeder f;

		fake_live(bad[i]);
		CHECK_OK(fake_file("proc/42", "stat", bad[i]));
		open_live(&f, "proc");
		(void)coati_processes_space(f.ps, 42, 1);
		(void)feeder_path(&f, 42, 0x402010, 100);
		(void)feeder_name(&f, 42, 42, 100);
		feeder_close(&f);
	}
}

TEST(live_reading_bears_that_memory_ends)
{
	fake_live(maps);
	for (uint64_t n = 0; n < 80; n++) {
		struct coati_place place;
		struct feeder f;

		open_live(&f, "proc");
		coati_alloc_fail_after(n);
		(void)coati_processes_find(f.ps, 42, 0x402010, 100, &place);
		coati_alloc_fail_after(UINT64_MAX);
		feeder_close(&f);
	}
}

TEST(live_reading_of_ourselves_finds_this_function)
{
	struct coati_thread_info info;
	struct coati_image_info image = { .size = sizeof(image) };
	struct coati_place place;
	struct feeder f;
	char exe[4096] = "", name[32] = "";

	if (test_emulated())
		test_skip("the mappings are the emulator's");
	CHECK_INT(readlink("/proc/self/exe", exe, sizeof(exe) - 1), >, 0);
	prctl(PR_GET_NAME, name);
	open_live(&f, NULL);
	CHECK_OK(coati_processes_find(f.ps, getpid(), (uintptr_t)open_live, 1, &place));
	CHECK_OK(coati_image_info(f.images, place.image, &image));
	CHECK_STR(image.path, exe);
	CHECK_OK(coati_processes_thread(f.ps, getpid(), getpid(), 1, &info));
	CHECK_STR(info.comm, name);
	CHECK_INT(info.ppid, ==, getppid());
	CHECK_U64(info.mnt_ns, !=, 0);
	feeder_close(&f);
}

/* Children that become another program or end while they are read: each answer is one or the other,
 * or nothing. */
TEST(live_reading_races_with_exec_and_exit)
{
	for (int i = 0; i < 40; i++) {
		struct coati_place place;
		struct feeder f;
		pid_t pid = fork();

		if (pid == 0) {
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		open_live(&f, NULL);
		if (coati_processes_find(f.ps, pid, (uintptr_t)open_live, 1, &place) == 0)
			CHECK(place.image != COATI_IMAGE_NONE);
		CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
		feeder_close(&f);
	}
}

/* ---- perf maps of what runs ---- */

struct live_jit {
	struct coati_images *images;
	struct coati_processes *ps;
};

static void open_jit(struct live_jit *l, uint32_t flags)
{
	struct coati_images_opts io = {
		.size = sizeof(io), .flags = COATI_IMAGES_NO_CACHE, .procfs = "proc", .root = "here"
	};
	struct coati_processes_opts po = { .size = sizeof(po), .flags = flags, .procfs = "proc" };
	char status[128];

	fake_live(maps);
	snprintf(status, sizeof(status), "Uid:\t%u\t%u\t0\t0\nNSpid:\t42\t7\n",
		 (unsigned int)geteuid(), (unsigned int)geteuid());
	CHECK_OK(fake_file("proc/42", "status", status));
	CHECK_OK(fake_file("proc/42", "root/tmp/x", ""));
	CHECK_OK(fake_file("here", "tmp/x", ""));
	CHECK_OK(coati_images_new(&io, &l->images, NULL));
	CHECK_OK(coati_processes_new(l->images, &po, &l->ps, NULL));
}

static struct coati_image_info image_at(struct live_jit *l, uint64_t addr,
					struct coati_address *ret)
{
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_place place;

	CHECK_OK(coati_processes_find(l->ps, 42, addr, 100, &place));
	CHECK_OK(coati_image_info(l->images, place.image, &info));
	*ret = (struct coati_address){ .image = place.image, .vaddr = place.vaddr, .time = 100 };
	return info;
}

static const char *name_of(struct live_jit *l, struct coati_address *a)
{
	CHECK_OK(coati_images_resolve(l->images, a, 1, 0, NULL));
	return a->names[0].function;
}

static void close_jit(struct live_jit *l)
{
	coati_processes_free(&l->ps);
	coati_images_free(&l->images);
}

TEST(live_perf_map_is_read_when_the_names_are_wanted)
{
	struct coati_address a, before;
	struct live_jit l;

	open_jit(&l, COATI_PROCESSES_LIVE);
	CHECK_INT(image_at(&l, 0x500010, &before).kind, ==, COATI_IMAGE_ANON);
	CHECK_OK(
		fake_file("proc/42", "root/tmp/perf-7.map", "500000 20 hot\n600000 20 in memfd\n"));
	CHECK_OK(coati_processes_load_jit(l.ps));
	CHECK_STR(name_of(&l, &before), "hot");
	CHECK_INT(image_at(&l, 0x402010, &a).kind, ==, COATI_IMAGE_FILE);
	close_jit(&l);
}

TEST(live_perf_map_that_is_there_makes_memory_a_jit)
{
	struct coati_address a;
	struct live_jit l;

	open_jit(&l, COATI_PROCESSES_LIVE);
	CHECK_OK(fake_file("proc/42", "root/tmp/perf-7.map", "500000 20 hot\n"));
	CHECK_INT(image_at(&l, 0x500010, &a).kind, ==, COATI_IMAGE_JIT);
	CHECK_OK(
		fake_file("proc/42", "root/tmp/perf-7.map", "500000 20 hot\n600000 20 in memfd\n"));
	CHECK_OK(coati_processes_load_jit(l.ps));
	CHECK_STR(name_of(&l, &a), "hot");
	CHECK_INT(image_at(&l, 0x600010, &a).kind, ==, COATI_IMAGE_JIT);
	CHECK_STR(name_of(&l, &a), "in memfd");
	close_jit(&l);
}

TEST(perf_map_of_a_recording_is_read_at_the_first_address)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2,
				    .misc = COATI_MISC_USER,
				    .u.mmap = { .pid = 42,
						.addr = 0x500000,
						.len = 0x1000,
						.pgoff = 0x500000,
						.name = "//anon" } };
	struct coati_raw raw = { .type = rec.type };
	struct coati_address a;
	struct live_jit l;

	open_jit(&l, 0);
	CHECK_OK(fake_file("here", "tmp/perf-42.map", "500000 20 hot\n"));
	CHECK_OK(coati_processes_feed(l.ps, &raw, &rec));
	CHECK_INT(image_at(&l, 0x500010, &a).kind, ==, COATI_IMAGE_JIT);
	CHECK_STR(name_of(&l, &a), "hot");
	close_jit(&l);
}
