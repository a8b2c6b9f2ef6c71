/* SPDX-License-Identifier: MIT */
/*
 * What the tool says to a person: whole lines on stderr, "coati VERB: ...". Data never goes this
 * way. Each line is one write, so that lines of several processes do not mix.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

/* The verb that speaks from now on; the string must stay. */
void coati_talk_as(const char *verb);
/* Say nothing but errors. */
void coati_talk_quietly(bool quiet);
/* An error or refusal: always said. */
void coati_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A word on the side: not said when quiet. */
void coati_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* User input (@text, may be NULL) that is not an event: report it with its place, and return true.
 * What the machine refuses is not wrong usage: return false, and print nothing. */
bool coati_say_no_event(const char *text, const struct coati_error *err);
