/* SPDX-License-Identifier: MIT */
/* Counts a group of events, and a single one, phase by phase of a program: phases */
#include <coati/event.h>
#include <coati/version.h>

#include <stdio.h>
#include <string.h>

static char memory[8 << 20];

static int run(struct coati_group *group, struct coati_event *clock, struct coati_error *err)
{
	struct coati_attr faults = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_PAGE_FAULTS };
	struct coati_attr task = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_TASK_CLOCK };
	struct coati_count counts[2], now;
	uint32_t nr;
	int is_fast, r;

	coati_group_add(group, &faults, "page-faults"); /* a failure is reported by the open */
	coati_group_add(group, &task, "task-clock");
	r = coati_group_open(group, &COATI_SELF, COATI_EVENT_USER_OK, err);
	if (r == 0)
		r = coati_group_enable(group);
	for (int phase = 0; r == 0 && phase < 2; phase++) {
		memset(memory + phase * (4 << 20), 1, 4 << 20);
		r = coati_group_read(group, counts, 2, &nr); /* without stopping it */
		for (uint32_t i = 0; r == 0 && i < nr; i++)
			printf("after phase %d: %llu %s\n", phase,
			       (unsigned long long)coati_count_scaled(&counts[i]), counts[i].label);
		/* without a system call where the CPU and the kernel allow that */
		if (r == 0 && coati_event_read_fast(clock, &now, &is_fast) == 0)
			printf("after phase %d: %llu ns%s\n", phase, (unsigned long long)now.value,
			       is_fast ? ", read without a system call" : "");
	}
	coati_group_disable(group);
	return r;
}

int main(void)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_CPU_CLOCK };
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_USER_OK };
	struct coati_error err = { 0, 0, "out of memory" };
	struct coati_group *group = NULL;
	struct coati_event *clock = NULL;
	uint64_t id = 0;
	int r = coati_event_open(&attr, &COATI_SELF, &opts, &clock, &err);

	if (r == 0 && coati_event_id(clock, &id) == 0)
		printf("libcoati %s: event %llu\n", coati_version(), (unsigned long long)id);
	r = r < 0 ? r : coati_group_new(&group);
	r = r < 0 ? r : run(group, clock, &err);
	if (r < 0)
		fprintf(stderr, "phases: %s\n", err.text);
	coati_group_close(&group);
	coati_event_close(&clock);
	return r < 0;
}
