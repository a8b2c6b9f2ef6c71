/* SPDX-License-Identifier: MIT */
/* The options of a capture. */
#pragma once

#include <coati/capture.h>

/* What the caller asks for, with what it implies. -EINVAL, -E2BIG: options that contradict each
 * other or are not known. */
int coati_capture_check_options(const struct coati_event_list *list,
				const struct coati_capture_opts *given,
				struct coati_capture_opts *ret, struct coati_error *err);
/* A copy of what is needed after the caller has gone on; argv and the lists stay the caller's.
 * -ENOMEM: @ret is to be freed, too. */
int coati_capture_keep_options(struct coati_capture_opts *ret, const struct coati_capture_opts *o);
void coati_capture_free_options(struct coati_capture_opts *o);
