/* SPDX-License-Identifier: MIT */
/* Where a thread sleeps, from files of a /proc that says anything. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/asleep.h"
#include "lib/fake-tree.h"

static int ask(struct asleep_stack *s)
{
	return coati_asleep_read(AT_FDCWD, "proc/task/7", s);
}

static void fake(const char *name, const char *text)
{
	CHECK_INT(fake_file("proc/task/7", name, text), ==, 0);
}

TEST(asleep_thread_has_the_kernel_s_stack_and_the_address_of_its_call)
{
	struct asleep_stack s;

	fake("syscall", "230 0x0 0x0 0x7ffe768878e0 0x7ffe76887920 0x0 0x0 0x7ffe768878c8 "
			"0x7fe6d78f2503\n");
	fake("stack", "[<0>] hrtimer_nanosleep+0x74/0xf0\n"
		      "[<0>] ext4_file_read+0x30/0x60 [ext4]\n"
		      "[<0>] ksys_read+0x71/0x280\n"
		      "[<0>] do_syscall_64+0x71/0x280\n"
		      "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n");
	CHECK_INT(ask(&s), ==, 1);
	CHECK_U64(s.ip, ==, 0x7fe6d78f2503);
	CHECK_INT(s.nr, ==, 3); /* without the way into the kernel */
	CHECK_STR(s.frames[0].name, "hrtimer_nanosleep");
	CHECK_U64(s.frames[0].offset, ==, 0x74);
	CHECK_STR(s.frames[1].name, "ext4_file_read");
	CHECK_STR(s.frames[2].name, "ksys_read");
	CHECK_U64(s.frames[2].offset, ==, 0x71);
}

TEST(asleep_thread_without_a_stack_has_the_function_that_it_waits_in)
{
	struct asleep_stack s;

	fake("syscall", "7 0x0 0x7ffe768878c8 0x7fe6d78f2503\n");
	fake("wchan", "poll_schedule_timeout.constprop.0");
	CHECK_INT(ask(&s), ==, 1);
	CHECK_INT(s.nr, ==, 1);
	CHECK_STR(s.frames[0].name, "poll_schedule_timeout.constprop.0");
	CHECK_U64(s.frames[0].offset, ==, 0);
	fake("wchan", "0"); /* hidden */
	CHECK_INT(ask(&s), ==, 1);
	CHECK_INT(s.nr, ==, 0);
}

TEST(asleep_thread_is_none_that_runs_or_has_gone)
{
	struct asleep_stack s;

	CHECK_INT(ask(&s), ==, 0);
	fake("syscall", "running\n");
	fake("stack", "[<0>] hrtimer_nanosleep+0x74/0xf0\n");
	CHECK_INT(ask(&s), ==, 0);
	fake("syscall", "");
	CHECK_INT(ask(&s), ==, 0);
}

TEST(asleep_stack_that_makes_no_sense_is_left_out)
{
	char many[16384] = "", name[300];
	struct asleep_stack s;

	fake("syscall", "-1 0x10 nonsense\n");
	fake("stack", "\n] \n[<0>] \n[<0>] a\n[<0>] b+0x\n[<0>] c+0x1\n[<0>] d+0xz/0x2\n"
		      "[<0>] e+0x5/0x9\n[<0>] f+0x11111111111111111/0x2");
	CHECK_INT(ask(&s), ==, 1);
	CHECK_U64(s.ip, ==, 0);
	CHECK_INT(s.nr, ==, 1);
	CHECK_STR(s.frames[0].name, "e");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many),
			 "[<0>] f%d+0x1/0x2\n[<0>] %.*s+0x1/0x2\n", i, i, name);
	fake("stack", many);
	CHECK_INT(ask(&s), ==, 1);
	CHECK_INT(s.nr, ==, ASLEEP_FRAMES);
}
