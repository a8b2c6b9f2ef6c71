/* SPDX-License-Identifier: MIT */
/*
 * One recording, measured from outside. A target works on CPU 1, the recorder (ours or another)
 * runs on CPU 0 around this very program in its other role, which does nothing but bound the time:
 *
 *	bench-record spin|syscalls|switches MILLISECONDS FILE RECORDER [ARGUMENT...]
 *	bench-record window PATH MILLISECONDS
 *	bench-record calls COUNT
 *
 * The last does so many system calls and ends: something to be recorded for those who read
 * recordings.
 *
 * An ARGUMENT "@pid" stands for the target's process. FILE is what the recorder writes. Prints one
 * line:
 *
 *	CPU_NS PEAK_BYTES UNITS WINDOW_NS SAMPLES LOST
 *
 * CPU time of the recorder from its start to its end, without that of the command in it; its peak
 * memory; units of work that the target did in the time between, which is the same for every
 * recorder; samples in the file and those that it says are lost. Exit status 77 when this machine
 * has one CPU only.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/recording.h>

#include "bench.h"

#define DEPTH 24

extern char **environ;

/* What the target, the window and we share. */
struct board {
	_Atomic uint64_t units; /* done by the target so far */
	uint64_t window_units, window_ns, window_cpu_ns;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000u;
}

static struct board *map_board(int fd)
{
	struct board *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (b == MAP_FAILED)
		die("mmap");
	return b;
}

/* ---- the window ---- */

static int run_window(const char *path, long ms)
{
	struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };
	struct board *b = map_board(open(path, O_RDWR | O_CLOEXEC));
	uint64_t start_ns = bench_now_ns(), units = atomic_load(&b->units);
	struct rusage u;

	nanosleep(&wait, NULL);
	b->window_units = atomic_load(&b->units) - units;
	b->window_ns = bench_now_ns() - start_ns;
	getrusage(RUSAGE_SELF, &u);
	b->window_cpu_ns = cpu_ns(&u);
	return 0;
}

/* With a breath now and then, so that the recorder of a busy machine keeps up and the file has them
 * all. */
static int run_calls(long nr)
{
	bench_pin(1);
	while (nr--) {
		syscall(SYS_getppid);
		if (nr % 5000 == 0)
			usleep(500);
	}
	return 0;
}

/* ---- the target ---- */

static __attribute__((noinline)) uint64_t descend(uint64_t x, int depth)
{
	if (!depth) {
		for (int i = 0; i < 500; i++)
			x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
		return x;
	}
	x = descend(x + (uint64_t)depth, depth - 1);
	__asm__ volatile("" : "+r"(x)); /* no tail call: every frame stays */
	return x + 1;
}

/* Two threads on one CPU hand a byte to each other: two switches a round, and work that makes it
 * about 100,000 a second. */
static int there[2], back[2];

static void pass_on(int from, int to)
{
	volatile uint64_t sink = 1;
	char byte = 0;

	if (read(from, &byte, 1) != 1)
		die("reading a pipe");
	for (int i = 0; i < 4; i++)
		sink = descend(sink, DEPTH);
	if (write(to, &byte, 1) != 1)
		die("writing to a pipe");
}

static void *run_other(void *unused)
{
	for (;;)
		pass_on(there[0], back[1]);
	return unused;
}

static void start_other(void)
{
	pthread_t other;

	if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0 ||
	    pthread_create(&other, NULL, run_other, NULL) || write(there[1], "x", 1) != 1)
		die("a second thread");
}

static void run_target(struct board *b, const char *what)
{
	bool syscalls = !strcmp(what, "syscalls"), switches = !strcmp(what, "switches");
	volatile uint64_t sink = 1;

	bench_pin(1);
	if (switches)
		start_other();
	for (;;) {
		if (syscalls)
			for (int i = 0; i < 100; i++)
				syscall(SYS_getppid);
		else if (switches)
			pass_on(back[0], there[1]);
		else
			sink = descend(sink, DEPTH);
		atomic_store_explicit(&b->units, b->units + (syscalls ? 100 : 1),
				      memory_order_relaxed);
	}
}

static pid_t start_target(struct board *b, const char *what)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of us, it ends */
		if (getppid() == parent)
			run_target(b, what);
		_exit(0);
	}
	while (!atomic_load(&b->units))
		usleep(1000);
	return pid;
}

/* ---- the recorder ---- */

static void measure(char **command, struct rusage *ret)
{
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, command[0], &actions, NULL, command, environ))
		die(command[0]);
	if (wait4(pid, &status, 0, ret) < 0)
		die("wait4");
	if (status) {
		fprintf(stderr, "%s ended with status %#x\n", command[0], (unsigned int)status);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
}

/* The recorder's words, the target's number among them, and the window as its command. */
static char **build_command(int argc, char **argv, char **tail, pid_t pid)
{
	static char number[16];
	char **command = calloc((size_t)argc + 6, sizeof(*command));
	int n = 0;

	if (!command)
		die("memory");
	snprintf(number, sizeof(number), "%d", pid);
	for (int i = 0; i < argc; i++)
		command[n++] = strcmp(argv[i], "@pid") ? argv[i] : number;
	for (int i = 0; tail[i]; i++)
		command[n++] = tail[i];
	return command;
}

/* Samples in the recording, and how many it says are lost: reported twice, by the ring and by the
 * events, so the larger counts. */
static void count(const char *path, uint64_t *ret_samples, uint64_t *ret_lost)
{
	struct coati_recording_opts opts = { .size = sizeof(opts),
					     .flags = COATI_RECORDING_FILE_ORDER };
	struct coati_recording_stats stats = { .size = sizeof(stats) };
	struct coati_recording_item item;
	struct coati_recording *r = NULL;
	struct coati_error err;
	int n = coati_recording_open(path, &opts, &r, &err);

	while (n >= 0 && (n = coati_recording_next(r, &item)) > 0)
		continue;
	if (n < 0) {
		fprintf(stderr, "%s\n", r ? coati_recording_error(r)->text : err.text);
		exit(1);
	}
	coati_recording_get_stats(r, &stats);
	*ret_samples = stats.samples;
	*ret_lost = stats.lost > stats.lost_samples ? stats.lost : stats.lost_samples;
	coati_recording_close(&r);
}

static int run(int argc, char **argv)
{
	int fd = memfd_create("board", MFD_CLOEXEC);
	char self[4096] = "", path[64], dashes[] = "--", window[] = "window";
	char *tail[] = { dashes, self, window, path, argv[2], NULL };
	uint64_t samples, lost;
	struct rusage u;
	struct board *b;
	char **command;
	pid_t target;

	if (fd < 0 || ftruncate(fd, sizeof(*b)) < 0)
		die("memfd_create");
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	b = map_board(fd);
	target = start_target(b, argv[1]);
	bench_pin(0);
	command = build_command(argc - 4, argv + 4, tail, target);
	measure(command, &u);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	count(argv[3], &samples, &lost);
	printf("%llu %llu %llu %llu %llu %llu\n",
	       (unsigned long long)(cpu_ns(&u) - b->window_cpu_ns),
	       (unsigned long long)u.ru_maxrss * 1024, (unsigned long long)b->window_units,
	       (unsigned long long)b->window_ns, (unsigned long long)samples,
	       (unsigned long long)lost);
	free(command);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "window"))
		return run_window(argv[2], atol(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "calls"))
		return run_calls(atol(argv[2]));
	if (argc < 5)
		return 2;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "the recorder and its target need a CPU each\n");
		return 77;
	}
	return run(argc, argv);
}
