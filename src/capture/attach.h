/* SPDX-License-Identifier: MIT */
/*
 * The stack walker of the kernel hung on the events of a capture. In: a capture whose stacks are to
 * be walked there. Out: one that does, or one whose stacks are unwound from copies, and the reason.
 */
#pragma once

#include <coati/error.h>

struct coati_capture;

/* Before the events are opened: load the walker, or turn to copies and say why in cap->no_bpf. */
void coati_attach_settle(struct coati_capture *cap);
/* It is not available after all. */
void coati_attach_without(struct coati_capture *cap);
/* To the open events whose stacks are to be walked. */
int coati_attach_walker(struct coati_capture *cap, struct coati_error *err);
/* When everything else is open: requests are heard from now on. */
int coati_attach_start(struct coati_capture *cap, struct coati_error *err);
/* What runs already. What starts meanwhile must be recorded by then: the side-band event runs. */
int coati_attach_describe(struct coati_capture *cap, struct coati_error *err);
