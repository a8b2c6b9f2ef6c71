/* SPDX-License-Identifier: MIT */
/* Labels that follow from the thread of a sample. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "process/service.h"
#include "reading/parts.h"
#include "reading/profile.h"

enum own_label {
	OWN_NONE = 0,
	OWN_PROCESS_ID,
	OWN_PROCESS_NAME,
	OWN_THREAD_ID,
	OWN_THREAD_NAME,
	OWN_SERVICE, /* of the cgroup, too: see coati_profile_service() */
	OWN_LABEL_COUNT,
};
#define OWN_LABEL_ROOM SERVICE_NAME_MAX

struct service;
struct service_rules;

/* By its key, of which @len bytes count. */
enum own_label coati_own_label(const char *key, size_t len);
/* Whose label is asked for. */
struct own_label_of {
	const struct coati_profile_thread *thread;
	const struct label_set *labels;
	const struct service_rules *rules;
};
/* Its value; @room is for what is made on the spot. NULL for NONE. */
const char *coati_own_label_value(enum own_label label, const struct own_label_of *of,
				  char room[OWN_LABEL_ROOM]);
/* The service that a sample belongs to, by the labels and the thread that it has. False: a rule
 * drops it. */
bool coati_profile_service(const struct own_label_of *of, struct service *ret);
/* The value of a label that came with an entry, NULL when it has none. */
const char *coati_profile_label_of(const struct coati_profile *p,
				   const struct coati_profile_entry *e, const char *key);
/* Did one of that key come with a recording? */
bool coati_profile_has_label(const struct coati_profile *p, const char *key);
