/* SPDX-License-Identifier: MIT */
/* One function per kind of record; a table from the type to it. */
#include "cli/dump/record.h"

#include <stdio.h>
#include <string.h>

#include <coati/abi.h>

#include "cli/dump/regs.h"

const char *coati_context_name(uint64_t v)
{
	if (v < COATI_CONTEXT_MAX)
		return NULL;
	switch (v) {
	case COATI_CONTEXT_HV:
		return "hypervisor";
	case COATI_CONTEXT_KERNEL:
		return "kernel";
	case COATI_CONTEXT_USER:
		return "user";
	case COATI_CONTEXT_USER_DEFERRED:
		return "user deferred";
	case COATI_CONTEXT_GUEST:
		return "guest";
	case COATI_CONTEXT_GUEST_KERNEL:
		return "guest kernel";
	case COATI_CONTEXT_GUEST_USER:
		return "guest user";
	default: /* a broken frame: its number says more than any word */
		return NULL;
	}
}

static void dump_chain(struct sink *s, const char *name, const struct coati_u64s *chain)
{
	coati_sink_list(s, name);
	for (uint32_t i = 0; i < chain->count; i++) {
		uint64_t v = coati_u64_at(chain, i);

		coati_sink_address(s, v, coati_context_name(v));
	}
	coati_sink_list_end(s);
}

static void dump_read_block(struct sink *s, const struct coati_read_block *b)
{
	struct coati_read_value v;

	if (b->format & COATI_READ_ENABLED)
		coati_sink_u64(s, "enabled_ns", b->enabled_ns);
	if (b->format & COATI_READ_RUNNING)
		coati_sink_u64(s, "running_ns", b->running_ns);
	for (uint64_t i = 0; i < b->nr && coati_read_block_get(b, i, &v) == 0; i++) {
		char name[40];

		snprintf(name, sizeof(name), "value%llu", (unsigned long long)i);
		coati_sink_u64(s, b->nr == 1 ? "value" : name, v.value);
		snprintf(name, sizeof(name), "value%llu_id", (unsigned long long)i);
		if (b->format & COATI_READ_ID)
			coati_sink_u64(s, b->nr == 1 ? "value_id" : name, v.id);
		snprintf(name, sizeof(name), "value%llu_lost", (unsigned long long)i);
		if (b->format & COATI_READ_LOST)
			coati_sink_u64(s, b->nr == 1 ? "value_lost" : name, v.lost);
	}
}

static void dump_regs(struct sink *s, const char *name, const struct coati_regs *r)
{
	coati_sink_object(s, name);
	coati_sink_u64(s, "abi", r->abi);
	for (uint32_t reg = 0; reg < 64; reg++) {
		char label[8];
		uint64_t v;

		if (r->mask >> reg & 1 && coati_regs_get(r, reg, &v) == 0)
			coati_sink_hex(s, coati_dump_reg_name(s->arch, reg, label, sizeof(label)),
				       v);
	}
	coati_sink_object_end(s);
}

static void dump_branches(struct sink *s, const struct coati_branches *b)
{
	struct coati_branch e;

	coati_sink_u64(s, "branches", b->nr);
	if (b->hw_idx != UINT64_MAX)
		coati_sink_u64(s, "branch_hw_index", b->hw_idx);
	coati_sink_list(s, "branch_stack");
	for (uint64_t i = 0; i < b->nr && coati_branches_get(b, i, &e) == 0; i++) {
		coati_sink_address(s, e.from, NULL);
		coati_sink_address(s, e.to, NULL);
	}
	coati_sink_list_end(s);
}

