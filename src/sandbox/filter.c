/* SPDX-License-Identifier: MIT */
/*
 * The numbers of calls are divided into spans that are treated alike, and a program looks for the
 * span of a call by halves: the kernel runs it for every number when it is installed, and that is
 * most of what a sandbox costs. Where an argument decides, the span is one number, and the tests
 * follow each other.
 */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter-calls.h"

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#define X32_BIT	  0x40000000u
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH_HERE AUDIT_ARCH_AARCH64
#endif

#define AT_ARCH	  offsetof(struct seccomp_data, arch)
#define AT_NUMBER offsetof(struct seccomp_data, nr)
#define AT_ARG(i) (offsetof(struct seccomp_data, args) + 8 * (i)) /* its low half */

#define REFUSE(code) (SECCOMP_RET_ERRNO | (code))

#define ENTRIES_MAX 160
#define SPANS_MAX   (2 * ENTRIES_MAX + 2)
#define ACTIONS_MAX 8

/* A rule, and what it decides when it holds. */
struct entry {
	const struct call_rule *rule;
	uint32_t action;
	uint32_t order; /* earlier ones come first */
};

/* Calls from @from up to the next span. */
struct span {
	uint32_t from;
	uint32_t action;		  /* when no entry holds */
	uint32_t first_entry, nr_entries; /* that look at arguments */
};

/* A comparison at @at goes on elsewhere when it is true, or false. */
struct jump {
	uint32_t action; /* of the return there */
	uint16_t at;
	bool when;
};

struct program {
	struct sock_filter *code;
	size_t len, cap;
	uint32_t pid, serve_fd;
	uint32_t otherwise; /* for calls that no rule is about */
	struct entry entries[ENTRIES_MAX];
	size_t nr_entries;
	struct span spans[SPANS_MAX];
	size_t nr_spans;
	struct jump jumps[SPANS_MAX];
	size_t nr_jumps;
	bool failed; /* a jump is too far for an instruction */
};

#ifdef ARCH_HERE
static void put(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->len < p->cap)
		p->code[p->len] = (struct sock_filter){ code, jt, jf, k };
	p->len++;
}

static void put_load(struct program *p, size_t at)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void put_return(struct program *p, uint32_t action)
{
	put(p, BPF_RET | BPF_K, action, 0, 0);
}

/* ---- spans ---- */

