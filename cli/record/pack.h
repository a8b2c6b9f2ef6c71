/* SPDX-License-Identifier: MIT */
/*
 * Names into a recording at its end: it is read once more, every distinct address in it is looked
 * up on this machine, and what was found is written as batches, so that the file tells its story
 * anywhere. A stream cannot be read again and is not packed, nor is one file of several, because
 * the rings are not read meanwhile.
 */
#pragma once

#include <stdbool.h>

#include <coati/profile.h>
#include <coati/recording.h>

#include "recording/writer.h"

/* Names of a profile that holds all samples of the recording, without reading it again; with lines
 * and inlined functions, or names of functions alone. */
int coati_record_pack_profile(struct coati_profile *p, struct coati_writer *w, bool lines);
/* For coati_capture_before_end(); @ctx: where the capture is, a struct coati_capture **. Missing
 * names are not an error; a full disk is. */
int coati_record_pack(void *ctx, struct coati_writer *w);