/* The parts that only some samples have. */
static void dump_sample_rest(struct sink *s, const struct coati_sample *p)
{
	if (p->present & COATI_SAMPLE_READ)
		dump_read_block(s, &p->read);
	if (p->present & COATI_SAMPLE_BRANCH_STACK)
		dump_branches(s, &p->branches);
	if (p->present & COATI_SAMPLE_REGS_USER)
		dump_regs(s, "regs_user", &p->regs_user);
	if (p->present & COATI_SAMPLE_STACK_USER) {
		coati_sink_u64(s, "stack_size", p->stack_size);
		if (p->stack_size)
			coati_sink_u64(s, "stack_dyn_size", p->stack_dyn_size);
	}
	if (p->present & (COATI_SAMPLE_WEIGHT | COATI_SAMPLE_WEIGHT_STRUCT))
		coati_sink_u64(s, "weight", p->weight);
	if (p->present & COATI_SAMPLE_DATA_SRC)
		coati_sink_hex(s, "data_src", p->data_src);
	if (p->present & COATI_SAMPLE_TRANSACTION)
		coati_sink_hex(s, "transaction", p->transaction);
	if (p->present & COATI_SAMPLE_REGS_INTR)
		dump_regs(s, "regs_intr", &p->regs_intr);
	if (p->present & COATI_SAMPLE_PHYS_ADDR)
		coati_sink_hex(s, "phys_addr", p->phys_addr);
	if (p->present & COATI_SAMPLE_CGROUP)
		coati_sink_u64(s, "cgroup", p->cgroup);
	if (p->present & COATI_SAMPLE_DATA_PAGE_SIZE)
		coati_sink_u64(s, "data_page_size", p->data_page_size);
	if (p->present & COATI_SAMPLE_CODE_PAGE_SIZE)
		coati_sink_u64(s, "code_page_size", p->code_page_size);
	if (p->present & COATI_SAMPLE_AUX)
		coati_sink_u64(s, "aux_size", p->aux_size);
}

#define COMMON_SAMPLE                                                                           \
	(COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_ID | COATI_SAMPLE_STREAM_ID | COATI_SAMPLE_IP | \
	 COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_ADDR | COATI_SAMPLE_CPU |          \
	 COATI_SAMPLE_PERIOD | COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_RAW)

static void dump_sample(struct sink *s, const struct coati_record *rec)
{
	const struct coati_sample *p = &rec->u.sample;

	if (p->present & COATI_SAMPLE_IP)
		coati_sink_hex(s, "ip", p->ip);
	if (p->present & COATI_SAMPLE_ADDR)
		coati_sink_hex(s, "addr", p->addr);
	if (p->present & COATI_SAMPLE_PERIOD)
		coati_sink_u64(s, "period", p->period);
	if (p->present & ~COMMON_SAMPLE)
		dump_sample_rest(s, p);
	if (p->present & COATI_SAMPLE_CALLCHAIN)
		dump_chain(s, "callchain", &p->callchain);
}

static void dump_mmap(struct sink *s, const struct coati_record *rec)
{
	const struct coati_mmap *m = &rec->u.mmap;
	char prot[5] = "----";

	coati_sink_i64(s, "map_pid", (int32_t)m->pid);
	coati_sink_i64(s, "map_tid", (int32_t)m->tid);
	coati_sink_hex(s, "addr", m->addr);
	coati_sink_hex(s, "len", m->len);
	coati_sink_hex(s, "pgoff", m->pgoff);
	if (rec->type == COATI_RECORD_MMAP2) {
		prot[0] = m->prot & 1 ? 'r' : '-';
		prot[1] = m->prot & 2 ? 'w' : '-';
		prot[2] = m->prot & 4 ? 'x' : '-';
		prot[3] = m->flags & 1 ? 's' : 'p';
		coati_sink_text(s, "prot", prot);
		coati_sink_hex(s, "map_flags", m->flags);
		if (rec->misc & COATI_MISC_MMAP_BUILD_ID) {
			coati_sink_bytes(s, "build_id", m->build_id, m->build_id_size);
		} else {
			coati_sink_u64(s, "maj", m->maj);
			coati_sink_u64(s, "min", m->min);
			coati_sink_u64(s, "ino", m->ino);
			coati_sink_u64(s, "ino_generation", m->ino_generation);
		}
	}
	if (rec->misc & COATI_MISC_MMAP_DATA)
		coati_sink_flag(s, "data");
	coati_sink_text(s, "name", m->name);
}

