/* SPDX-License-Identifier: MIT */
/* Labels that follow from the thread of a sample. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reading/parts.h"
#include "reading/profile.h"

enum own_label {
	OWN_NONE = 0,
	OWN_PROCESS_ID,
	OWN_PROCESS_NAME,
	OWN_THREAD_ID,
	OWN_THREAD_NAME,
	OWN_LABEL_COUNT,
};
#define OWN_LABEL_ROOM 16

/* By its key, of which @len bytes count. */
enum own_label coati_own_label(const char *key, size_t len);
/* Its value; @room is for numbers. NULL for NONE. */
const char *coati_own_label_value(enum own_label label, const struct coati_profile_thread *t,
				  char room[OWN_LABEL_ROOM]);
/* The value of a label that came with an entry, NULL when it has none. */
const char *coati_profile_label_of(const struct coati_profile *p,
				   const struct coati_profile_entry *e, const char *key);
/* Did one of that key come with a recording? */
bool coati_profile_has_label(const struct coati_profile *p, const char *key);
