/* SPDX-License-Identifier: MIT */
/*
 * The first and only process of the guest of scripts/test-vm. Mounts what the suites look at, runs each of them in
 * turn with its output on the serial console between two marks, and powers off. Arguments: the suites to run, as
 * the kernel hands them over from its command line; none: all.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *type, *where;
} mounts[] = {
	{ "proc", "/proc" },
	{ "sysfs", "/sys" },
	{ "devtmpfs", "/dev" },
	{ "tmpfs", "/tmp" },
	{ "tracefs", "/sys/kernel/tracing" },
	{ "cgroup2", "/sys/fs/cgroup" },
};

static const struct {
	const char *name, *program;
} suites[] = {
	{ "unit", "/tests/unit/unit-tests" },
	{ "kernel", "/tests/kernel/kernel-tests" },
};

static void mount_all(void)
{
	for (size_t i = 0; i < COUNT(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount("none", mounts[i].where, mounts[i].type, 0, NULL) < 0)
			printf("guest: mount %s: %m\n", mounts[i].where);
	}
	chmod("/tmp", 01777);
}

static void run(const char *name, const char *program)
{
	int status = 0;
	pid_t pid;

	if (access(program, X_OK) < 0)
		return;
	printf("\nguest: begin %s\n", name);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl(program, program, (char *)NULL);
		printf("guest: exec %s: %m\n", program);
		fflush(stdout);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	printf("\nguest: end %s %d\n", name,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	fflush(stdout);
}

static int wanted(char **argv, const char *name)
{
	if (!argv[1])
		return 1;
	for (argv++; *argv; argv++)
		if (!strcmp(*argv, name))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int console;

	(void)argc;
	mount_all();
	console = open("/dev/console", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(console, fd);
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("COATI_TEST_DATA", "/tests/data", 1);
	setenv("COATI_TOOL", "/cli/coati", 1);
	setenv("COATI_TEST_SLOW", "1", 1); /* every instruction is emulated */
	setenv("COATI_TEST_MUST", "root,perf,tracefs,hw,kprobe,uprobe", 1);
	for (size_t i = 0; i < COUNT(suites); i++)
		if (wanted(argv, suites[i].name))
			run(suites[i].name, suites[i].program);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