static void add_list(struct program *p, const struct call_list *l, uint32_t action)
{
	for (size_t i = 0; i < l->nr && p->nr_entries < ENTRIES_MAX; i++) {
		p->entries[p->nr_entries] =
			(struct entry){ &l->rules[i], action, (uint32_t)p->nr_entries };
		p->nr_entries++;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->rule->nr != y->rule->nr)
		return x->rule->nr < y->rule->nr ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* As the one before it when both are decided by the number alone. */
static void add_span(struct program *p, const struct span *s)
{
	struct span *last = p->nr_spans ? &p->spans[p->nr_spans - 1] : NULL;

	if (last && last->from == s->from)
		*last = *s;
	else if (!last || last->nr_entries || s->nr_entries || last->action != s->action)
		p->spans[p->nr_spans++] = *s;
}

/* The entries of one number, up to the first that always holds. */
static size_t add_number(struct program *p, size_t first)
{
	int nr = p->entries[first].rule->nr;
	struct span s = { .from = (uint32_t)nr,
			  .action = p->otherwise,
			  .first_entry = (uint32_t)first };
	bool is_decided = false;
	size_t i = first;

	for (; i < p->nr_entries && p->entries[i].rule->nr == nr; i++) {
		if (is_decided)
			continue;
		is_decided = p->entries[i].rule->when == CALL_ALWAYS;
		if (is_decided)
			s.action = p->entries[i].action;
		else
			s.nr_entries++;
	}
	add_span(p, &s);
	return i;
}

static void make_spans(struct program *p)
{
	qsort(p->entries, p->nr_entries, sizeof(p->entries[0]), by_number);
	add_span(p, &(struct span){ .action = p->otherwise });
	for (size_t i = 0; i < p->nr_entries;) {
		uint32_t next = (uint32_t)p->entries[i].rule->nr + 1;

		i = add_number(p, i);
		add_span(p, &(struct span){ .from = next, .action = p->otherwise });
	}
}

/* ---- code ---- */

static void put_test(struct program *p, const struct entry *e)
{
	const struct call_rule *r = e->rule;
	uint32_t value = r->when == CALL_MASKED ? r->value
			 : r->when == CALL_OWN	? p->pid
						: p->serve_fd;

	put_load(p, AT_ARG(r->arg));
	put(p, BPF_ALU | BPF_AND | BPF_K, r->when == CALL_MASKED ? r->mask : UINT32_MAX, 0, 0);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	put_return(p, e->action);
}

static void set_jump(struct program *p, const struct jump *j, size_t to)
{
	size_t distance = to - j->at - 1;

	p->failed |= distance > UINT8_MAX;
	if (p->failed || j->at >= p->cap)
		return;
	if (j->when)
		p->code[j->at].jt = (uint8_t)distance;
	else
		p->code[j->at].jf = (uint8_t)distance;
}

static void put_spans(struct program *p, size_t low, size_t high);

/* One side of a comparison: code of its own, or a return that many share. */
static void put_side(struct program *p, struct jump j, size_t low, size_t high)
{
	const struct span *s = &p->spans[low];

	if (high - low == 1 && !s->nr_entries) {
		j.action = s->action;
		p->jumps[p->nr_jumps++] = j;
		return;
	}
	set_jump(p, &j, p->len);
	put_spans(p, low, high);
}

/* The spans from @low up to @high, the number in the accumulator. */
static void put_spans(struct program *p, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2, at = p->len;
	const struct span *s = &p->spans[low];

	if (high - low == 1) {
		for (uint32_t i = 0; i < s->nr_entries; i++)
			put_test(p, &p->entries[s->first_entry + i]);
		put_return(p, s->action);
		return;
	}
	put(p, BPF_JMP | BPF_JGE | BPF_K, p->spans[middle].from, 0, 0);
	put_side(p, (struct jump){ .at = (uint16_t)at, .when = false }, low, middle);
	put_side(p, (struct jump){ .at = (uint16_t)at, .when = true }, middle, high);
}

/* Behind everything else: one for each action. */
static void put_returns(struct program *p)
{
	uint32_t actions[ACTIONS_MAX];
	size_t first = p->len, nr = 0;

	for (size_t i = 0; i < p->nr_jumps; i++) {
		size_t k = 0;

		while (k < nr && actions[k] != p->jumps[i].action)
			k++;
		if (k == ACTIONS_MAX) {
			p->failed = true;
			return;
		}
		if (k == nr) {
			actions[nr++] = p->jumps[i].action;
			put_return(p, p->jumps[i].action);
		}
		set_jump(p, &p->jumps[i], first + k);
	}
}

/* Calls of another kind of CPU have other numbers: no process of coati makes them. */
static void put_begin(struct program *p)
{
	put_load(p, AT_ARCH);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0);
	put_return(p, SECCOMP_RET_KILL_PROCESS);
	put_load(p, AT_NUMBER);
#ifdef X32_BIT
	put(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	put_return(p, SECCOMP_RET_KILL_PROCESS);
#endif
}

static void add_reader(struct program *p, const struct filter_opts *o)
{
	static const struct call_rule clone3[] = { { .nr = CALL_CLONE3 } };
	static const struct call_list not_there = { clone3, 1 };

	p->otherwise = REFUSE(EPERM);
	add_list(p, &coati_calls_reader, SECCOMP_RET_ALLOW);
	if (o->serve_fd)
		add_list(p, &coati_calls_serve, SECCOMP_RET_ALLOW);
	if (o->may_open)
		add_list(p, &coati_calls_open, SECCOMP_RET_ALLOW);
	add_list(p, &coati_calls_any_open, REFUSE(EACCES));
	add_list(p, &not_there, REFUSE(ENOSYS));
}

static void add_other(struct program *p, const struct filter_opts *o)
{
	p->otherwise = SECCOMP_RET_ALLOW;
	add_list(p, &coati_calls_forbidden, REFUSE(EPERM));
	if (!o->changes) {
		add_list(p, &coati_calls_place, SECCOMP_RET_ALLOW);
		add_list(p, &coati_calls_changes, REFUSE(EACCES));
	}
	if (!o->network)
		add_list(p, &coati_calls_network, REFUSE(EPERM));
	if (!o->exec)
		add_list(p, &coati_calls_exec, REFUSE(EPERM));
}

size_t coati_filter_build(const struct filter_opts *o, struct sock_filter *ret, size_t cap)
{
	struct program p = {
		.code = ret, .cap = cap, .pid = (uint32_t)o->pid, .serve_fd = (uint32_t)o->serve_fd
	};

	if (o->is_reader)
		add_reader(&p, o);
	else
		add_other(&p, o);
	make_spans(&p);
	if (o->is_reader)
		add_span(&p, &(struct span){ .from = CALL_NEWEST + 1, .action = REFUSE(ENOSYS) });
	put_begin(&p);
	put_spans(&p, 0, p.nr_spans);
	put_returns(&p);
	return p.len <= cap && p.nr_entries < ENTRIES_MAX && !p.failed ? p.len : 0;
}
#else
size_t coati_filter_build(const struct filter_opts *o, struct sock_filter *ret, size_t cap)
{
	return 0;
}
#endif

/* A program that cannot be read is refused as such only by a kernel that would take one. */
int coati_filter_probe(void)
{
#ifdef ARCH_HERE
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, NULL);

	return r < 0 && errno == EFAULT ? 0 : r < 0 ? -errno : -EINVAL;
#else
	return -EOPNOTSUPP;
#endif
}

int coati_filter_install(const struct filter_opts *o)
{
	struct sock_filter code[FILTER_MAX];
	struct sock_fprog prog = { .filter = code };
	size_t len = coati_filter_build(o, code, FILTER_MAX);

	if (!len)
		return -EOPNOTSUPP;
	prog.len = (unsigned short)len;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &prog) < 0 ? -errno : 0;
}
