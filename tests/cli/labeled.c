/* SPDX-License-Identifier: MIT */
/*
 * Page faults and waits with known labels. Says that it is ready, waits for a line on its standard
 * input, touches pages, each of which is a page fault, and waits for the end of the input.
 *
 *	labeled [-f] N...
 *
 * For each N a thread that has the label worker=0, 1, ... all the time. It touches 2 N pages with
 * turn=even and turn=odd by turns, N with where=inner, and N without another label; then it sleeps
 * N times with where=asleep. The keys turn and where are new by then. -f: in a child process.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

#define THREADS_MAX 64

struct worker {
	pthread_t thread;
	long number, pages;
	char *memory;
};

static struct coati_label_key worker_key = COATI_LABEL_KEY("worker");
static struct coati_label_key turn_key = COATI_LABEL_KEY("turn");
static struct coati_label_key where_key = COATI_LABEL_KEY("where");
static pthread_barrier_t barrier;

static char *reserve(long pages)
{
	char *p = mmap(NULL, (size_t)pages * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	/* each page is a fault of its own */
	madvise(p, (size_t)pages * 4096, MADV_NOHUGEPAGE);
	return p;
}

__attribute__((noinline)) static void touch(struct worker *w)
{
	*(volatile char *)w->memory = 1;
	w->memory += 4096;
}

static void touch_all(struct worker *w)
{
	struct coati_label_scope scope;

	for (long i = 0; i < 2 * w->pages; i++) {
		struct coati_label_scope turn =
			coati_label_begin(&turn_key, i % 2 ? "odd" : "even");

		touch(w);
		coati_label_end(&turn);
	}
	scope = coati_label_begin(&where_key, "inner");
	for (long i = 0; i < w->pages; i++)
		touch(w);
	coati_label_end(&scope);
	for (long i = 0; i < w->pages; i++)
		touch(w);
	scope = coati_label_begin(&where_key, "asleep");
	for (long i = 0; i < w->pages; i++)
		usleep(100);
	coati_label_end(&scope);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct coati_label_scope scope;
	char text[16];

	snprintf(text, sizeof(text), "%ld", w->number);
	/* all code is there: no page of it is a fault later */
	scope = coati_label_begin(&worker_key, text);
	usleep(1);
	coati_label_end(&scope);
	coati_label_set(&worker_key, text);
	pthread_barrier_wait(&barrier); /* all are there, */
	pthread_barrier_wait(&barrier); /* and may begin */
	touch_all(w);
	coati_label_unset(&worker_key);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void wait_for_line(void)
{
	for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
		;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	bool forks = argc > 1 && !strcmp(argv[1], "-f");
	int nr = argc - 1 - forks;

	if (nr < 1 || nr > THREADS_MAX)
		return 2;
	if (forks && fork()) {
		wait(NULL);
		return 0;
	}
	pthread_barrier_init(&barrier, NULL, (unsigned int)nr + 1);
	for (int i = 0; i < nr; i++) {
		struct worker *w = &workers[i];

		w->number = i;
		w->pages = strtol(argv[1 + forks + i], NULL, 10);
		w->memory = reserve(4 * w->pages);
		if (pthread_create(&w->thread, NULL, run, w))
			return 1;
	}
	pthread_barrier_wait(&barrier);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	wait_for_line();
	/* keys that nobody has seen yet */
	coati_label_set(&turn_key, "none");
	coati_label_unset(&turn_key);
	coati_label_set(&where_key, "none");
	coati_label_unset(&where_key);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	printf("done\n");
	fflush(stdout);
	wait_for_line();
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
