/* SPDX-License-Identifier: MIT */
/*
 * SIGKILL at any moment: the tool can clear nothing away, so there must be nothing to clear away.
 * Probes that it put on this very program are seen here as a changed instruction and a raised
 * semaphore.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "probed.h"

#define ROUNDS		 12
#define WAIT_MS		 5000 /* until what is gone is gone for good; a bound, not a measure */
#define TEXT_BYTES	 8
#define MAX_DELAY_US	 60000
#define LONGEST_DELAY_US 4000000

static uint8_t clean[TEXT_BYTES];

static bool is_probed(void)
{
	return coati_test_semaphore != 0 ||
	       memcmp(clean, (const void *)(uintptr_t)coati_test_target, TEXT_BYTES) != 0;
}

/* ---- the kernel's log ---- */

/* From now on; -1: it cannot be read. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		CHECK_OK(lseek(fd, 0, SEEK_END));
	return fd;
}

/* Whether the kernel says that a process of the name coati left a uprobe behind. */
static bool says_leaking(int log)
{
	char line[8192];
	bool found = false;
	ssize_t n;

	/* EPIPE: messages were overwritten meanwhile */
	while (log >= 0 && ((n = read(log, line, sizeof(line) - 1)) > 0 || errno == EPIPE)) {
		line[n > 0 ? n : 0] = '\0';
		found |= strstr(line, "uprobe: coati:") && strstr(line, "leaking");
	}
	return found;
}

static void wait_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* Run the tool on all CPUs or on its command alone; what it prints goes nowhere. */
static pid_t start_tool(const char *events, bool everywhere)
{
	pid_t pid = fork();

	CHECK_OK(pid);
	if (pid == 0) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(fd, 1);
		dup2(fd, 2);
		if (everywhere)
			execl(test_tool(), "coati", "stat", "-a", "-e", events, "--", "sleep",
			      "1000", NULL);
		else
			execl(test_tool(), "coati", "stat", "-e", events, "--", "sleep", "1000",
			      NULL);
		_exit(126);
	}
	return pid;
}

/* Everything that the tool started has become ours: true when it ends by itself. */
static bool all_gone(void)
{
	for (int ms = 0; ms < WAIT_MS; ms += 5) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return true;
		wait_ms(5);
	}
	return false;
}

static bool becomes_clean(void)
{
	for (int ms = 0; ms < WAIT_MS && is_probed(); ms += 5)
		wait_ms(5);
	return !is_probed();
}

/* Wait until the probes are there; false when the tool ends instead. */
static bool becomes_probed(pid_t pid)
{
	for (int ms = 0; ms < WAIT_MS && !is_probed(); ms += 2) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == pid)
			return false;
		wait_ms(2);
	}
	return is_probed();
}

/* The tool must be there and know stat; with that, the probes must appear. */
static void need_stat(const char *events)
{
	char command[PATH_MAX + 64];
	pid_t pid;
	bool probed;

	need_root();
	if (access("/sys/bus/event_source/devices/uprobe/type", R_OK) < 0)
		test_skip_need("uprobe", "this kernel has no uprobe PMU");
	snprintf(command, sizeof(command), "'%s' stat -e page-faults -- true >/dev/null 2>&1",
		 test_tool());
	if (system(command) != 0)
		test_skip("%s stat does not run here", test_tool());
	pid = start_tool(events, true);
	probed = becomes_probed(pid);
	kill(pid, SIGKILL);
	CHECK(all_gone());
	CHECK(probed);
}

static void event_list(char *buf, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK_OK(n);
	self[n] = '\0';
	CHECK_INT(snprintf(buf, size,
			   "uprobe:'%s':coati_test_target,uretprobe:'%s':coati_test_recursive,"
			   "usdt:'%s':coati_test:tick",
			   self, self, self),
		  <, size);
}

/* A sanitizer sees the same in each round, more slowly. */
static int nr_rounds(void)
{
	return (int)test_rounds(test_slow() ? ROUNDS / 2 : ROUNDS);
}

TEST_LIMIT(leftover_of_a_killed_stat_is_neither_probe_nor_process, 120)
{
	char events[3 * PATH_MAX];
	int nr_probed = 0, rounds = nr_rounds(), log = open_log();
	uint64_t max_delay_us = MAX_DELAY_US;

	memcpy(clean, (const void *)(uintptr_t)coati_test_target, TEXT_BYTES);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	event_list(events, sizeof(events));
	need_stat(events);
	for (int i = 0; i < rounds || (!nr_probed && i < 3 * rounds); i++) {
		pid_t pid = start_tool(events, i % 2 == 0);

		usleep((useconds_t)(test_random() % max_delay_us));
		nr_probed += is_probed();
		/* a slow machine has not got that far yet */
		if (!nr_probed && max_delay_us < LONGEST_DELAY_US)
			max_delay_us *= 2;
		CHECK_OK(kill(pid, SIGKILL));
		CHECK(all_gone());
		CHECK(becomes_clean());
	}
	CHECK(!says_leaking(log));
	close(log);
	test_note("%d of %d were killed with their probes in place", nr_probed, rounds);
	CHECK_INT(nr_probed, >, 0);
}

/* The same while the tool takes its probes away by itself: it is asked to end, and killed in the
 * middle of that. */
TEST_LIMIT(leftover_of_a_stat_that_is_killed_while_it_ends_is_neither_probe_nor_process, 120)
{
	int nr_probed = 0, rounds = nr_rounds(), log = open_log();
	char events[3 * PATH_MAX];

	memcpy(clean, (const void *)(uintptr_t)coati_test_target, TEXT_BYTES);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	event_list(events, sizeof(events));
	need_stat(events);
	for (int i = 0; i < rounds; i++) {
		pid_t pid = start_tool(events, true);

		CHECK(becomes_probed(pid));
		CHECK_OK(kill(pid, SIGINT));
		usleep((useconds_t)(test_random() % (4 * MAX_DELAY_US)));
		nr_probed += is_probed();
		CHECK_OK(kill(pid, SIGKILL));
		CHECK(all_gone());
		CHECK(becomes_clean());
	}
	CHECK(!says_leaking(log));
	close(log);
	test_note("%d of %d were killed with a probe in place", nr_probed, rounds);
}

static void read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	CHECK_OK(n);
	close(fd);
	buf[n] = '\0';
}

TEST_LIMIT(leftover_of_a_killed_stat_is_not_in_tracefs, 60)
{
	char events[3 * PATH_MAX], path[PATH_MAX], before[4096], after[4096];
	const char *tracefs = need_tracefs();
	pid_t pid;

	memcpy(clean, (const void *)(uintptr_t)coati_test_target, TEXT_BYTES);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	event_list(events, sizeof(events));
	need_stat(events);
	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs);
	read_file(path, before, sizeof(before));
	pid = start_tool(events, true);
	CHECK(becomes_probed(pid));
	CHECK_OK(kill(pid, SIGKILL));
	CHECK(all_gone());
	CHECK(becomes_clean());
	read_file(path, after, sizeof(after));
	CHECK_STR(after, before);
}
