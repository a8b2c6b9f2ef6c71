/* SPDX-License-Identifier: MIT */
/* Every way to allocate is in the heap profile, and a block that grows is one: growing [FILE] */
#include <coati/heap.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/heap-hook.h>

struct words {
	char **v;
	size_t nr, cap;
};

/* Words of a text, each a copy; the table of them doubles. */
static int split(struct words *w, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, " ");
		char **more =
			w->nr < w->cap ? w->v : reallocarray(w->v, w->cap * 2 + 1, sizeof(*w->v));

		if (!more)
			return -1;
		w->cap = w->nr < w->cap ? w->cap : w->cap * 2 + 1;
		w->v = more;
		w->v[w->nr++] = strndup(text, size);
		text += size + (text[size] == ' ');
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct coati_heap_opts opts = { .size = sizeof(opts), .rate_bytes = 1 }; /* every block */
	struct coati_heap_stats stats = { .size = sizeof(stats) };
	int fd = open(argc > 1 ? argv[1] : "growing.pb.gz", O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	struct words w = { NULL, 0, 0 };
	void *line, *page = NULL, *counts;

	if (fd < 0 || coati_heap_start(&opts, NULL) < 0)
		return 1;
	if (split(&w, "one two three four five") < 0 || posix_memalign(&page, 4096, 4096))
		return 1;
	line = aligned_alloc(64, 128);
	counts = calloc(w.nr, sizeof(int));
	counts = realloc(counts, 2 * w.nr * sizeof(int));
	coati_heap_stats(&stats);
	printf("%zu words, %llu blocks in use\n", w.nr, (unsigned long long)stats.live);
	if (coati_heap_write(fd, COATI_HEAP_NAMES, NULL) < 0)
		return 1;
	for (size_t i = 0; i < w.nr; i++)
		free(w.v[i]);
	free(w.v);
	free(counts);
	free(line);
	free(page);
	return close(fd);
}
