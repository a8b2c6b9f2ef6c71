/* SPDX-License-Identifier: MIT */
/* Recordings that are read while they are written (COATI_RECORDING_FOLLOW). */
#pragma once

#include <coati/recording.h>

/* Nothing more will be written: the records that ordering still holds back are given out next. */
void coati_recording_unfollow(struct coati_recording *r);
