/* SPDX-License-Identifier: MIT */
/* One run of coati record, from the events to the last line. */
#pragma once

#include "cli/record/args.h"

/* Returns the exit code: that of the command where there is one. */
int coati_record_session(const struct record_args *args);
/* --snapshot instead; and what does not go with it, or NULL. */
int coati_record_snapshot(const struct record_args *args);
const char *coati_record_snapshot_conflict(const struct record_args *a);

/* The words of the command line as the user typed them, before they are moved about; NULL when
 * there is no memory. */
const char **coati_record_words(int argc, char **argv);
void coati_record_words_free(const char **words);
