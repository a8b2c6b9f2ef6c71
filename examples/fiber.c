/* SPDX-License-Identifier: MIT */
/*
 * fiber [PROFILE]: two stacks on one thread, each with its own regions, task and labels.
 *
 *	cc fiber.c $(pkg-config --cflags --libs coati-live)
 */
#include <coati/fiber.h>
#include <coati/live.h>
#include <coati/sampler.h>
#include <fcntl.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t scheduler, contexts[2];
static char stacks[2][65536];
static int done[2];
static volatile unsigned long sum;

static void work(int id)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "job", NULL);
	COATI_TASK_SCOPE(&task);
	COATI_LABEL("job", id ? "odd" : "even");
	for (int i = 0; i < 20; i++) {
		COATI_REGION("step"); /* open while the other one runs */
		for (int k = 0; k < 1000000; k++)
			sum += (unsigned long)k;
		swapcontext(&contexts[id], &scheduler);
	}
	coati_task_end(&task);
	done[id] = 1;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666) : -1;
	struct coati_label_stats labels = { .size = sizeof(labels) };
	struct coati_fiber *fibers[2] = { NULL, NULL };

	for (int i = 0; i < 2; i++) {
		coati_fiber_create(&fibers[i], NULL);
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &scheduler;
		makecontext(&contexts[i], (void (*)(void))work, 1, i);
	}
	coati_sampler_start(NULL, NULL);
	for (int i = 0; !done[0] || !done[1]; i = !i) {
		coati_fiber_switch(fibers[i]);
		swapcontext(&scheduler, &contexts[i]);
		coati_fiber_switch(NULL);
	}
	coati_sampler_stop(fd, NULL, NULL);
	coati_labels_stats(&labels);
	printf("%llu labels misused\n", (unsigned long long)labels.misused);
	return coati_fiber_end(&fibers[0]) < 0 || coati_fiber_end(&fibers[1]) < 0;
}
