/* SPDX-License-Identifier: MIT */
/*
 * A program that knows nothing of coati and does what programs do to those inside them.
 * preload-host WHAT [ARGUMENT] Everything that it says is the same with and without a profiler in
 * it.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *self, *argument;

/* So many milliseconds of CPU time of this thread. */
__attribute__((noinline)) void host_burn(int ms)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do {
		/* most of it outside of the kernel, which an ordinary user may not sample */
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < ms);
}

static int wait_for(pid_t child)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int just_end(void)
{
	host_burn(50);
	return atoi(argument);
}

static int end_by_exit_now(void)
{
	host_burn(50);
	_exit(atoi(argument));
}

static int end_by_quick_exit(void)
{
	host_burn(50);
	quick_exit(atoi(argument));
}

static void exit_in_handler(int sig)
{
	_exit(sig == SIGALRM ? atoi(argument) : 1);
}

/* In the middle of malloc(), as likely as not. */
static int end_in_handler(void)
{
	signal(SIGALRM, exit_in_handler);
	host_burn(20);
	ualarm(20000, 0);
	for (size_t size = 100000;; size = size * 31 % 1000003) {
		void *volatile memory = malloc(size);

		free(memory);
	}
	return 1;
}

static int forks(void)
{
	pid_t child = fork();

	host_burn(60);
	if (child == 0)
		_exit(3);
	printf("child %d\n", wait_for(child));
	return 0;
}

static int becomes_a_daemon(void)
{
	if (daemon(1, 1) < 0)
		return 1;
	host_burn(60);
	return 0;
}

static int execs(void)
{
	host_burn(50);
	execl(self, self, "end", argument, (char *)NULL);
	return 1;
}

/* As a shell that looks through PATH. */
static int fails_to_exec(void)
{
	char text[] = "not a program";
	FILE *f = fopen("text", "w");

	host_burn(50);
	execl("/nonexistent/program", "program", (char *)NULL);
	execlp("no-such-program-anywhere", "program", (char *)NULL);
	if (!f || fputs(text, f) < 0 || fclose(f) || chmod("text", 0700) < 0)
		return 1;
	execl("./text", "text", (char *)NULL); /* is there, and is none */
	unlink("text");
	host_burn(50);
	return 0;
}

static int vforks(void)
{
	pid_t child;

	host_burn(30);
	child = vfork();
	if (child == 0)
		_exit(4);
	printf("child %d\n", wait_for(child));
	child = vfork();
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(1);
	}
	printf("child %d\n", wait_for(child));
	host_burn(30);
	return 0;
}

static int closes_all(void)
{
	char name[] = "data-0";
	int fds[16];

	host_burn(30);
	closefrom(3);
	for (int i = 0; i < 16; i++, name[5]++)
		fds[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	host_burn(50);
	for (int i = 0; i < 16; i++)
		if (fds[i] != 3 + i || lseek(fds[i], 0, SEEK_END) != 0)
			printf("%d is %d at %ld\n", i, fds[i], (long)lseek(fds[i], 0, SEEK_END));
	return 0;
}

static int shows_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	host_burn(20);
	while (dir && (entry = readdir(dir)))
		puts(entry->d_name);
	return dir ? closedir(dir) : 1;
}

static int goes_elsewhere(void)
{
	host_burn(30);
	return chdir("/") < 0;
}

static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	host_burn(50);
	puts("done");
	return NULL;
}

static int leaves_threads(void)
{
	static pthread_t main_thread, thread;

	main_thread = pthread_self();
	if (pthread_create(&thread, NULL, outlive, &main_thread))
		return 1;
	pthread_exit(NULL);
}

static int blocks_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	host_burn(50);
	return 0;
}

static int seen;

static void count_trap(int sig)
{
	seen += sig == SIGTRAP;
}

/* Everything as it usually is, as daemons do; and a handler of its own. */
static int resets_signals(void)
{
	struct sigaction act = { .sa_handler = count_trap }, old;

	for (int sig = 1; sig < 65; sig++)
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_DFL)
			printf("%d has a handler\n", sig);
	host_burn(20);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	host_burn(20);
	if (sigaction(SIGTRAP, &act, &old) < 0 || old.sa_handler != SIG_DFL)
		return 1;
	raise(SIGTRAP);
	host_burn(20);
	if (sigaction(SIGTRAP, NULL, &old) < 0 || old.sa_handler != count_trap)
		return 1;
	printf("%d\n", seen);
	return 0;
}

static void *burn_long(void *arg)
{
	(void)arg;
	host_burn(50);
	return NULL;
}

/* As libraries do that want no signals in their threads. */
static int blocks_in_thread(void)
{
	pthread_t thread;
	sigset_t all;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	r = pthread_create(&thread, NULL, burn_long, NULL);
	return r ? r : pthread_join(thread, NULL);
}

static void *load_for_ever(void *arg)
{
	(void)arg;
	for (;;) {
		void *library = dlopen("libm.so.6", RTLD_NOW);

		free(malloc(3000));
		if (library)
			dlclose(library);
	}
	return NULL;
}

static void load_at_exit(void)
{
	for (int i = 0; i < 20; i++) {
		void *library = dlopen("libpthread.so.0", RTLD_NOW);

		if (library)
			dlclose(library);
	}
	puts("at exit");
	fflush(stdout);
}

/* Threads that go on, and libraries that come and go, until the very end. */
static int loads_at_exit(void)
{
	pthread_t thread;

	atexit(load_at_exit);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, load_for_ever, NULL))
			return 1;
	host_burn(50);
	exit(atoi(argument));
}

static int dies(void)
{
	host_burn(30);
	raise(SIGTERM);
	return 1;
}

static const struct {
	const char *name;
	int (*run)(void);
} things[] = {
	{ "end", just_end },
	{ "_exit", end_by_exit_now },
	{ "quick_exit", end_by_quick_exit },
	{ "handler", end_in_handler },
	{ "fork", forks },
	{ "daemon", becomes_a_daemon },
	{ "exec", execs },
	{ "exec-fails", fails_to_exec },
	{ "vfork", vforks },
	{ "closefrom", closes_all },
	{ "descriptors", shows_descriptors },
	{ "chdir", goes_elsewhere },
	{ "threads", leaves_threads },
	{ "blocked", blocks_signals },
	{ "blocked-thread", blocks_in_thread },
	{ "resets", resets_signals },
	{ "late", loads_at_exit },
	{ "dies", dies },
};

int main(int argc, char **argv)
{
	self = argv[0];
	argument = argc > 2 ? argv[2] : "0";
	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (argc > 1 && !strcmp(argv[1], things[i].name)) {
			int r = things[i].run();

			fflush(stdout);
			return r;
		}
	return 2;
}
