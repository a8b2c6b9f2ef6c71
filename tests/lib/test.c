/* SPDX-License-Identifier: MIT */
/*
 * One process per test: forked into its own process group and made the reaper of its descendants,
 * so that what it leaves behind is found. The reason of a skip or failure comes back through a
 * pipe.
 */
#include "lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/choice.h"
#include "lib/json-check.h"
#include "lib/sanitizer.h"

#define EXIT_SKIP 77
#define SLICE_MS  100

static struct test_case *first, *last;
static uint64_t seed = 1;
static int reason_fd = -1;

void test_register(struct test_case *t)
{
	if (last)
		last->next = t;
	else
		first = t;
	last = t;
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
	char text[2048];
	size_t len;

	len = (size_t)snprintf(text, sizeof(text), "%s", prefix);
	vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = ' ';
	if (reason_fd >= 0)
		dprintf(reason_fd, "%s\n", text);
	else
		printf("# %s\n", text);
}

void test_fail_at(const char *file, int line, const char *fmt, ...)
{
	char prefix[256];
	va_list ap;

	snprintf(prefix, sizeof(prefix), "%s:%d: ", file, line);
	va_start(ap, fmt);
	say(prefix, fmt, ap);
	va_end(ap);
	fflush(NULL);
	_exit(1);
}

void test_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
	fflush(NULL);
	_exit(EXIT_SKIP);
}

static bool must(const char *need)
{
	const char *p = getenv("COATI_TEST_MUST");
	size_t len = strlen(need);

	while (p && *p) {
		size_t word = strcspn(p, ",");

		if (word == len && !strncmp(p, need, len))
			return true;
		p += word + (p[word] == ',');
	}
	return false;
}

void test_skip_need(const char *need, const char *fmt, ...)
{
	bool fail = must(need);
	va_list ap;

	va_start(ap, fmt);
	say(fail ? "must run here, but: " : "", fmt, ap);
	va_end(ap);
	fflush(NULL);
	_exit(fail ? 1 : EXIT_SKIP);
}

void test_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

uint64_t test_random(void)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

const char *test_data_dir(void)
{
	const char *dir = getenv("COATI_TEST_DATA");

	return dir ? dir : COATI_TEST_DATA_DEFAULT;
}

const char *test_tool(void)
{
	const char *tool = getenv("COATI_TOOL");

	return tool ? tool : COATI_TOOL_DEFAULT;
}

unsigned int test_rounds(unsigned int usual)
{
	const char *soak = getenv("COATI_SOAK");
	unsigned long times = soak ? strtoul(soak, NULL, 10) : 1;

	return usual * (unsigned int)(times < 1 ? 1 : times > 1000 ? 1000 : times);
}

bool test_slow(void)
{
	return getenv("COATI_TEST_SLOW") != NULL;
}

bool test_emulated(void)
{
	return getenv("COATI_TEST_EMULATED") != NULL;
}

void test_check_json(const char *file, int line, const char *what, const char *text)
{
	if (!text || !json_check(text, strlen(text)))
		test_fail_at(file, line, "%s is not valid JSON: %.1000s", what,
			     text ? text : "(null)");
}

void test_copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t n;

	CHECK_OK(in);
	CHECK_OK(out);
	while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	CHECK_INT(n, ==, 0);
	CHECK_OK(fchmod(out, 0755));
	close(in);
	close(out);
}

static void hex_line(char *buf, size_t size, const unsigned char *p, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; i < count && len + 4 < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%02x ", p[i]);
}

void test_check_mem(const char *file, int line, const char *what, const void *const *two,
		    size_t size)
{
	const unsigned char *pa = two[0], *pb = two[1];
	char ha[128] = "", hb[128] = "";
	size_t at = 0;

	while (at < size && pa[at] == pb[at])
		at++;
	if (at == size)
		return;
	hex_line(ha, sizeof(ha), pa + at, size - at < 16 ? size - at : 16);
	hex_line(hb, sizeof(hb), pb + at, size - at < 16 ? size - at : 16);
	test_fail_at(file, line, "%s differs at byte %zu: %s, not %s", what, at, ha, hb);
}

void test_check_err(const char *file, int line, const char *what, long long got, long long want)
{
	const char *g = strerrorname_np((int)-got), *w = strerrorname_np((int)-want);

	if (got != want)
		test_fail_at(file, line, "%s: %lld (%s), not %lld (%s)", what, got,
			     got < 0 && g ? g : "", want, w ? w : "");
}

