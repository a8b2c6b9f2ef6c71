/* SPDX-License-Identifier: MIT */
/*
 * handed TASKS: tasks that begin on one thread and are worked on and end on another one. Each
 * thread stays on one CPU, the first and the last that there are. Prints the two threads: "begin
 * TID CPU", "end TID CPU".
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/live.h>

static struct coati_live_task task;
static sem_t begun, ended;
static int tasks, first = -1, last;

static void stay(const char *what, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0) {
		perror("sched_setaffinity");
		exit(1);
	}
	printf("%s %ld %d\n", what, syscall(SYS_gettid), cpu);
	fflush(stdout);
}

static void *work(void *arg)
{
	(void)arg;
	stay("end", last);
	for (int i = 0; i < tasks; i++) {
		sem_wait(&begun);
		{
			COATI_TASK_SCOPE(&task);
			COATI_REGION("work");
		}
		coati_task_end(&task);
		sem_post(&ended);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t worker;
	cpu_set_t all;

	tasks = argc > 1 ? atoi(argv[1]) : 10;
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return 1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			first = first < 0 ? i : first;
			last = i;
		}
	sem_init(&begun, 0, 0);
	sem_init(&ended, 0, 0);
	stay("begin", first);
	if (pthread_create(&worker, NULL, work, NULL) != 0)
		return 1;
	for (int i = 0; i < tasks; i++) {
		COATI_TASK_BEGIN(&task, "handed", NULL);
		sem_post(&begun);
		sem_wait(&ended);
	}
	pthread_join(worker, NULL);
	return 0;
}
