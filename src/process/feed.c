/* SPDX-License-Identifier: MIT */
/*
 * Records to the model. A record without a time holds from the beginning, which is what tools mean
 * that tell what ran already. Records of guests are passed over: their addresses are not of this
 * machine.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "process/processes.h"

#define NS_PID 3 /* which of the links */
#define NS_MNT 5

#define PROT_JIT_SYMFILE_MAP 0x4000 /* simpleperf's own bit */

static uint64_t time_of(const struct coati_record *rec)
{
	return rec->id.present & COATI_SAMPLE_TIME ? rec->id.time : 0;
}

/* A range that a mapping can have; counted when it is none. */
static bool make_range(struct coati_processes *ps, const struct coati_mmap *m, uint64_t time,
		       struct range *ret)
{
	*ret = (struct range){
		.start = m->addr, .offset = m->pgoff, .time = time, .bits = m->prot
	};
	if (!m->len || __builtin_add_overflow(m->addr, m->len, &ret->end)) {
		ps->stats.refused++;
		return false;
	}
	return true;
}

/* "jit-123.dump": mapped executable so that the record tells where it is; there is no code of the
 * process in it. */
static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len;

	name = name ? name + 1 : path;
	len = strlen(name);
	return len > strlen("jit-.dump") && !strncmp(name, "jit-", 4) &&
	       !strcmp(name + len - strlen(".dump"), ".dump");
}

static struct origin make_origin(const struct coati_mmap *m, int32_t pid, uint16_t misc)
{
	struct origin o = { .kind = coati_origin_kind(m->name),
			    .pid = pid,
			    .path = m->name,
			    .map_start = m->addr,
			    .map_end = m->addr + m->len,
			    .map_pgoff = m->pgoff };

	if (o.kind == ORIGIN_FILE && m->prot & PROT_JIT_SYMFILE_MAP)
		o.kind = ORIGIN_JIT_FILE;
	if (misc & COATI_MISC_MMAP_BUILD_ID && m->build_id_size &&
	    m->build_id_size <= COATI_BUILD_ID_MAX) {
		o.build_id_size = m->build_id_size;
		memcpy(o.build_id, m->build_id, m->build_id_size);
	} else {
		o.maj = m->maj;
		o.min = m->min;
		o.ino = m->ino;
		o.ino_generation = m->ino_generation;
	}
	return o;
}

/* Data is no code, but where it lies there is none any more. Where nothing was it does not
 * matter. */
static int map_data(struct coati_processes *ps, struct pid_slot *slot, struct range *r)
{
	struct range known = { .start = 0, .end = UINT64_MAX };
	struct pid_span *span = coati_pid_span_told(ps, slot, r->time);

	if (!span)
		return -ENOMEM;
	if (!coati_ranges_find(&span->space->ranges, r->start, r->time, &known) &&
	    known.end >= r->end)
		return 0;
	r->id = RANGE_HOLE;
	return coati_pid_map(ps, slot, r);
}

static int feed_jitdump(struct coati_processes *ps, struct pid_slot *slot, const char *path)
{
	const char *kept = coati_processes_name(ps, path, SIZE_MAX);

	if (!kept)
		return -ENOMEM;
	coati_pid_jitdump(ps, slot, kept);
	return 0;
}

static int feed_mmap(struct coati_processes *ps, const struct coati_record *rec)
{
	const struct coati_mmap *m = &rec->u.mmap;
	struct pid_slot *slot;
	struct origin o;
	struct range r;
	int code;

	if ((rec->misc & COATI_MISC_CPUMODE_MASK) == COATI_MISC_KERNEL || m->pid == UINT32_MAX)
		return coati_kernel_map(ps, m, time_of(rec));
	if (!make_range(ps, m, time_of(rec), &r))
		return 0;
	slot = coati_pid_slot_get(ps, (int32_t)m->pid, &code);
	if (!slot)
		return code == -ENOMEM ? code : 0;
	if (is_jitdump(m->name))
		return feed_jitdump(ps, slot, m->name);
	if (rec->misc & COATI_MISC_MMAP_DATA)
		return map_data(ps, slot, &r);
	o = make_origin(m, slot->pid, rec->type == COATI_RECORD_MMAP2 ? rec->misc : 0);
	code = coati_origin_get(ps, &o, &r.id);
	ps->stats.refused += code == -E2BIG;
	if (code < 0)
		return code == -ENOMEM ? code : 0;
	if (o.kind == ORIGIN_ANON)
		coati_pid_anon(ps, slot);
	return coati_pid_map(ps, slot, &r);
}