void test_check_ok(const char *file, int line, const char *what, long long got)
{
	const char *g = got < 0 ? strerrorname_np((int)-got) : NULL;

	if (got < 0)
		test_fail_at(file, line, "%s: %lld (%s)", what, got, g ? g : "");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void run_here(const struct test_case *t)
{
	t->fn();
	fflush(NULL);
}

/* What we were started with must not reach a test: nothing is ignored, nothing is blocked. */
static void default_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	struct sigaction old;
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
		    old.sa_handler == SIG_IGN)
			sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child: own group, default signals, scratch folder. exit(), not _exit(): leak checks run
 * there. */
static void run_child(const struct test_case *t, const char *scratch, int fd)
{
	reason_fd = fd;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	default_signals();
	if (chdir(scratch) < 0)
		_exit(1);
	run_here(t);
	exit(0);
}

static unsigned int limit_of(const struct test_case *t)
{
	/* a sanitizer makes everything several times slower */
	return test_rounds(t->limit_s) * (test_slow() ? 4 : 1);
}

/* How many processes want each CPU, 1 to 10: a test gets its share only, and is not to blame. */
static double load_per_cpu(void)
{
	const char *given = getenv("COATI_TEST_LOAD");
	double load = 1;

	if (given)
		load = strtod(given, NULL);
	else if (getloadavg(&load, 1) == 1)
		load /= get_nprocs();
	return load < 1 ? 1 : load > 10 ? 10 : load;
}

static int64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void kill_and_wait(pid_t pid, int *ret_status)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
}

/* Wait for the test, from outside: it may use alarm() and block what it likes. SIGCHLD is blocked
 * in the runner, so none gets lost between the look and the wait. Time in which this process did
 * not run either (stopped, frozen, a virtual machine that was paused) is not the test's: it looks
 * every SLICE_MS, and a longer time counts as two of these. 0, or the seconds after which its time
 * was up. */
static unsigned int wait_child(pid_t pid, unsigned int limit_s, int *ret_status)
{
	int64_t used_ms = 0;
	sigset_t chld;
	pid_t r;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while ((r = waitpid(pid, ret_status, WNOHANG)) == 0) {
		int64_t limit_ms = (int64_t)(limit_s * 1000 * load_per_cpu()), took_ms;

		if (used_ms >= limit_ms) {
			kill_and_wait(pid, ret_status);
			return (unsigned int)(limit_ms / 1000);
		}
		took_ms = monotonic_ms();
		sigtimedwait(&chld, NULL, &(struct timespec){ .tv_nsec = SLICE_MS * 1000000 });
		took_ms = monotonic_ms() - took_ms;
		used_ms += took_ms < 2 * SLICE_MS ? took_ms : 2 * SLICE_MS;
	}
	return 0;
}

/* The parent of a process, from /proc; 0 when it is gone. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512] = "";
	const char *after_name;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	after_name = strrchr(text, ')'); /* the name itself may hold anything */
	return after_name && strlen(after_name) > 4 ? (pid_t)strtol(after_name + 4, NULL, 10) : 0;
}

/* Kill every process whose parent we are. */
static void kill_children(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc)))
		if (d->d_name[0] >= '0' && d->d_name[0] <= '9' && parent_of(d->d_name) == getpid())
			kill((pid_t)strtol(d->d_name, NULL, 10), SIGKILL);
	if (proc)
		closedir(proc);
}

#define PAUSES	 50
#define PAUSE_US 10000

/* Descendants of the test that outlived it have become our children, whatever group or session they
 * are in: kill and count them. The children of those become ours in turn. */
static int reap_leftovers(pid_t group)
{
	int count = 0, pauses = 0;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		if (pid > 0) /* ended by itself, but was not waited for: not a leftover */
			continue;
		/* nor is one that is about to end, on a busy machine */
		if (pauses++ < PAUSES) {
			usleep(PAUSE_US);
			continue;
		}
		if (count++ > 100)
			break;
		kill(-group, SIGKILL);
		kill_children();
		waitpid(-1, NULL, 0);
	}
	return count;
}

