/* SPDX-License-Identifier: MIT */
/*
 * Groups whose members belong to different PMUs, on the real kernel: started, stopped, read and
 * reset again and again, in every mix. Each round does the same work, whose counts are known.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event/group.h"
#include "event/set.h"
#include "lib/sanitizer.h"
#include "need.h"
#include "probed.h"

#define ROUNDS 4

enum kind { FAULTS, TASK_CLOCK, CPU_CLOCK, TRACEPOINT, UPROBE, BREAKPOINT, NR_KINDS };

/* What one round counts; 0: a clock, which counts more than nothing. */
static const uint64_t per_round[NR_KINDS] = { 4, 0, 0, 3, 5, 7 };

static volatile uint64_t watched __attribute__((aligned(8)));

static void work(void *unused)
{
	uintptr_t pages = per_round[FAULTS];

	for (uint64_t i = 0; i < per_round[TRACEPOINT]; i++)
		syscall(SYS_getppid);
	for (uint64_t i = 0; i < per_round[UPROBE]; i++)
		coati_test_target((int)i);
	for (uint64_t i = 0; i < per_round[BREAKPOINT]; i++)
		watched = i;
	touch_pages(&pages);
}

static const char *name_of(enum kind kind)
{
	static char uprobe[PATH_MAX + 64], breakpoint[64];
	char self[PATH_MAX];
	ssize_t n;

	switch (kind) {
	case FAULTS:
		return "page-faults:u";
	case TASK_CLOCK:
		return "task-clock";
	case CPU_CLOCK:
		return "cpu-clock";
	case TRACEPOINT:
		return "syscalls:sys_enter_getppid";
	case UPROBE:
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		CHECK_OK(n);
		self[n] = '\0';
		snprintf(uprobe, sizeof(uprobe), "uprobe:'%s':coati_test_target", self);
		return uprobe;
	default:
		snprintf(breakpoint, sizeof(breakpoint), "mem:0x%" PRIxPTR "/8:w:u",
			 (uintptr_t)&watched);
		return breakpoint;
	}
}

/* A group of a leader and some others, as kinds in the order of the members. */
struct mix {
	enum kind kinds[NR_KINDS];
	uint32_t nr;
	char text[2 * PATH_MAX]; /* {leader,others} */
};

/* The @others are bits of the kinds, of which that of the leader has no meaning. */
static struct mix mix_of(enum kind leader, uint32_t others)
{
	struct mix m = { .kinds = { leader }, .nr = 1 };
	size_t len;

	for (enum kind k = 0; k < NR_KINDS; k++)
		if (k != leader && others & (1u << k))
			m.kinds[m.nr++] = k;
	len = (size_t)snprintf(m.text, sizeof(m.text), "{");
	for (uint32_t i = 0; i < m.nr; i++)
		len += (size_t)snprintf(m.text + len, sizeof(m.text) - len, "%s%s",
					name_of(m.kinds[i]), i + 1 < m.nr ? "," : "}");
	CHECK_INT(len, <, sizeof(m.text));
	return m;
}

/* Kinds that this machine has, as bits. */
static uint32_t need_kinds(void)
{
	uint32_t have = 0;

	need_root();
	need_tracefs();
	for (enum kind k = 0; k < NR_KINDS; k++) {
		struct coati_event_list *list = NULL;
		struct coati_event *ev = NULL;

		CHECK_OK(coati_event_list_new(NULL, &list, NULL));
		if (coati_event_list_add(list, name_of(k), NULL) == 0 &&
		    coati_event_open(&coati_event_list_get(list, 0)->attr, &COATI_SELF, NULL, &ev,
				     NULL) == 0) {
			have |= 1u << k;
			rehearse(work, NULL);
		}
		coati_event_close(&ev);
		coati_event_list_free(list);
	}
	test_note("kinds of members: 0x%x of 0x%x", have, (1u << NR_KINDS) - 1);
	CHECK_INT(have & (1u << FAULTS | 1u << TASK_CLOCK | 1u << CPU_CLOCK), ==, 7);
	return have;
}

/* Pairs, and groups of all kinds: to close a tracepoint or uprobe makes the kernel wait. */
static bool is_pair_or_all(uint32_t members, uint32_t have)
{
	return __builtin_popcount(members) == 2 || members == have;
}

