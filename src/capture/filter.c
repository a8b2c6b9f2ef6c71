/* SPDX-License-Identifier: MIT */
/* see filter.h */
#include "capture/filter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/spans.h"
#include "capture/thread.h"

static int32_t number_of(int32_t tid)
{
	return tid ? tid : gettid();
}

static int is_living(void *ctx, int32_t tid)
{
	return !coati_thread_is_ending(*(const char *const *)ctx, tid);
}

static bool has_ended(const struct coati_capture *cap, enum walker_target kind, int32_t number)
{
	const char *procfs = cap->opts.procfs;

	return kind == WALKER_THREAD ? coati_thread_is_ending(procfs, number)
				     : !coati_thread_each(procfs, number, is_living, &procfs);
}

int coati_filter_live(const struct coati_capture *cap)
{
	const struct coati_capture_opts *o = &cap->opts;

	for (uint64_t i = 0; i < o->nr_pids; i++)
		if (has_ended(cap, WALKER_PROCESS, o->pids[i]))
			return -ESRCH;
	for (uint64_t i = 0; i < o->nr_tids; i++)
		if (has_ended(cap, WALKER_THREAD, number_of(o->tids[i])))
			return -ESRCH;
	return 0;
}

/* The walker sees its end, or it had begun to end before that. */
static int add(struct coati_capture *cap, enum walker_target kind, int32_t number)
{
	int r = coati_walker_add_target(cap->walks->walker, kind, number);

	if (r < 0)
		return r;
	cap->filter.nr_given++;
	if (has_ended(cap, kind, number))
		coati_walker_end_target(cap->walks->walker, kind, number);
	return 0;
}

static int add_process(struct coati_capture *cap, int32_t pid)
{
	int r = coati_sieve_add_process(&cap->filter.sieve, (uint32_t)pid);

	return r > 0 ? add(cap, WALKER_PROCESS, pid) : r;
}

static int add_thread(struct coati_capture *cap, int32_t tid)
{
	int32_t pid = coati_thread_process(cap->opts.procfs, tid);
	int r = pid ? coati_sieve_add_thread(&cap->filter.sieve, (uint32_t)pid, (uint32_t)tid) : 0;

	return r > 0 ? add(cap, WALKER_THREAD, tid) : r;
}

static int add_one_of(void *cap, int32_t tid)
{
	return add_thread(cap, tid);
}

int coati_filter_start(struct coati_capture *cap)
{
	const struct coati_capture_opts *o = &cap->opts;
	bool follows = !(o->flags & COATI_CAPTURE_NO_INHERIT);
	int r = 0;

	if (!coati_walker_has_targets(cap->walks->walker))
		return 0;
	coati_sieve_init(&cap->filter.sieve, follows);
	cap->filter.is_on = cap->scope == SCOPE_CPUS;
	/* without what they start, a process is the threads that it has now */
	for (uint64_t i = 0; r >= 0 && i < o->nr_pids; i++)
		r = follows ? add_process(cap, o->pids[i])
			    : coati_thread_each(o->procfs, o->pids[i], add_one_of, cap);
	for (uint64_t i = 0; r >= 0 && i < o->nr_tids; i++)
		r = add_thread(cap, number_of(o->tids[i]));
	return r < 0 ? r : 0;
}

void coati_filter_close(struct filter *f)
{
	coati_sieve_fini(&f->sieve);
	*f = (struct filter){ 0 };
}

/* Others are let through by the walker, or by the filter of their tracepoint. */
static bool is_sifted(const struct coati_capture *cap, const uint8_t *sample)
{
	uint64_t id, unused;

	if (record_size(sample) < CAPTURE_TIME_AT)
		return false;
	memcpy(&id, sample + CAPTURE_ID_AT, sizeof(id));
	return coati_map_get(&cap->sift_ids, id, &unused);
}

const uint8_t *coati_filter_pass(struct coati_capture *cap, const uint8_t *record)
{
	struct sieve *s = &cap->filter.sieve;
	uint32_t ids[2];

	if (record_type(record) != COATI_RECORD_SAMPLE)
		return coati_sieve_pass(s, record, &cap->tally.format);
	if (!is_sifted(cap, record))
		return record;
	memcpy(ids, record + CAPTURE_TID_AT, sizeof(ids));
	return coati_sieve_has(s, ids[0], ids[1]) ? record : NULL;
}

bool coati_filter_is_over(const struct coati_capture *cap)
{
	return cap->filter.is_on && coati_walker_ended(cap->walks->walker) >= cap->filter.nr_given;
}
