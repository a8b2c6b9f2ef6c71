/* SPDX-License-Identifier: MIT */
/* What coati why prints: as text, and as JSON. */
#pragma once

#include "cli/trace/session.h"

#include "trace/timeline.h"

void coati_why_text(struct trace *t, const struct coati_why *w);
void coati_why_json(struct trace *t, const struct coati_why *w);
