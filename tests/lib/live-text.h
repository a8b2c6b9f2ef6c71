/* SPDX-License-Identifier: MIT */
/*
 * A trace written as text (live-read/text.h) through reader and validator, and what they say as
 * lines: `> ` an event, `! ` a finding, `? ` the first damage, `= ` the account.
 */
#pragma once

#include <coati/trace.h>

#include "base/strbuf.h"
#include "live-read/check.h"
#include "live-read/reader.h"

/* @text into @t batch by batch. 0, or what reading it or feeding it said. */
int live_text_feed(struct coati_live_reader *t, const char *text, struct coati_error *err);
/* Every event that can be had, into @out. */
int live_text_drain(struct coati_live_reader *t, struct coati_trace_check *c, struct strbuf *out);
/* The whole way, with the account at the end. */
int live_text_run(const char *text, struct strbuf *out, struct coati_error *err);
