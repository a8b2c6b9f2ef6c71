/* SPDX-License-Identifier: MIT */
/* What a person should know about a recording: before it, where it is not what was asked for; after it, the account. */
#pragma once

#include <coati/capture.h>

#include "record-args.h"

void coati_record_announce(const struct record_args *args, const struct coati_event_list *list,
			   const struct coati_capture *cap, bool by_default);
/* The last line. */
void coati_record_account(const struct record_args *args, const struct coati_event_list *list,
			  const struct coati_capture_stats *st, const char *name);
