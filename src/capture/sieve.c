/* SPDX-License-Identifier: MIT */
/* see sieve.h */
#include "capture/sieve.h"

#include <errno.h>
#include <string.h>

#include "capture/spans.h"

#define TARGETS_MAX (1u << 22)
#define FORKS_MAX   (1u << 20)
/* Rounds that a FORK waits for that of its parent. The rings are read one after the other: what is
 * in the last one may have a cause that came into the first one behind what was read of it. */
#define ROUNDS	    2
#define SWITCH_WIDE 8 /* bytes of SWITCH_CPU_WIDE that SWITCH does not have */

void coati_sieve_init(struct sieve *s, bool follows)
{
	*s = (struct sieve){ .follows = follows, .forks.max = FORKS_MAX };
	coati_map_init(&s->processes, TARGETS_MAX);
	coati_map_init(&s->threads, TARGETS_MAX);
	coati_map_init(&s->homes, TARGETS_MAX);
}

void coati_sieve_fini(struct sieve *s)
{
	coati_map_fini(&s->processes);
	coati_map_fini(&s->threads);
	coati_map_fini(&s->homes);
	ARRAY_FINI(&s->forks);
}

static bool has(const struct map *m, uint32_t number)
{
	uint64_t unused;

	return coati_map_get(m, number, &unused);
}

int coati_sieve_add_process(struct sieve *s, uint32_t pid)
{
	return coati_map_put(&s->processes, pid, 1);
}

int coati_sieve_add_thread(struct sieve *s, uint32_t pid, uint32_t tid)
{
	int r = coati_map_put(&s->homes, pid, 1);

	return r < 0 ? r : coati_map_put(&s->threads, tid, 1);
}

bool coati_sieve_has(const struct sieve *s, uint32_t pid, uint32_t tid)
{
	return has(&s->processes, pid) || has(&s->threads, tid);
}

/* ---- forks ---- */

/* The number was another's before. */
static void forget(struct sieve *s, const struct sieve_fork *f)
{
	if (f->pid == f->tid) {
		coati_map_del(&s->processes, f->pid);
		coati_map_del(&s->homes, f->pid);
	}
	coati_map_del(&s->threads, f->tid);
}

int coati_sieve_feed(struct sieve *s, const uint8_t *record)
{
	struct sieve_fork *f;
	uint32_t ids[4];

	if (record_type(record) != COATI_RECORD_FORK ||
	    record_size(record) < COATI_RAW_HEADER + sizeof(ids))
		return 0;
	memcpy(ids, record + COATI_RAW_HEADER, sizeof(ids));
	f = ARRAY_ADD(&s->forks);
	if (!f)
		return -ENOMEM;
	*f = (struct sieve_fork){ ids[0], ids[1], ids[2], ids[3], s->round };
	/* of a thread of a process that is a target nothing has to be known */
	if (f->pid != f->ppid || !has(&s->processes, f->pid))
		forget(s, f);
	return 0;
}

/* 1: it is a target now; 0: not that anybody knew. */
static int follow(struct sieve *s, const struct sieve_fork *f)
{
	int r;

	if (!s->follows || !coati_sieve_has(s, f->ppid, f->ptid))
		return 0;
	r = f->pid != f->ppid		 ? coati_sieve_add_process(s, f->pid)
	    : has(&s->processes, f->pid) ? 0
					 : coati_sieve_add_thread(s, f->pid, f->tid);
	return r < 0 ? r : 1;
}

/* Go through those that wait once: how many became targets. */
static int follow_all(struct sieve *s)
{
	size_t to = 0;
	int nr = 0;

	for (size_t i = 0; i < s->forks.len; i++) {
		int r = follow(s, &s->forks.v[i]);

		if (r < 0)
			return r;
		nr += r;
		if (!r)
			s->forks.v[to++] = s->forks.v[i];
	}
	s->forks.len = to;
	return nr;
}

int coati_sieve_settle(struct sieve *s)
{
	size_t to = 0;
	int r;

	while ((r = follow_all(s)) > 0)
		;
	for (size_t i = 0; i < s->forks.len; i++)
		if (s->forks.v[i].round + ROUNDS > s->round + 1)
			s->forks.v[to++] = s->forks.v[i];
	s->forks.len = to;
	s->round++;
	return r;
}

/* ---- records ---- */

/* As an event of the thread itself would have written it. */
static const uint8_t *narrow(struct sieve *s, const uint8_t *record)
{
	const uint32_t type = COATI_RECORD_SWITCH;
	uint16_t size = record_size(record);

	if (record_type(record) != COATI_RECORD_SWITCH_CPU_WIDE)
		return record;
	if (size < COATI_RAW_HEADER + SWITCH_WIDE || size > sizeof(s->record))
		return NULL;
	memcpy(s->record, record, COATI_RAW_HEADER);
	memcpy(s->record + COATI_RAW_HEADER, record + COATI_RAW_HEADER + SWITCH_WIDE,
	       size - COATI_RAW_HEADER - SWITCH_WIDE);
	size -= SWITCH_WIDE;
	memcpy(s->record, &type, sizeof(type));
	memcpy(s->record + 6, &size, sizeof(size));
	return s->record;
}

/* Whose it is stands in its trailer. */
static const uint8_t *pass_switch(struct sieve *s, const uint8_t *record,
				  const struct coati_sample_format *format)
{
	struct coati_raw raw = record_raw(record);
	struct coati_record rec;

	if (coati_record_decode(&raw, format, &rec) < 0 || !(rec.id.present & COATI_SAMPLE_TID) ||
	    !coati_sieve_has(s, rec.id.pid, rec.id.tid))
		return NULL;
	return narrow(s, record);
}

const uint8_t *coati_sieve_pass(struct sieve *s, const uint8_t *record,
				const struct coati_sample_format *format)
{
	uint32_t pid;

	switch (record_type(record)) {
	case COATI_RECORD_SWITCH:
	case COATI_RECORD_SWITCH_CPU_WIDE:
		return pass_switch(s, record, format);
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
	case COATI_RECORD_COMM:
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
	case COATI_RECORD_NAMESPACES:
		if (record_size(record) < COATI_RAW_HEADER + sizeof(pid))
			return NULL;
		memcpy(&pid, record + COATI_RAW_HEADER, sizeof(pid));
		return has(&s->processes, pid) || has(&s->homes, pid) ? record : NULL;
	default:
		return record;
	}
}