static void for_each_mix(uint32_t have, bool all, void (*fn)(const struct mix *m))
{
	uint32_t nr = 0;

	for (enum kind leader = 0; leader < NR_KINDS; leader++) {
		for (uint32_t others = 0; others < 1u << NR_KINDS; others++) {
			struct mix m;

			if (others & (1u << leader) || (others | 1u << leader) & ~have)
				continue;
			if (!all && !is_pair_or_all(others | 1u << leader, have))
				continue;
			m = mix_of(leader, others);
			fn(&m);
			nr++;
		}
	}
	test_note("%" PRIu32 " groups", nr);
}

static struct coati_event_list *parsed(const char *events)
{
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(coati_event_list_new(NULL, &list, NULL));
	if (coati_event_list_add(list, events, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return list;
}

/* Pages of the program's own; a sanitizer has others beside them, which come in at any time. */
static bool is_wrong(enum kind kind, uint64_t got, uint64_t expected)
{
#ifdef UNDER_SANITIZER
	if (kind == FAULTS)
		return got < expected;
#endif
	(void)kind;
	return got != expected;
}

/* @rounds rounds of the work give the value of a member, and the clocks say more than @before. */
static void check_count(const struct mix *m, uint32_t i, const struct coati_count *c,
			uint64_t rounds, uint64_t before)
{
	uint64_t expected = per_round[m->kinds[i]] * rounds;

	if (per_round[m->kinds[i]] ? is_wrong(m->kinds[i], c->value, expected) : c->value <= before)
		test_fail_at(__FILE__, __LINE__,
			     "%s: %s is %" PRIu64 " after %" PRIu64 " rounds, not %s%" PRIu64,
			     m->text, c->label, c->value, rounds,
			     per_round[m->kinds[i]] ? "" : "above ",
			     per_round[m->kinds[i]] ? expected : before);
	CHECK_U64(c->running_ns, ==, c->enabled_ns);
}

static struct coati_group *opened_group(const struct mix *m)
{
	struct coati_event_list *list = parsed(m->text);
	struct coati_error err = { 0 };
	struct coati_group *g = NULL;

	CHECK_OK(coati_group_new(&g));
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct coati_event_desc *desc = coati_event_list_get(list, i);

		CHECK_OK(coati_group_add(g, &desc->attr, desc->name));
	}
	if (coati_group_open(g, &COATI_SELF, 0, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", m->text, err.text);
	coati_event_list_free(list);
	rehearse(work, NULL); /* a new uprobe makes the text fault once */
	return g;
}

static void run_group(const struct mix *m)
{
	struct coati_group *g = opened_group(m);
	struct coati_count c[NR_KINDS], before[NR_KINDS] = { 0 };
	uint32_t nr;

	for (uint64_t round = 1; round <= 2 * ROUNDS; round++) {
		CHECK_OK(coati_group_enable(g));
		work(NULL);
		CHECK_OK(coati_group_disable(g));
		work(NULL); /* counts nowhere */
		CHECK_OK(coati_group_read(g, c, NR_KINDS, &nr));
		CHECK_INT(nr, ==, m->nr);
		for (uint32_t i = 0; i < nr; i++)
			check_count(m, i, &c[i], (round - 1) % ROUNDS + 1, before[i].value);
		memcpy(before, c, sizeof(before));
		if (round == ROUNDS) {
			CHECK_OK(coati_group_reset(g));
			memset(before, 0, sizeof(before));
		}
	}
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, work, NULL, c, NR_KINDS)));
		for (uint32_t i = 0; i < nr; i++)
			check_count(m, i, &c[i], 1, 0);
	}
	coati_group_close(&g);
}

TEST_LIMIT(group_of_any_mix_of_pmus_counts_the_same_at_every_start, 120)
{
	/* the kernel counts the same for each build: all of them in one of the builds is enough */
	for_each_mix(need_kinds(), !test_slow(), run_group);
}

