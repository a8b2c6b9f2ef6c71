/* SPDX-License-Identifier: MIT */
/* Profiles itself: where its CPU time goes, into cpu.pb.gz (or the file that is named), for `go
 * tool pprof -top`. sampler [FILE] */
#include <coati/sampler.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void square(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * i;
}

__attribute__((noinline)) static void divide(unsigned long n)
{
	for (unsigned long i = 1; i < n; i++)
		sum += n / i;
}

int main(int argc, char **argv)
{
	struct coati_sampler_opts opts = { .size = sizeof(opts),
					   .rate_hz = 1000,
					   .flags = COATI_SAMPLER_NAMES };
	const char *path = argc > 1 ? argv[1] : "cpu.pb.gz";
	struct coati_error err = { 0, 0, "" };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	int fd;

	if (coati_sampler_start(&opts, &err) < 0) {
		fprintf(stderr, "sampler: %s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 50; i++) { /* the work */
		square(1000000);
		divide(1000000);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		perror(path);
	if (coati_sampler_stop(fd, &stats, &err) < 0 || close(fd) < 0) {
		fprintf(stderr, "sampler: %s: %s\n", path, err.text);
		return 1;
	}
	printf("%llu samples, %llu lost\n", (unsigned long long)stats.samples,
	       (unsigned long long)stats.lost);
	return 0;
}
