/* SPDX-License-Identifier: MIT */
/* see who.h */
#include "format/who.h"

#include <string.h>

#include "reading/parts.h"

#define TASKS_MAX ((size_t)1 << 28)

void coati_who_init(struct who *w, const struct coati_profile *p)
{
	*w = (struct who){ .profile = p };
	coati_map_init(&w->processes, TASKS_MAX);
	coati_map_init(&w->threads, TASKS_MAX);
}

void coati_who_fini(struct who *w)
{
	coati_map_fini(&w->processes);
	coati_map_fini(&w->threads);
}

int coati_who_meet(struct who *w, uint32_t thread, bool *ret_process, bool *ret_thread)
{
	const struct coati_profile_thread *t = coati_profile_thread(w->profile, thread), *old;
	uint64_t pid = (uint32_t)t->pid, both = pid << 32 | (uint32_t)t->tid, last;
	int r = 0;

	*ret_process = *ret_thread = false;
	if (coati_map_get(&w->threads, both, &last) && last == thread &&
	    coati_map_get(&w->processes, pid, &last) && last == thread)
		return 0;
	old = coati_map_get(&w->processes, pid, &last)
		      ? coati_profile_thread(w->profile, (uint32_t)last)
		      : NULL;
	*ret_process = !old || strcmp(old->process_comm, t->process_comm) != 0;
	old = coati_map_get(&w->threads, both, &last)
		      ? coati_profile_thread(w->profile, (uint32_t)last)
		      : NULL;
	*ret_thread = !old || strcmp(old->comm, t->comm) != 0;
	r = coati_map_put(&w->processes, pid, thread);
	if (r >= 0)
		r = coati_map_put(&w->threads, both, thread);
	return r < 0 ? r : 0;
}