static void read_reason(int fd, char *buf, size_t size)
{
	ssize_t n;
	size_t len = 0;

	while (len + 1 < size && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	while (len && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (buf[i] == '\n')
			buf[i] = ' ';
}

struct outcome {
	int status;
	unsigned int late_s; /* not done after so many seconds */
	int leftovers;
	char reason[4096];
};

static int judge(int number, const struct test_case *t, const struct outcome *o)
{
	bool exited = !o->late_s && WIFEXITED(o->status) && !o->leftovers;

	if (exited && WEXITSTATUS(o->status) == EXIT_SKIP) {
		printf("ok %d - %s # SKIP %s\n", number, t->name, o->reason);
		return 0;
	}
	if (exited && WEXITSTATUS(o->status) == 0) {
		printf("ok %d - %s\n", number, t->name);
		return 0;
	}
	printf("not ok %d - %s\n", number, t->name);
	if (*o->reason)
		printf("# %s\n", o->reason);
	if (o->late_s)
		printf("# not done after %u s\n", o->late_s);
	else if (WIFSIGNALED(o->status))
		printf("# ended by signal %d (%s)\n", WTERMSIG(o->status),
		       strsignal(WTERMSIG(o->status)));
	else if (WIFEXITED(o->status) && WEXITSTATUS(o->status) > 1 &&
		 WEXITSTATUS(o->status) != EXIT_SKIP)
		printf("# exit status %d (a sanitizer's report is above)\n",
		       WEXITSTATUS(o->status));
	if (o->leftovers)
		printf("# left %d process(es) behind\n", o->leftovers);
	return 1;
}

static void fork_test(const struct test_case *t, const char *scratch, struct outcome *ret)
{
	int fds[2];
	pid_t pid;

	*ret = (struct outcome){ .status = 1 << 8 };
	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		run_child(t, scratch, fds[1]);
	}
	close(fds[1]);
	if (pid > 0) {
		setpgid(pid, pid);
		ret->late_s = wait_child(pid, limit_of(t), &ret->status);
		ret->leftovers = reap_leftovers(pid);
		read_reason(fds[0], ret->reason, sizeof(ret->reason));
	}
	close(fds[0]);
}

static int run_forked(int number, const struct test_case *t)
{
	const char *tmp = getenv("TMPDIR");
	char scratch[PATH_MAX];
	struct outcome outcome;
	int failed;

	snprintf(scratch, sizeof(scratch), "%s/coati-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch) || chmod(scratch, 0777) < 0) {
		printf("not ok %d - %s\n# %s: %s\n", number, t->name, scratch, strerror(errno));
		return 1;
	}
	fork_test(t, scratch, &outcome);
	nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	failed = judge(number, t, &outcome);
	fflush(stdout);
	return failed;
}

static int64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static int run_timed(int number, struct test_case *t)
{
	int64_t start_ms = monotonic_ms(), start_cpu_ms = cpu_ms();
	int failed = run_forked(number, t);

	t->ran = true;
	t->took_ms = monotonic_ms() - start_ms;
	t->cpu_ms = cpu_ms() - start_cpu_ms;
	return failed;
}

static void say_slow(const struct test_case *tests, unsigned int slow_ms)
{
	for (const struct test_case *t = tests; t; t = t->next)
		if (t->ran && t->took_ms >= slow_ms)
			printf("# slow: %.3f s, %.3f s of CPU: %s\n", (double)t->took_ms / 1000,
			       (double)t->cpu_ms / 1000, t->name);
}

/* Runs the tests in order, and returns how many failed. */
static int run_all(const struct choice *c, struct test_case *tests)
{
	int count = 0, failed = 0;

	for (struct test_case *t = tests; t && !(c->stop && failed); t = t->next) {
		seed = c->seed; /* the same numbers whichever tests run */
		count++;
		if (c->no_fork)
			run_here(t);
		else
			failed += run_timed(count, t);
	}
	say_slow(tests, c->slow_ms);
	printf("1..%d\n", count);
	return failed;
}

int main(int argc, char **argv)
{
	struct test_case *tests;
	struct choice choice;
	sigset_t chld;

	(void)argc;
	choice_read(&choice, argv);
	tests = choice_take(&choice, first);
	if (choice.list) {
		for (struct test_case *t = tests; t; t = t->next)
			printf("%s\n", t->name);
		return 0;
	}
	sanitizer_prepare_fork();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	printf("TAP version 13\n# seed 0x%llx\n", (unsigned long long)choice.seed);
	return run_all(&choice, tests) ? 1 : 0;
}