static void dump_lost(struct sink *s, const struct coati_record *rec)
{
	coati_sink_u64(s, "lost_id", rec->u.lost.id);
	coati_sink_u64(s, "lost", rec->u.lost.lost);
}

static void dump_comm(struct sink *s, const struct coati_record *rec)
{
	coati_sink_i64(s, "comm_pid", (int32_t)rec->u.comm.pid);
	coati_sink_i64(s, "comm_tid", (int32_t)rec->u.comm.tid);
	if (rec->misc & COATI_MISC_COMM_EXEC)
		coati_sink_flag(s, "exec");
	coati_sink_text(s, "comm", rec->u.comm.name);
}

static void dump_task(struct sink *s, const struct coati_record *rec)
{
	coati_sink_i64(s, "task_pid", (int32_t)rec->u.task.pid);
	coati_sink_i64(s, "task_tid", (int32_t)rec->u.task.tid);
	coati_sink_i64(s, "ppid", (int32_t)rec->u.task.ppid);
	coati_sink_i64(s, "ptid", (int32_t)rec->u.task.ptid);
	coati_sink_u64(s, "task_time_ns", rec->u.task.time);
}

static void dump_throttle(struct sink *s, const struct coati_record *rec)
{
	coati_sink_u64(s, "throttle_time_ns", rec->u.throttle.time);
	coati_sink_u64(s, "throttle_id", rec->u.throttle.id);
}

static void dump_read(struct sink *s, const struct coati_record *rec)
{
	coati_sink_i64(s, "read_pid", (int32_t)rec->u.read.pid);
	coati_sink_i64(s, "read_tid", (int32_t)rec->u.read.tid);
	dump_read_block(s, &rec->u.read.block);
}

static void dump_aux(struct sink *s, const struct coati_record *rec)
{
	coati_sink_hex(s, "aux_offset", rec->u.aux.offset);
	coati_sink_u64(s, "aux_size", rec->u.aux.size);
	coati_sink_hex(s, "aux_flags", rec->u.aux.flags);
}

static void dump_itrace(struct sink *s, const struct coati_record *rec)
{
	coati_sink_i64(s, "itrace_pid", (int32_t)rec->u.itrace_start.pid);
	coati_sink_i64(s, "itrace_tid", (int32_t)rec->u.itrace_start.tid);
}

static void dump_lost_samples(struct sink *s, const struct coati_record *rec)
{
	coati_sink_u64(s, "lost", rec->u.lost_samples);
}

static void dump_switch(struct sink *s, const struct coati_record *rec)
{
	bool out = rec->misc & COATI_MISC_SWITCH_OUT;

	coati_sink_text(s, "direction", out ? "out" : "in");
	if (rec->misc & COATI_MISC_SWITCH_OUT_PREEMPT)
		coati_sink_flag(s, "preempted");
	if (rec->type == COATI_RECORD_SWITCH_CPU_WIDE) {
		coati_sink_i64(s, out ? "next_pid" : "prev_pid", (int32_t)rec->u.sw.next_prev_pid);
		coati_sink_i64(s, out ? "next_tid" : "prev_tid", (int32_t)rec->u.sw.next_prev_tid);
	}
}

static void dump_namespaces(struct sink *s, const struct coati_record *rec)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	const struct coati_namespaces *n = &rec->u.namespaces;

	coati_sink_i64(s, "ns_pid", (int32_t)n->pid);
	coati_sink_i64(s, "ns_tid", (int32_t)n->tid);
	coati_sink_object(s, "namespaces");
	for (uint32_t i = 0; i < n->nr && i < sizeof(names) / sizeof(names[0]); i++)
		coati_sink_u64(s, names[i], coati_u64_at(&n->links, 2 * i + 1));
	coati_sink_object_end(s);
}

