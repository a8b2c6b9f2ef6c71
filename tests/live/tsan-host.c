/* SPDX-License-Identifier: MIT */
/*
 * A program that is built with ThreadSanitizer and samples itself: two threads that use CPU time
 * and call nothing that waits. Takes the number of the engine; prints how many percent of the CPU
 * time are in the profile.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <coati/sampler.h>

static void *burn(void *arg)
{
	volatile unsigned long *sum = arg;
	struct timespec t;

	do {
		for (int i = 0; i < 100000; i++)
			*sum += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 300000000);
	return NULL;
}

int main(int argc, char **argv)
{
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_sampler_opts o = { .size = sizeof(o), .rate_hz = 100 };
	struct coati_error err;
	unsigned long sums[2] = { 0 };
	pthread_t thread;

	o.engine = argc > 1 ? (enum coati_sampler_engine)atoi(argv[1]) : COATI_SAMPLER_UNKNOWN;
	if (coati_sampler_start(&o, &err) < 0) {
		printf("%s\n", err.text);
		return 77;
	}
	if (pthread_create(&thread, NULL, burn, &sums[1]))
		return 1;
	burn(&sums[0]);
	pthread_join(thread, NULL);
	if (coati_sampler_stop(-1, &stats, &err) < 0 || !stats.total_ns)
		return 1;
	printf("%llu\n", (unsigned long long)(stats.cpu_ns * 100 / stats.total_ns));
	return 0;
}
