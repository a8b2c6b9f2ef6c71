/* SPDX-License-Identifier: MIT */
/* What coati record samples: the events of the command line, or what this machine has for finding
 * hot code. */
#pragma once

#include <coati/event.h>

#include "cli/record/args.h"

/* The list to sample. *ret_text is what was wrong when the words themselves were, else NULL.
 * *ret_default: nothing was asked for, this is our choice. */
int coati_record_events(const struct record_args *args, struct coati_event_list **ret,
			const char **ret_text, bool *ret_default, struct coati_error *err);
/* "EVENT>N" as a list of events and the number. */
int coati_record_when(const char *text, struct coati_event_list **ret, uint64_t *ret_count,
		      struct coati_error *err);
