/* SPDX-License-Identifier: MIT */
/* see steal.h */
#include "capture/steal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"

#define STEAL 8 /* cpu user nice system idle iowait irq softirq STEAL guest guest_nice */

uint64_t coati_steal_step_ns(void)
{
	long ticks = sysconf(_SC_CLK_TCK);

	return NSEC_PER_SEC / (ticks > 0 ? (uint64_t)ticks : 100);
}

int coati_steal_read(const char *procfs, uint64_t *ret_ns)
{
	char path[4096], line[512], *word = line;
	uint64_t n;
	int r;

	snprintf(path, sizeof(path), "%s/stat", procfs ? procfs : "/proc");
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	if (r < 0)
		return r;
	if (strncmp(line, "cpu ", 4) != 0)
		return -ENODATA;
	for (int i = 0; i < STEAL; i++) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	word[strcspn(word, " ")] = '\0';
	if (coati_parse_u64(word, 0, UINT64_MAX / NSEC_PER_SEC, &n) < 0)
		return -ENODATA;
	*ret_ns = n * coati_steal_step_ns();
	return 0;
}

void coati_steal_begin(struct steal_log *log, const char *procfs, uint64_t now_ns)
{
	*log = (struct steal_log){ .begin_ns = now_ns, .read_ns = now_ns };
	if (coati_steal_read(procfs, &log->first) < 0)
		log->first = UINT64_MAX;
	log->last = log->first;
}

static void join_neighbors(struct steal_log *log)
{
	log->nr /= 2;
	for (uint32_t i = 0; i < log->nr; i++) {
		log->v[i].begin = log->v[2 * i].begin;
		log->v[i].end = log->v[2 * i + 1].end;
		log->v[i].ns = log->v[2 * i].ns + log->v[2 * i + 1].ns;
	}
}

static void read_again(struct steal_log *log, const char *procfs, uint64_t now_ns)
{
	uint64_t ns, before = log->read_ns;

	log->read_ns = now_ns;
	if (log->first == UINT64_MAX)
		return;
	if (coati_steal_read(procfs, &ns) < 0 || ns < log->last) {
		log->first = UINT64_MAX; /* a count that shrinks is none */
		return;
	}
	if (ns == log->last)
		return;
	if (log->nr == STEAL_WINDOWS)
		join_neighbors(log);
	log->v[log->nr].begin = before;
	log->v[log->nr].end = now_ns;
	log->v[log->nr++].ns = ns - log->last;
	log->last = ns;
}

void coati_steal_look(struct steal_log *log, const char *procfs, uint64_t now_ns)
{
	if (now_ns >= log->read_ns + STEAL_EVERY_NS)
		read_again(log, procfs, now_ns);
}

uint64_t coati_steal_next(const struct steal_log *log)
{
	return log->first == UINT64_MAX || !log->last ? UINT64_MAX : log->read_ns + STEAL_EVERY_NS;
}

/* A line for a window, unless it is empty; how long it is. */
static size_t print_window(char *text, size_t size, uint64_t begin, uint64_t end, uint64_t ns)
{
	if (begin >= end || size < STEAL_LINE)
		return 0;
	return (size_t)snprintf(text, size, "steal=%llu %llu %llu\n", (unsigned long long)begin,
				(unsigned long long)end, (unsigned long long)ns);
}

size_t coati_steal_print(struct steal_log *log, const char *procfs, uint64_t now_ns, char *text,
			 size_t size)
{
	uint64_t step = coati_steal_step_ns(), at = log->begin_ns;
	size_t n;

	read_again(log, procfs, now_ns);
	if (log->first == UINT64_MAX || size < 100)
		return 0;
	/* a host that never took anything takes nothing */
	n = (size_t)snprintf(text, size, "steal_told=1\nsteal_most_ns=%llu\n",
			     (unsigned long long)(log->last ? log->last - log->first + step : 0));
	for (uint32_t i = 0; i < log->nr; i++) {
		n += print_window(text + n, size - n, at, log->v[i].begin, step);
		n += print_window(text + n, size - n, log->v[i].begin, log->v[i].end,
				  log->v[i].ns + step);
		at = log->v[i].end;
	}
	return n + (log->last ? print_window(text + n, size - n, at, now_ns, step) : 0);
}
