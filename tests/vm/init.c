/* SPDX-License-Identifier: MIT */
/*
 * The first and only process of the guest of scripts/test-vm. Mounts what the suites look at, runs
 * each of them in turn with its output on the serial console between two marks, and powers off.
 * Arguments, as the kernel hands them over from its command line: suites to run (none: all) and
 * parts of the names of tests.
 */
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
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
	{ "tmpfs", "/dev/shm" },
	{ "tmpfs", "/tmp" },
	{ "tracefs", "/sys/kernel/tracing" },
	{ "cgroup2", "/sys/fs/cgroup" },
	{ "debugfs", "/sys/kernel/debug" },
};

static const struct {
	const char *name, *program;
} suites[] = {
	{ "unit", "/tests/vm/run-unit" },
	{ "kernel", "/tests/kernel/kernel-tests" },
	{ "stacks", "/tests/vm/record-stacks" },
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("guest: write %s: %m\n", path);
	if (fd >= 0)
		close(fd);
}

static void mount_all(void)
{
	for (size_t i = 0; i < COUNT(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount("none", mounts[i].where, mounts[i].type, 0, NULL) < 0)
			printf("guest: mount %s: %m\n", mounts[i].where);
	}
	chmod("/tmp", 01777);
	chmod("/dev/shm", 01777);
	/* the usual level; Debian's kernel starts with a stricter one */
	write_file("/proc/sys/kernel/perf_event_paranoid", "2");
	/* counters may be read from user space */
	write_file("/proc/sys/kernel/perf_user_access", "1");
	/* before the first such write, new cgroups lack even the controllers that are always on */
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+pids");
}

/* The kernel leaves the loopback interface down; the servers under test listen on it. */
static void bring_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		printf("guest: bring up lo: %m\n");
	if (fd >= 0)
		close(fd);
}

static int is_suite(const char *word)
{
	for (size_t i = 0; i < COUNT(suites); i++)
		if (!strcmp(word, suites[i].name))
			return 1;
	return 0;
}

static int wanted(char **words, const char *name)
{
	int some = 0;

	for (; *words; words++) {
		if (!strcmp(*words, name))
			return 1;
		some |= is_suite(*words);
	}
	return !some;
}

/* The program with the words that are no suites. */
static void become(const char *program, char **words)
{
	char *args[64] = { strdup(program) };
	size_t nr = 1;

	for (; *words && nr + 1 < COUNT(args); words++)
		if (!is_suite(*words))
			args[nr++] = *words;
	execv(program, args);
	printf("guest: exec %s: %m\n", program);
	fflush(stdout);
	_exit(127);
}

static void run(const char *name, const char *program, char **words)
{
	int status = 0;
	pid_t pid;

	if (access(program, X_OK) < 0)
		return;
	printf("\nguest: begin %s\n", name);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become(program, words);
	waitpid(pid, &status, 0);
	printf("\nguest: end %s %d\n", name,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	fflush(stdout);
}

/* What the suites left for the other machine, as text between two marks each. */
static void send_files(void)
{
	if (access("/tmp/out", X_OK) == 0 &&
	    system("cd /tmp/out && for f in *; do"
		   " echo \"guest: file $f\"; gzip -c \"$f\" | base64; echo \"guest: sent\"; done"))
		printf("guest: the files in /tmp/out cannot be sent\n");
}

int main(int argc, char **argv)
{
	int console;

	(void)argc;
	mount_all();
	console = open("/dev/console", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(console, fd);
	bring_up_loopback();
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("COATI_TEST_DATA", "/tests/data", 1);
	setenv("COATI_TOOL", "/cli/coati", 1);
	setenv("COATI_LIVE_LIVES", "/tests/kernel/live-lives", 1);
	setenv("COATI_TOUCH_PAGES", "/tests/kernel/touch-pages", 1);
	setenv("COATI_TEST_SLOW", "1", 1); /* every instruction is emulated */
	setenv("COATI_TEST_MUST", "root,perf,tracefs,hw,instructions,multiplex,old,kprobe,uprobe",
	       1);
	for (size_t i = 0; i < COUNT(suites); i++)
		if (wanted(argv + 1, suites[i].name))
			run(suites[i].name, suites[i].program, argv + 1);
	send_files();
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
