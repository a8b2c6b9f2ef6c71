/* SPDX-License-Identifier: MIT */
/* An allocator of its own that reports its blocks to the heap profile: what is in use goes into
 * pool.pb.gz, for `go tool pprof`. pool [FILE] */
#include <coati/heap.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char memory[64][256];
static char *free_blocks[64];
static int nr_free;

/* The stack of a sample begins with the caller of this. */
__attribute__((noinline)) static void *pool_alloc(void)
{
	void *p = nr_free ? free_blocks[--nr_free] : NULL;

	coati_heap_note_alloc(p, sizeof(memory[0]));
	return p;
}

static void pool_free(void *p)
{
	coati_heap_note_free(p);
	free_blocks[nr_free++] = p;
}

__attribute__((noinline)) static void *open_session(void)
{
	void *p = pool_alloc();

	__asm__ volatile(""); /* no tail call, which would hide this function */
	return p;
}

int main(int argc, char **argv)
{
	struct coati_heap_opts opts = { .size = sizeof(opts), .rate_bytes = 1 }; /* every block */
	struct coati_heap_stats stats = { .size = sizeof(stats) };
	struct coati_error err = { 0, 0, "cannot be written" };
	const char *path = argc > 1 ? argv[1] : "pool.pb.gz";
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	for (; nr_free < 64; nr_free++)
		free_blocks[nr_free] = memory[nr_free];
	if (fd < 0 || coati_heap_start(&opts, &err) < 0)
		return fprintf(stderr, "pool: %s: %s\n", path, err.text), 1;
	for (int i = 0; i < 20; i++) /* every second one stays open */
		if (i % 2)
			open_session();
		else
			pool_free(open_session());
	coati_heap_stop(); /* blocks from here on are not sampled; the profile stays */
	open_session();
	if (coati_heap_write(fd, COATI_HEAP_NAMES, &err) < 0 || coati_heap_stats(&stats) < 0)
		return fprintf(stderr, "pool: %s: %s\n", path, err.text), 1;
	printf("%llu blocks sampled\n", (unsigned long long)stats.samples);
	return close(fd);
}
