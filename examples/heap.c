/* SPDX-License-Identifier: MIT */
/* Profiles its own heap: who allocated what is in use, into heap.pb.gz (or the file that is named),
 * for `go tool pprof -top`. heap [FILE] */
#include <coati/heap.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/heap-hook.h>

static char *volatile kept[20000];

__attribute__((noinline)) static void keep(int i)
{
	kept[i] = strdup("a name that stays");
}

__attribute__((noinline)) static void scratch(size_t size)
{
	char *p = malloc(size);

	if (p)
		*(volatile char *)p = 1;
	free(p);
}

int main(int argc, char **argv)
{
	struct coati_heap_opts opts = { .size = sizeof(opts), .rate_bytes = 4096 };
	const char *path = argc > 1 ? argv[1] : "heap.pb.gz";
	struct coati_heap_stats stats = { .size = sizeof(stats) };
	struct coati_error err = { 0, 0, "" };
	int fd;

	if (coati_heap_start(&opts, &err) < 0) {
		fprintf(stderr, "heap: %s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 20000; i++) { /* the work */
		keep(i);
		scratch(1000);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || coati_heap_write(fd, COATI_HEAP_NAMES, &err) < 0 || close(fd) < 0) {
		fprintf(stderr, "heap: %s: %s\n", path, err.text);
		return 1;
	}
	coati_heap_stats(&stats);
	printf("%llu samples\n", (unsigned long long)stats.samples);
	return 0;
}
