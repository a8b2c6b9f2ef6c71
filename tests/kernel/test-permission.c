/* SPDX-License-Identifier: MIT */
/*
 * As an ordinary user at several levels of kernel.perf_event_paranoid: each refusal names the level
 * and the remedy. The level is changed for some milliseconds only; other people may be using this
 * machine.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event/event.h"
#include "need.h"

/* What the ordinary user saw, through a pipe: the code and the sentence. */
struct seen {
	int code;
	char text[COATI_ERROR_TEXT];
};

static struct seen as_nobody(int level, const struct coati_attr *attr,
			     const struct coati_target *target)
{
	struct seen seen = { 0, "" };
	int fds[2], go[2];
	pid_t pid;
	char byte = 0;

	CHECK_OK(pipe(fds));
	CHECK_OK(pipe(go));
	pid = fork();
	if (pid == 0) {
		struct coati_event *ev = NULL;
		struct coati_error err = { 0 };

		close(go[1]);
		become_nobody();
		if (write(fds[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		seen.code = coati_event_open(attr, target, NULL, &ev, &err);
		memcpy(seen.text, err.text, sizeof(seen.text));
		_exit(write(fds[1], &seen, sizeof(seen)) == sizeof(seen) ? 0 : 1);
	}
	CHECK_INT(read(fds[0], &byte, 1), ==, 1); /* ready: now be quick */
	need_paranoid(level);
	(void)!write(go[1], &byte, 1);
	(void)!read(fds[0], &seen, sizeof(seen));
	restore_paranoid();
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(go[i]);
	}
	return seen;
}

static const struct coati_target cpu0 = { -1, 0, -1 };
static const struct coati_target self = { 0, -1, -1 };

static struct coati_attr user_only(uint32_t type)
{
	return (struct coati_attr){ .type = type,
				    .config = COATI_SW_PAGE_FAULTS,
				    .flags = COATI_ATTR_EXCLUDE_KERNEL };
}

TEST(permission_own_user_space_opens_up_to_level_2)
{
	struct coati_attr attr = user_only(COATI_TYPE_SOFTWARE);

	need_root();
	for (int level = -1; level <= 2; level++)
		CHECK_OK(as_nobody(level, &attr, &self).code);
}

TEST(permission_kernel_part_names_level_1)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_PAGE_FAULTS };

	need_root();
	CHECK_OK(as_nobody(1, &attr, &self).code);
	for (int level = 2; level <= 4; level++) {
		struct seen seen = as_nobody(level, &attr, &self);

		CHECK_ERR(seen.code, -EACCES);
		CHECK_HAS(seen.text, "page-faults");
		CHECK_HAS(seen.text, "sysctl -w kernel.perf_event_paranoid=1");
		CHECK_HAS(seen.text, "setcap");
	}
}

TEST(permission_whole_cpu_names_level_0)
{
	struct coati_attr attr = user_only(COATI_TYPE_SOFTWARE);

	need_root();
	CHECK_OK(as_nobody(0, &attr, &cpu0).code);
	for (int level = 1; level <= 4; level++) {
		struct seen seen = as_nobody(level, &attr, &cpu0);

		CHECK_ERR(seen.code, -EACCES);
		CHECK_HAS(seen.text, "on CPU 0");
		CHECK_HAS(seen.text, "sysctl -w kernel.perf_event_paranoid=0");
	}
}

TEST(permission_payload_of_a_tracepoint_names_level_minus_1)
{
	struct coati_attr attr = need_tracepoint("sched", "sched_switch");

	need_root();
	attr.sample_period = 1;
	attr.sample_type = COATI_SAMPLE_RAW;
	attr.flags |= COATI_ATTR_EXCLUDE_KERNEL;
	for (int level = 0; level <= 4; level++) {
		struct seen seen = as_nobody(level, &attr, &self);

		CHECK_INT(seen.code, <, 0);
		CHECK_HAS(seen.text, "sysctl -w kernel.perf_event_paranoid=-1");
	}
}

TEST(permission_other_peoples_process_names_the_owner_not_the_level)
{
	struct coati_attr attr = user_only(COATI_TYPE_SOFTWARE);
	struct coati_target us = { getpid(), -1, -1 };

	need_root();
	for (int level = -1; level <= 2; level++) {
		struct seen seen = as_nobody(level, &attr, &us);

		CHECK_ERR(seen.code, -EACCES);
		CHECK_HAS(seen.text, "belongs to user 0");
		CHECK(!strstr(seen.text, "sysctl"));
	}
}

TEST(permission_probe_names_the_capability)
{
	struct coati_attr attr = { .flags = COATI_ATTR_EXCLUDE_KERNEL };
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	char text[16] = "";
	struct seen seen;

	need_root();
	if (!f || !fgets(text, sizeof(text), f))
		test_skip_need("uprobe", "no uprobe PMU");
	fclose(f);
	for (const char *p = text; *p >= '0' && *p <= '9'; p++)
		attr.type = attr.type * 10 + (uint32_t)(*p - '0');
	attr.config1 = (uint64_t)(uintptr_t) "/bin/true";
	seen = as_nobody(2, &attr, &self);
	CHECK_ERR(seen.code, -EACCES);
	CHECK_HAS(seen.text, "probes are for privileged users");
	CHECK_HAS(seen.text, "cap_perfmon");
}

TEST(permission_refused_kernel_part_falls_back_with_leave)
{
	int status;
	pid_t pid;

	need_root();
	pid = fork();
	if (pid == 0) {
		struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
					   .config = COATI_SW_PAGE_FAULTS };
		struct coati_event_opts opts = { .size = sizeof(opts),
						 .flags = COATI_EVENT_USER_OK };
		struct coati_event *ev = NULL;

		become_nobody();
		if (coati_event_open(&attr, &COATI_SELF, &opts, &ev, NULL) < 0)
			_exit(1);
		_exit(coati_event_dropped(ev) == COATI_DROP_KERNEL || coati_event_dropped(ev) == 0
			      ? /* level 1 or lower */
			      0
			      : 2);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}
