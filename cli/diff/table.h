/* SPDX-License-Identifier: MIT */
/* A comparison as text, comma-separated values or JSON. */
#pragma once

#include "cli/diff/args.h"

int coati_diff_table(struct diff *d);
/* Verdict, conditions, account of both sides and warnings: what every form starts with. */
void coati_diff_head(struct diff *d, struct strbuf *s);
/* The same on stderr, where the form has no place for it. */
void coati_diff_say_head(struct diff *d);