static int feed_fork(struct coati_processes *ps, const struct coati_record *rec)
{
	const struct coati_task *t = &rec->u.task;
	bool is_told = rec->misc & COATI_MISC_FORK_EXEC;
	uint64_t time = time_of(rec);
	struct pid_slot *slot;
	int r = 0;

	if (t->tid == t->pid)
		r = coati_pid_fork(ps, (int32_t)t->pid, (int32_t)t->ppid, time, is_told);
	else if ((slot = coati_pid_slot_get(ps, (int32_t)t->pid, &r)))
		coati_pid_span(slot, time, NULL)->process->nr_alive++;
	else if (r != -ENOMEM)
		return 0;
	return r < 0 ? r : coati_tid_fork(ps, t, time, is_told);
}

static int feed_comm(struct coati_processes *ps, const struct coati_record *rec)
{
	const struct coati_comm *c = &rec->u.comm;
	int r = 0;

	if (rec->misc & COATI_MISC_COMM_EXEC)
		r = coati_pid_exec(ps, (int32_t)c->pid, time_of(rec));
	return r < 0 ? r : coati_tid_comm(ps, c, time_of(rec));
}

static int feed_exit(struct coati_processes *ps, const struct coati_record *rec)
{
	coati_pid_exit(ps, (int32_t)rec->u.task.pid, time_of(rec));
	coati_tid_exit(ps, (int32_t)rec->u.task.tid, time_of(rec));
	return 0;
}

static int feed_namespaces(struct coati_processes *ps, const struct coati_record *rec)
{
	const struct coati_namespaces *n = &rec->u.namespaces;
	struct pid_slot *slot;
	struct pid_span *span;
	struct process *p;
	int r;

	if (n->nr <= NS_MNT || n->tid != n->pid)
		return 0;
	slot = coati_pid_slot_get(ps, (int32_t)n->pid, &r);
	if (!slot)
		return r == -ENOMEM ? r : 0;
	span = coati_pid_span_told(ps, slot, time_of(rec));
	if (!span)
		return -ENOMEM;
	p = span->process;
	if (time_of(rec) < p->ns_time)
		return 0;
	p->ns_time = time_of(rec);
	p->pid_ns = coati_u64_at(&n->links, 2 * NS_PID + 1);
	p->mnt_ns = coati_u64_at(&n->links, 2 * NS_MNT + 1);
	ps->thread_change++;
	return 0;
}

static int feed_cgroup(struct coati_processes *ps, const struct coati_record *rec)
{
	const char *path = coati_processes_name(ps, rec->u.cgroup.path, SIZE_MAX);
	int r = path ? coati_map_put(&ps->cgroups, rec->u.cgroup.id, (uintptr_t)path) : -ENOMEM;

	ps->stats.refused += r == -E2BIG;
	return r == -ENOMEM ? r : 0;
}

static int feed_sample(struct coati_processes *ps, const struct coati_record *rec)
{
	if (!(rec->u.sample.present & COATI_SAMPLE_CGROUP) || !(rec->id.present & COATI_SAMPLE_TID))
		return 0;
	return coati_tid_cgroup(ps, (int32_t)rec->id.pid, (int32_t)rec->id.tid,
				rec->u.sample.cgroup);
}

static bool is_guest(const struct coati_record *rec)
{
	uint16_t mode = rec->misc & COATI_MISC_CPUMODE_MASK;

	return mode == COATI_MISC_GUEST_KERNEL || mode == COATI_MISC_GUEST_USER;
}

int coati_processes_feed(struct coati_processes *ps, const struct coati_raw *raw,
			 const struct coati_record *rec)
{
	(void)raw;
	switch (rec->type) {
	case COATI_RECORD_SAMPLE:
		return feed_sample(ps, rec);
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		return is_guest(rec) ? 0 : feed_mmap(ps, rec);
	case COATI_RECORD_FORK:
		return feed_fork(ps, rec);
	case COATI_RECORD_EXIT:
		return feed_exit(ps, rec);
	case COATI_RECORD_COMM:
		return feed_comm(ps, rec);
	case COATI_RECORD_NAMESPACES:
		return feed_namespaces(ps, rec);
	case COATI_RECORD_CGROUP:
		return feed_cgroup(ps, rec);
	case COATI_RECORD_KSYMBOL:
		return coati_kernel_symbol(ps, &rec->u.ksymbol, time_of(rec));
	default:
		return 0; /* TEXT_POKE too: other bytes in the same function */
	}
}