static void dump_ksymbol(struct sink *s, const struct coati_record *rec)
{
	coati_sink_hex(s, "addr", rec->u.ksymbol.addr);
	coati_sink_u64(s, "len", rec->u.ksymbol.len);
	coati_sink_u64(s, "ksym_type", rec->u.ksymbol.ksym_type);
	if (rec->u.ksymbol.flags & 1)
		coati_sink_flag(s, "unregistered");
	coati_sink_text(s, "name", rec->u.ksymbol.name);
}

static void dump_bpf_event(struct sink *s, const struct coati_record *rec)
{
	coati_sink_text(s, "what", rec->u.bpf_event.bpf_type == 1 ? "load" : "unload");
	coati_sink_u64(s, "prog_id", rec->u.bpf_event.id);
	coati_sink_bytes(s, "tag", rec->u.bpf_event.tag, sizeof(rec->u.bpf_event.tag));
}

static void dump_cgroup(struct sink *s, const struct coati_record *rec)
{
	coati_sink_u64(s, "cgroup", rec->u.cgroup.id);
	coati_sink_text(s, "path", rec->u.cgroup.path);
}

static void dump_text_poke(struct sink *s, const struct coati_record *rec)
{
	const struct coati_text_poke *t = &rec->u.text_poke;

	coati_sink_hex(s, "addr", t->addr);
	coati_sink_bytes(s, "old", t->bytes, t->old_len);
	coati_sink_bytes(s, "new", t->bytes + t->old_len, t->new_len);
}

static void dump_hw_id(struct sink *s, const struct coati_record *rec)
{
	coati_sink_hex(s, "hw_id", rec->u.aux_hw_id);
}

static void dump_deferred(struct sink *s, const struct coati_record *rec)
{
	coati_sink_hex(s, "cookie", rec->u.deferred.cookie);
	dump_chain(s, "callchain", &rec->u.deferred.callchain);
}

static void dump_tool(struct sink *s, const struct coati_record *rec)
{
	coati_sink_u64(s, "bytes", rec->u.tool.size);
}

void coati_dump_record(struct sink *s, const struct coati_record *rec)
{
	static void (*const by_type[])(struct sink *, const struct coati_record *) = {
		[COATI_RECORD_MMAP] = dump_mmap,
		[COATI_RECORD_LOST] = dump_lost,
		[COATI_RECORD_COMM] = dump_comm,
		[COATI_RECORD_EXIT] = dump_task,
		[COATI_RECORD_THROTTLE] = dump_throttle,
		[COATI_RECORD_UNTHROTTLE] = dump_throttle,
		[COATI_RECORD_FORK] = dump_task,
		[COATI_RECORD_READ] = dump_read,
		[COATI_RECORD_SAMPLE] = dump_sample,
		[COATI_RECORD_MMAP2] = dump_mmap,
		[COATI_RECORD_AUX] = dump_aux,
		[COATI_RECORD_ITRACE_START] = dump_itrace,
		[COATI_RECORD_LOST_SAMPLES] = dump_lost_samples,
		[COATI_RECORD_SWITCH] = dump_switch,
		[COATI_RECORD_SWITCH_CPU_WIDE] = dump_switch,
		[COATI_RECORD_NAMESPACES] = dump_namespaces,
		[COATI_RECORD_KSYMBOL] = dump_ksymbol,
		[COATI_RECORD_BPF_EVENT] = dump_bpf_event,
		[COATI_RECORD_CGROUP] = dump_cgroup,
		[COATI_RECORD_TEXT_POKE] = dump_text_poke,
		[COATI_RECORD_AUX_OUTPUT_HW_ID] = dump_hw_id,
		[COATI_RECORD_CALLCHAIN_DEFERRED] = dump_deferred,
	};
	size_t nr = sizeof(by_type) / sizeof(by_type[0]);

	if (rec->type < nr && by_type[rec->type])
		by_type[rec->type](s, rec);
	else
		dump_tool(s, rec);
	if (rec->extra_size)
		coati_sink_u64(s, "unknown_bytes", rec->extra_size);
}