static void run_set(const struct mix *m)
{
	struct coati_event_list *list = parsed(m->text);
	struct coati_set_opts opts = { .size = sizeof(opts), .nr_tids = 1 };
	struct coati_count c, before[NR_KINDS] = { 0 };
	struct coati_error err = { 0 };
	struct coati_set *set = NULL;
	int32_t tid = (int32_t)gettid();

	opts.tids = &tid;
	if (coati_set_open(list, &opts, &set, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", m->text, err.text);
	CHECK_INT(coati_set_count(set), ==, m->nr);
	rehearse(work, NULL);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		CHECK_OK(coati_set_enable(set, NULL));
		work(NULL);
		CHECK_OK(coati_set_disable(set, NULL));
		work(NULL);
		for (uint32_t i = 0; i < m->nr; i++) {
			CHECK_OK(coati_set_read(set, i, &c));
			check_count(m, i, &c, round, before[i].value);
			before[i] = c;
		}
	}
	coati_set_close(&set);
	coati_event_list_free(list);
}

TEST_LIMIT(set_of_any_mix_of_pmus_counts_the_same_at_every_start, 120)
{
	for_each_mix(need_kinds(), false, run_set);
}

/* ---- followers that are started and stopped alone ---- */

/* One round while the group runs; what each member counts in it. */
static void check_round(struct coati_group *g, const struct mix *m, uint32_t stopped)
{
	struct coati_count before[NR_KINDS], after[NR_KINDS];
	uint32_t nr;

	CHECK_OK(coati_group_read(g, before, NR_KINDS, &nr));
	work(NULL);
	CHECK_OK(coati_group_read(g, after, NR_KINDS, &nr));
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t n = after[i].value - before[i].value;
		uint64_t expected = i == stopped ? 0 : per_round[m->kinds[i]];

		if (i == stopped || expected ? is_wrong(m->kinds[i], n, expected) : n == 0)
			test_fail_at(__FILE__, __LINE__,
				     "%s: %s counted %" PRIu64 " in a round, not %" PRIu64, m->text,
				     after[i].label, n, expected);
	}
}

static void run_alone(const struct mix *m)
{
	struct coati_group *g = opened_group(m);

	CHECK_OK(coati_group_enable(g));
	for (uint32_t i = 1; i < m->nr; i++) {
		struct coati_event *follower = coati_group_event(g, i);
		struct coati_count c[NR_KINDS];
		uint32_t nr;

		CHECK_OK(coati_event_disable(follower));
		check_round(g, m, i);
		CHECK_OK(coati_event_enable(follower)); /* while the leader runs */
		check_round(g, m, NR_KINDS);
		CHECK_OK(coati_event_disable(follower));
		CHECK_OK(coati_group_enable(g)); /* starts it too */
		check_round(g, m, NR_KINDS);
		CHECK_OK(coati_event_disable(follower));
		CHECK_OK(coati_group_disable(g));
		CHECK_OK(coati_group_enable(g));
		check_round(g, m, NR_KINDS);
		CHECK_OK(coati_event_disable(follower));
		CHECK_OK((int)(nr = (uint32_t)coati_group_measure(g, work, NULL, c, NR_KINDS)));
		for (uint32_t j = 0; j < nr; j++)
			check_count(m, j, &c[j], 1, 0);
		CHECK_OK(coati_group_enable(g));
	}
	coati_group_close(&g);
}

TEST_LIMIT(group_member_that_was_stopped_alone_counts_again_when_it_is_started, 120)
{
	for_each_mix(need_kinds(), false, run_alone);
}

static void run_joined(const struct mix *m)
{
	struct mix alone = mix_of(m->kinds[0], 0);
	struct coati_event_list *list = parsed(m->text);
	struct coati_group *g = opened_group(&alone);
	struct coati_event *followers[NR_KINDS] = { NULL };

	CHECK_OK(coati_group_enable(g));
	for (uint32_t i = 1; i < m->nr; i++) {
		const struct coati_event_desc *desc = coati_event_list_get(list, i);
		struct coati_event_opts opts = { .size = sizeof(opts), .label = desc->name };
		struct coati_attr attr = desc->attr;

		opts.group = coati_group_event(g, 0);
		attr.flags &= ~COATI_ATTR_DISABLED;
		attr.read_format = coati_event_attr(opts.group)->read_format;
		followers[i] = opened(&attr, &opts);
		if (m->kinds[i] == UPROBE)
			rehearse(work, NULL);
		check_round(g, m, NR_KINDS);
	}
	for (uint32_t i = m->nr; i-- > 1;)
		coati_event_close(&followers[i]);
	coati_group_close(&g);
	coati_event_list_free(list);
}

TEST_LIMIT(group_member_that_joins_a_running_group_counts, 120)
{
	for_each_mix(need_kinds(), false, run_joined);
}
