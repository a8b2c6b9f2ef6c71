/* SPDX-License-Identifier: MIT */
/* What a person should know about a recording: before it, where it is not what was asked for; after
 * it, the account. */
#pragma once

#include <coati/capture.h>

#include "cli/figures.h"
#include "capture/session.h"
#include "cli/record/args.h"

void coati_record_announce(const struct record_args *args, const struct coati_event_list *list,
			   const struct coati_capture *cap, bool by_default);
/* While it is recorded: warn when records are lost, and name the option that helps. True: it was
 * said, and need not be asked again. */
bool coati_record_watch_lost(const struct record_args *args, const struct coati_capture *cap);
/* The same when many stacks are cut. */
bool coati_record_watch(const struct record_args *args, const struct coati_event_list *list,
			const struct coati_capture *cap);
/* What is known at the end of a recording, for --fail-if. */
#define RECORD_FIGURES                                                           \
	(1u << FIGURE_SAMPLES | 1u << FIGURE_LOST | 1u << FIGURE_THROTTLED |     \
	 1u << FIGURE_SAMPLED | 1u << FIGURE_COMPLETE | 1u << FIGURE_TRUNCATED | \
	 1u << FIGURE_GAP | 1u << FIGURE_GUESSED | 1u << FIGURE_NO_STACK)
void coati_record_figures(const struct coati_capture_stats *st, struct figures *ret);
/* The last line. */
void coati_record_account(const struct record_args *args, const struct coati_event_list *list,
			  const struct coati_capture_stats *st, const char *name);
/* What became of the labels of threads that were read with samples. */
void coati_record_account_labels(const struct record_args *args,
				 const struct coati_label_counts *c);
