/* SPDX-License-Identifier: MIT */
/* Whose samples are in a window: services, processes, names of threads. See build.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/build-parts.h"
#include "agent/machine.h"
#include "base/alloc.h"
#include "process/service.h"
#include "reading/labels.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define OTHER "other"

uint32_t *coati_build_none(size_t nr)
{
	uint32_t *v = coati_alloc_array(nr + 1, sizeof(*v));

	if (v)
		memset(v, 0xff, (nr + 1) * sizeof(*v));
	return v;
}

void coati_build_source_fini(struct build_source *src)
{
	for (int off = 0; off < 2; off++) {
		coati_free(src->names[off].frames);
		coati_free(src->names[off].stacks);
	}
	coati_map_fini(&src->services);
}

/* Over the cap all others are one. */
int coati_build_service(struct agent_build *b, const struct service *s, const char *cgroup,
			uint32_t *ret)
{
	const struct service other = { SERVICE_OTHER, OTHER };
	struct agent_service *slot;
	uint64_t known;

	if (coati_map_get_str(&b->service_names, s->name, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	if (b->services.len >= b->max_services && strcmp(s->name, OTHER) != 0)
		return coati_build_service(b, &other, "", ret);
	slot = ARRAY_ADD(&b->services);
	if (!slot)
		return -ENOMEM;
	*slot = (struct agent_service){
		.name = coati_arena_strdup(&b->arena, s->name),
		.cgroup = coati_arena_strdup(&b->arena, cgroup ? cgroup : ""),
		.kind = s->kind,
	};
	*ret = (uint32_t)b->services.len - 1;
	if (!slot->name || !slot->cgroup)
		return -ENOMEM;
	return coati_map_put_str(&b->service_names, slot->name, *ret) < 0 ? -ENOMEM : 0;
}

/* What /proc says, where the kernel does not write cgroups into samples. Asked once a window. */
static const char *cgroup_of(struct agent_build *b, int32_t pid)
{
	char path[AGENT_CGROUP_MAX];
	uint64_t known;
	char *own;

	if (coati_map_get(&b->cgroups, (uint32_t)pid, &known))
		return (const char *)(uintptr_t)known;
	if (coati_machine_cgroup_of(pid, path) < 0)
		path[0] = '\0';
	own = coati_arena_strdup(&b->arena, path);
	if (own)
		coati_map_put(&b->cgroups, (uint32_t)pid, (uintptr_t)own);
	return own ? own : "";
}

uint32_t coati_agent_build_service_of(struct agent_build *b, int32_t pid, const char *program)
{
	const char *cgroup = cgroup_of(b, pid);
	struct service s;
	uint32_t number;

	coati_service_of(cgroup, program, &s);
	if (b->rules && !coati_service_rules_apply(b->rules, cgroup, &s))
		return UINT32_MAX;
	return coati_build_service(b, &s, cgroup, &number) < 0 ? UINT32_MAX : number;
}

static int make_service(struct agent_build *b, struct build_source *src,
			const struct coati_profile_sample *s, uint32_t *ret)
{
	struct coati_profile *p = src->feed->profile;
	const struct coati_profile_thread *t = coati_profile_thread(p, s->thread);
	struct coati_label labels[1];
	struct label_set set = p->label_sets.v[s->labels];
	const struct own_label_of of = { t, &set, b->rules };
	const char *cgroup = NULL;
	struct service service;

	for (uint32_t i = 0; i < set.nr && !cgroup; i++)
		if (!strcmp(set.labels[i].key, "cgroup"))
			cgroup = set.labels[i].value;
	if (!cgroup) {
		cgroup = cgroup_of(b, t->pid);
		labels[0] = (struct coati_label){ "cgroup", cgroup };
		set = (struct label_set){ labels, 1 };
	}
	if (!coati_profile_service(&of, &service)) {
		*ret = BUILD_NONE;
		return 0;
	}
	return coati_build_service(b, &service, cgroup, ret);
}

static int find_service(struct agent_build *b, struct build_source *src,
			const struct coati_profile_sample *s, uint32_t *ret)
{
	uint64_t key = (uint64_t)s->thread << 32 | s->labels, known;
	int r;

	if (coati_map_get(&src->services, key, &known)) {
		*ret = (uint32_t)known - 1;
		return 0;
	}
	r = make_service(b, src, s, ret);
	return r < 0 ? r : coati_map_put(&src->services, key, (uint64_t)*ret + 1) < 0 ? -ENOMEM : 0;
}

/* A process that changes its name is two. */
static int find_process(struct agent_build *b, const struct coati_profile_thread *t, uint32_t *ret)
{
	uint64_t key = coati_hash_bytes(t->process_comm, strlen(t->process_comm), (uint32_t)t->pid);
	struct agent_process *slot;
	uint64_t known;

	if (coati_map_get(&b->process_ids, key, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	slot = ARRAY_ADD(&b->processes);
	if (!slot)
		return -ENOMEM;
	*slot = (struct agent_process){ .pid = t->pid,
					.name = coati_arena_strdup(&b->arena, t->process_comm),
					.start_ns = coati_machine_process_start(t->pid) };
	*ret = (uint32_t)b->processes.len - 1;
	if (!slot->name)
		return -ENOMEM;
	return coati_map_put(&b->process_ids, key, *ret) < 0 ? -ENOMEM : 0;
}

static int find_thread(struct agent_build *b, const char *name, const char **ret)
{
	uint64_t known;
	char *own;

	if (coati_map_get_str(&b->thread_names, name, &known)) {
		*ret = (const char *)(uintptr_t)known;
		return 0;
	}
	own = coati_arena_strdup(&b->arena, name);
	*ret = own;
	if (!own)
		return -ENOMEM;
	return coati_map_put_str(&b->thread_names, own, (uintptr_t)own) < 0 ? -ENOMEM : 0;
}

int coati_build_who(struct agent_build *b, struct build_source *src,
		    const struct coati_profile_sample *s, struct agent_row *row)
{
	const struct coati_profile_thread *t = coati_profile_thread(src->feed->profile, s->thread);
	int r = find_service(b, src, s, &row->service);

	if (r < 0 || row->service == BUILD_NONE)
		return r;
	r = find_process(b, t, &row->process);
	return r < 0 ? r : find_thread(b, t->comm, &row->thread);
}
