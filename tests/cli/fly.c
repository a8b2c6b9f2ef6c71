/* SPDX-License-Identifier: MIT */
/*
 * fly DIRECTORY SIGNAL: runs a flight recorder ("": in memory without a name), says its number in
 * the file `pid`, does some work, and dies in the middle of it: of the signal, or, for 0, of taking
 * more memory than there is. For -1 only its first thread ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>

static pthread_barrier_t ready;

static void *wait_for_ever(void *arg)
{
	coati_thread_name("idle");
	COATI_REGION("waiting");
	COATI_LOG("idle", "%s", "nothing to do");
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return arg;
}

/* Until somebody else ends it; not for ever where nobody does. */
static void eat(void)
{
	enum { piece = 1 << 20 };

	for (int i = 0; i < 4096; i++) {
		char *memory = malloc(piece);

		for (size_t k = 0; memory && k < piece; k += 4096)
			((volatile char *)memory)[k] = 1;
	}
}

static void serve(int signal)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	COATI_TASK_SCOPE(&task);
	COATI_REGION("serve");
	for (int i = 0; i < 100; i++)
		COATI_COUNTER("bytes", i);
	COATI_LOG("http", "%s", "last words");
	if (signal < 0)
		pthread_exit(NULL);
	else if (signal)
		raise(signal);
	else
		eat();
}

int main(int argc, char **argv)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .bytes = 1 << 20 };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };
	pthread_t idle;
	FILE *f = fopen("pid", "w");

	if (argc != 3 || !f)
		return 1;
	fprintf(f, "%d\n", getpid());
	fclose(f);
	o.directory = argv[1];
	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "fly: %s\n", err.text);
		return 1;
	}
	coati_thread_name("main");
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&idle, NULL, wait_for_ever, NULL))
		return 1;
	pthread_barrier_wait(&ready);
	serve((int)strtol(argv[2], NULL, 10));
	return 1;
}
