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
	CHECK_STR(feeder_path(&f, 42, 0x500010, 100), "[anon 42]");
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

TEST(live_process_that_is_gone_is_not_known)
{
	struct feeder f;

	CHECK_OK(mkdir("proc", 0700));
	open_live(&f, "proc");
	CHECK_STR(feeder_path(&f, 42, 0x402010, 100), "-");
	CHECK_STR(feeder_name(&f, 42, 42, 100), ":42");
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
	struct coati_image_info image;
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

/* Children that become another program or end while they are read: each answer is one or the other, or nothing. */
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
