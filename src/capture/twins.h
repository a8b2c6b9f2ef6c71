/* SPDX-License-Identifier: MIT */
/*
 * Twins: two events that count the same software event (page faults, context switches ...). Since about Linux 6.3 the kernel prepares such a sample once and
 * writes it for all of them, with the id of the one that was opened last: to which event it belongs cannot be seen any more. Twins in one capture are refused
 * where the kernel is like that. Samples that carry the id of another recorder's event are counted; where one event of ours alone can be meant, that id becomes one of its own in the
 * recording.
 */
#pragma once

#include "capture/capture.h"

/* Whether an event of @cap can have a twin somewhere. */
bool coati_capture_may_have_twins(const struct coati_capture *cap);
/* Before the recording ends: samples with the ids of strangers are those of the only event that can have a twin; where there is one. */
void coati_capture_adopt(struct coati_capture *cap);
/* -EINVAL: two of its events are twins, and the kernel confuses them. */
int coati_capture_check_twins(const struct coati_capture *cap, struct coati_error *err);
