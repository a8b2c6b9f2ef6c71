/* SPDX-License-Identifier: MIT */
/*
 * Labels that every sample has: who took it. They are not kept in sets, because they follow from
 * its thread; a label of the same name that came with the recording goes before them.
 */
#include "reading/labels.h"

#include <stdio.h>
#include <string.h>

#include "reading/parts.h"

static const char *const names[OWN_LABEL_COUNT] = {
	[OWN_PROCESS_ID] = "process_id", [OWN_PROCESS_NAME] = "process_name",
	[OWN_THREAD_ID] = "thread_id",	 [OWN_THREAD_NAME] = "thread_name",
	[OWN_SERVICE] = "service",
};

enum own_label coati_own_label(const char *key, size_t len)
{
	for (unsigned int i = 0; i < OWN_LABEL_COUNT; i++)
		if (names[i] && strlen(names[i]) == len && !memcmp(names[i], key, len))
			return (enum own_label)i;
	return OWN_NONE;
}

#define KTHREADD 2 /* parent of the kernel's threads */

bool coati_profile_service(const struct own_label_of *of, struct service *ret)
{
	const struct coati_profile_thread *t = of->thread;
	const char *cgroup = NULL;

	for (uint32_t i = 0; i < of->labels->nr && !cgroup; i++)
		if (!strcmp(of->labels->labels[i].key, "cgroup"))
			cgroup = of->labels->labels[i].value;
	if (t->pid == 0 || t->pid == KTHREADD || t->ppid == KTHREADD)
		*ret = (struct service){ SERVICE_KERNEL, "[kernel]" };
	else
		coati_service_of(cgroup, t->process_comm, ret);
	return !of->rules || coati_service_rules_apply(of->rules, cgroup, ret);
}

const char *coati_own_label_value(enum own_label label, const struct own_label_of *of,
				  char room[OWN_LABEL_ROOM])
{
	const struct coati_profile_thread *t = of->thread;
	struct service service;

	switch (label) {
	case OWN_SERVICE:
		coati_profile_service(of, &service);
		memcpy(room, service.name, sizeof(service.name));
		return room;
	case OWN_PROCESS_NAME:
		return t->process_comm;
	case OWN_THREAD_NAME:
		return t->comm;
	case OWN_PROCESS_ID:
	case OWN_THREAD_ID:
		snprintf(room, OWN_LABEL_ROOM, "%d", label == OWN_THREAD_ID ? t->tid : t->pid);
		return room;
	default:
		return NULL;
	}
}

const char *coati_profile_label_of(const struct coati_profile *p,
				   const struct coati_profile_entry *e, const char *key)
{
	const struct label_set *set = &p->label_sets.v[e->labels];

	for (uint32_t i = 0; i < set->nr; i++)
		if (!strcmp(set->labels[i].key, key))
			return set->labels[i].value;
	return NULL;
}

bool coati_profile_has_label(const struct coati_profile *p, const char *key)
{
	for (size_t i = 0; i < p->label_keys.len; i++)
		if (!strcmp(p->label_keys.v[i], key))
			return true;
	return false;
}

const char *coati_profile_label_key(const struct coati_profile *p, uint32_t i)
{
	if (i < p->label_keys.len)
		return p->label_keys.v[i];
	i -= (uint32_t)p->label_keys.len;
	for (unsigned int k = 0; k < OWN_LABEL_COUNT; k++)
		if (names[k] && !coati_profile_has_label(p, names[k]) && !i--)
			return names[k];
	return NULL;
}
