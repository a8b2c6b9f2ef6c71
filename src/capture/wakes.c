/* SPDX-License-Identifier: MIT */
/* see wakes.h */
#include "capture/wakes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "capture/capture.h"
#include "capture/thread.h"
#include "record/record.h"
#include "recording/writer.h"

#define PROC_TEXT   256
#define THREADS_MAX ((size_t)1 << 22)
#define PID_MAX	    (1u << 22) /* of any kernel */

/* ---- the filter ---- */

struct range {
	uint32_t first, last;
};

struct ranges {
	ARRAY(struct range) list;
};

static const char *proc_of(const char *procfs)
{
	return procfs ? procfs : "/proc";
}

/* The beginning of a small file, "" where there is none. */
static void read_proc(const char *procfs, const char *name, char text[PROC_TEXT])
{
	char path[512];
	CLEANUP(fd_closep) int fd = -1;
	ssize_t n = -1;

	snprintf(path, sizeof(path), "%s/%s", proc_of(procfs), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, PROC_TEXT - 1);
	text[n > 0 ? n : 0] = '\0';
}

/* The last number that was given to a thread: the last word of loadavg. 0: numbers start again
 * soon, or it is unknown. */
static uint32_t last_number(const char *procfs)
{
	char text[PROC_TEXT], *word;
	uint32_t last = 0, most = 0;

	read_proc(procfs, "sys/kernel/pid_max", text);
	text[strcspn(text, "\n")] = '\0';
	if (coati_parse_u32(text, 1, PID_MAX, &most) < 0)
		return 0;
	read_proc(procfs, "loadavg", text);
	text[strcspn(text, "\n")] = '\0';
	word = strrchr(text, ' ');
	if (!word || coati_parse_u32(word + 1, 1, PID_MAX, &last) < 0)
		return 0;
	return last < most - most / 8 ? last : 0;
}

static int add_number(struct ranges *r, uint32_t tid)
{
	struct range *range = ARRAY_ADD(&r->list);

	if (!range)
		return -ENOMEM;
	*range = (struct range){ tid, tid };
	return 0;
}

static int add_one_of(void *ranges, int32_t tid)
{
	return add_number(ranges, (uint32_t)tid);
}

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Numbers that are further apart than @gap stay apart. */
static void join(struct ranges *r, uint32_t gap)
{
	size_t to = 0;

	for (size_t i = 1; i < r->list.len; i++) {
		struct range *last = &r->list.v[to];

		if (r->list.v[i].first - last->last <= gap)
			last->last = r->list.v[i].last;
		else
			r->list.v[++to] = r->list.v[i];
	}
	r->list.len = r->list.len ? to + 1 : 0;
}

/* As few ranges as a filter takes: the smallest gaps are closed first. */
static int join_enough(struct ranges *r)
{
	ARRAY(uint32_t) gaps = { .max = THREADS_MAX };
	uint32_t limit = 0;

	qsort(r->list.v, r->list.len, sizeof(*r->list.v), by_first);
	join(r, 1);
	for (size_t i = 1; r->list.len > WAKES_RANGES_MAX && i < r->list.len; i++) {
		uint32_t *gap = ARRAY_ADD(&gaps);

		if (!gap) {
			ARRAY_FINI(&gaps);
			return -ENOMEM;
		}
		*gap = r->list.v[i].first - r->list.v[i - 1].last;
	}
	if (gaps.len) {
		qsort(gaps.v, gaps.len, sizeof(*gaps.v), by_size);
		limit = gaps.v[gaps.len - WAKES_RANGES_MAX];
		join(r, limit);
	}
	ARRAY_FINI(&gaps);
	return 0;
}

static void print_filter(const struct ranges *r, uint32_t last, const char *field, char *text)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < r->list.len; i++) {
		const struct range *g = &r->list.v[i];
		const char * or = n ? "||" : "";

		if (g->first == g->last)
			n += (size_t)snprintf(text + n, WAKES_FILTER_BYTES - n, "%s%s==%u", or,
					      field, g->first);
		else
			n += (size_t)snprintf(text + n, WAKES_FILTER_BYTES - n,
					      "%s(%s>=%u&&%s<=%u)", or, field, g->first, field,
					      g->last);
	}
	if (last)
		snprintf(text + n, WAKES_FILTER_BYTES - n, "||%s>%u", field, last);
}

int coati_wakes_filter(const struct coati_capture_opts *o, const char *field, char *text)
{
	bool follows = !(o->flags & COATI_CAPTURE_NO_INHERIT);
	/* before the threads are listed: who starts meanwhile is in the list or above it */
	uint32_t last = follows ? last_number(o->procfs) : 0;
	struct ranges r = { .list.max = THREADS_MAX };
	int n = 0;

	text[0] = '\0';
	if (follows && !last)
		return 0;
	for (uint64_t i = 0; n == 0 && i < o->nr_pids; i++)
		n = coati_thread_each(o->procfs, o->pids[i], add_one_of, &r);
	for (uint64_t i = 0; n == 0 && i < o->nr_tids; i++)
		n = add_number(&r, (uint32_t)(o->tids[i] > 0 ? o->tids[i] : gettid()));
	if (n == 0 && !r.list.len)
		n = -ESRCH;
	if (n == 0)
		n = join_enough(&r);
	if (n == 0)
		print_filter(&r, last, field, text);
	ARRAY_FINI(&r.list);
	return n;
}

/* ---- names of wakers ---- */

static int write_name(struct coati_capture *cap, uint32_t pid, uint32_t tid, const char *name)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .id = { .present = COATI_SAMPLE_TID | COATI_SAMPLE_TIME |
						       COATI_SAMPLE_CPU | COATI_SAMPLE_IDENTIFIER,
					    .pid = pid,
					    .tid = tid,
					    .time = cap->tally.last_time,
					    .id = cap->side_id },
				    .u.comm = { .pid = pid, .tid = tid, .name = name } };
	uint8_t bytes[256];
	int size = coati_record_encode(&rec, &cap->tally.format, bytes, sizeof(bytes));

	return size < 0 ? size : coati_writer_record(cap->writer, bytes, (size_t)size);
}

int coati_wakes_name(struct coati_capture *cap)
{
	struct tally *t = &cap->tally;
	char name[64], text[PROC_TEXT];
	int r = 0;

	for (; r >= 0 && t->nr_named < t->wakers.len; t->nr_named++) {
		const uint32_t *who = t->wakers.v[t->nr_named].ids;

		snprintf(name, sizeof(name), "%u/task/%u/comm", who[0], who[1]);
		read_proc(cap->opts.procfs, name, text);
		text[strcspn(text, "\n")] = '\0';
		if (text[0])
			r = write_name(cap, who[0], who[1], text);
	}
	return r < 0 ? r : 0;
}
