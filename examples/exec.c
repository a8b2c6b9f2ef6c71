/* SPDX-License-Identifier: MIT */
/* Becomes another program while it is sampled, and goes on if it cannot. exec FILE PROGRAM */
#include <coati/sampler.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;

int main(int argc, char **argv)
{
	struct coati_sampler_opts opts = { .size = sizeof(opts), .rate_hz = 1000 };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_error err = { 0, 0, "usage: exec FILE PROGRAM" };
	int fd = argc == 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0 || coati_sampler_start(&opts, &err) < 0) {
		fprintf(stderr, "exec: %s\n", err.text);
		return 1;
	}
	coati_sampler_before_exec(); /* no thread is sampled from here on */
	execv(argv[2], argv + 2);
	coati_sampler_exec_failed(); /* it is sampled again */
	for (unsigned long i = 1; i < 100000000; i++)
		sum += i;
	if (coati_sampler_stop(fd, &stats, &err) < 0) {
		fprintf(stderr, "exec: %s: %s\n", argv[1], err.text);
		return 1;
	}
	printf("%s did not start; %s\n", argv[2], stats.samples ? "sampled on" : "no samples");
	return 0;
}
