/* SPDX-License-Identifier: MIT */
/*
 * herd N OTHERS PAGES: N threads that are meant and OTHERS that are not. Writes the numbers of
 * those that are meant to the file "meant", comma-separated, and the range of the pages that all of
 * them will touch to "pages"; waits for the file "go". Then each thread sleeps three times and
 * touches PAGES pages of its own, and so does what the first three that are meant start: a thread,
 * a process, and a process whose parent has ended. The threads that are meant end; the others stay
 * until the program is killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	 4096
#define CHILDREN 3

static pthread_barrier_t ready, go, worked;
static unsigned int nr, nr_all, nr_pages;
static volatile char *pages;
static int *tids;

static void work(unsigned int i)
{
	volatile char *own = pages + (size_t)i * nr_pages * PAGE;

	for (int n = 0; n < 3; n++)
		usleep(1000);
	for (unsigned int n = 0; n < nr_pages; n++)
		own[(size_t)n * PAGE] = 1;
}

static void *work_as_child(void *i)
{
	work((unsigned int)(size_t)i);
	return NULL;
}

/* In a process whose parent has ended, when @orphaned. Waits for its end in both cases: then nobody
 * can write into the pipe any more. */
static void work_in_process(unsigned int i, int orphaned)
{
	int fds[2], has_pipe = pipe(fds) == 0;
	pid_t pid = fork(), parent;
	char byte;

	if (!pid && orphaned) {
		parent = getpid();
		if (fork())
			_exit(0);
		while (getppid() == parent)
			usleep(1000);
	}
	if (!pid) {
		work(i);
		_exit(0);
	}
	close(fds[1]);
	if (!has_pipe || read(fds[0], &byte, 1) != 0)
		abort();
	waitpid(pid, NULL, 0);
}

static void start_child(unsigned int i)
{
	pthread_t thread;

	if (i == 0 && !pthread_create(&thread, NULL, work_as_child, (void *)(size_t)nr_all))
		pthread_join(thread, NULL);
	if (i == 1 || i == 2)
		work_in_process(nr_all + i, i == 2);
}

static void *run(void *number)
{
	unsigned int i = (unsigned int)(size_t)number;

	tids[i] = gettid();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	work(i);
	/* a fork makes pages read-only that were just touched: the same one would fault again */
	pthread_barrier_wait(&worked);
	if (i < CHILDREN)
		start_child(i);
	while (i >= nr)
		pause();
	return NULL;
}

static void publish(void)
{
	FILE *f = fopen("meant.new", "w");

	for (unsigned int i = 0; i < nr; i++)
		fprintf(f, "%s%d", i ? "," : "", tids[i]);
	fclose(f);
	f = fopen("pages", "w");
	fprintf(f, "%zu %zu\n", (size_t)pages,
		(size_t)pages + (size_t)(nr_all + CHILDREN) * nr_pages * PAGE);
	fclose(f);
	rename("meant.new", "meant");
}

int main(int argc, char **argv)
{
	pthread_t thread;
	size_t bytes;

	if (argc != 4)
		return 1;
	nr = (unsigned int)strtoul(argv[1], NULL, 10);
	nr_all = nr + (unsigned int)strtoul(argv[2], NULL, 10);
	nr_pages = (unsigned int)strtoul(argv[3], NULL, 10);
	bytes = (size_t)(nr_all + CHILDREN) * nr_pages * PAGE;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tids = calloc(nr_all + 1, sizeof(*tids));
	if (pages == MAP_FAILED || !tids)
		return 1;
	madvise((void *)(size_t)pages, bytes, MADV_NOHUGEPAGE);
	pthread_barrier_init(&ready, NULL, nr_all + 1);
	pthread_barrier_init(&go, NULL, nr_all + 1);
	pthread_barrier_init(&worked, NULL, nr_all);
	for (size_t i = 0; i < nr_all; i++)
		if (pthread_create(&thread, NULL, run, (void *)i))
			return 1;
	pthread_barrier_wait(&ready);
	publish();
	while (access("go", F_OK) < 0)
		usleep(10000);
	pthread_barrier_wait(&go);
	while (1)
		pause();
}
