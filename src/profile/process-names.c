/* SPDX-License-Identifier: MIT */
/*
 * What processes are called in tables and trees. One that executes another program has several
 * names over time; the last one is shown for all of its samples, as by perf report --sort pid.
 */
#include "process/processes.h"
#include "profile/view.h"
#include "reading/parts.h"

static const char *last_name(const struct coati_profile *p, const struct coati_profile_thread *t)
{
	const char *name =
		t->file < p->files.len
			? coati_process_last_comm(p->files.v[t->file].processes, t->pid, t->process)
			: NULL;

	return name ? name : t->process_comm;
}

const char *const *coati_view_process_names(struct coati_view *v)
{
	const struct coati_profile *p = v->profile;

	if (v->process_names)
		return v->process_names;
	v->process_names = coati_view_own(v, p->threads.len, sizeof(*v->process_names));
	for (size_t i = 0; v->process_names && i < p->threads.len; i++)
		v->process_names[i] = last_name(p, &p->threads.v[i]);
	return v->process_names;
}
