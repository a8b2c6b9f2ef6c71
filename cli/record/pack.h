/* SPDX-License-Identifier: MIT */
/*
 * Names into a recording at its end: it is read once more, every distinct address in it is looked
 * up on this machine, and what was found is written as batches, so that the file tells its story
 * anywhere. A stream cannot be read again and is not packed, nor is one file of several, because
 * nobody reads the rings meanwhile.
 */
#pragma once

#include <coati/recording.h>

#include "recording/writer.h"

/* For coati_capture_before_end(); @ctx: where the capture is, a struct coati_capture **. Names that
 * cannot be had are no error; a disk that is full is. */
int coati_record_pack(void *ctx, struct coati_writer *w);
