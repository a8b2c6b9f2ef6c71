/* SPDX-License-Identifier: MIT */
/* What names tell a timeline when all is read: through which functions its stacks go, and what the
 * kernel calls its threads. */
#include <string.h>

#include "reading/parts.h"
#include "reading/wait.h"
#include "trace/timeline-read.h"

static bool begins_with_one(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(name, *words, strlen(*words)))
			return true;
	return false;
}

/* Does the kernel's part of a stack go through one of these? */
static bool goes_through(const struct coati_profile *p, uint32_t stack, const char *const *words)
{
	struct coati_profile_stack s;

	if (stack == COATI_TIMELINE_NONE || coati_profile_stack(p, stack, &s) < 0)
		return false;
	for (uint32_t i = 0; i < s.nr; i++) {
		const struct coati_profile_location *l = coati_profile_location(p, s.locations[i]);

		if (!(l->flags & COATI_LOCATION_KERNEL))
			return false;
		if (l->nr_names && begins_with_one(l->names[l->nr_names - 1].function, words))
			return true;
	}
	return false;
}

static const char *const irq_words[] = {
	"asm_sysvec_",	 "sysvec_",	  "asm_common_interrupt", "common_interrupt", "irq_exit",
	"el1_interrupt", "el0_interrupt", "el1h_64_irq",	  "gic_handle_irq",   NULL
};
static const char *const fault_words[] = { "asm_exc_page_fault",
					   "exc_page_fault",
					   "do_user_addr_fault",
					   "handle_mm_fault",
					   "do_mem_abort",
					   "do_page_fault",
					   NULL };

/* What the names of the stacks tell. */
void coati_load_name_stacks(struct coati_timeline *t)
{
	for (size_t i = 0; i < t->wakes.len; i++)
		if (goes_through(t->profile, t->wakes.v[i].stack, irq_words))
			t->wakes.v[i].flags |= COATI_TIMELINE_IRQ;
	for (size_t i = 0; i < t->threads.len; i++) {
		struct thread *th = &t->threads.v[i];

		for (size_t n = 0; n < th->samples.len; n++)
			th->samples.v[n].in_fault =
				goes_through(t->profile, th->samples.v[n].stack, fault_words);
		for (size_t n = 0; n < th->stretches.len; n++) {
			struct stretch *s = &th->stretches.v[n];
			enum coati_wait wait = COATI_WAIT_UNKNOWN;

			if (s->asks)
				wait = coati_profile_stack_wait(t->profile, s->stack);
			/* the system call knows better than a stack that says nothing */
			if (wait < COATI_WAIT_OTHER)
				s->wait = (uint8_t)wait;
		}
	}
}

/* The kernel's names, for those that the program has given none (coati_thread_name()). */
void coati_load_name_threads(struct coati_timeline *t)
{
	struct coati_processes *ps = coati_profile_processes(t->profile, 0);
	struct coati_thread_info info;

	for (size_t i = 0; ps && i < t->threads.len; i++) {
		struct thread *th = &t->threads.v[i];
		uint64_t time = th->end && !th->outside ? th->end : t->info.end;

		if (*th->comm || coati_processes_thread(ps, th->pid, th->tid, time, &info) < 0)
			continue;
		/* ":TID": it ended before its name could be read */
		th->comm = coati_timeline_text(
			t, *info.comm == ':' && info.process_comm ? info.process_comm : info.comm);
		if (!th->comm)
			th->comm = "";
	}
}
