/* SPDX-License-Identifier: MIT */
/*
 * The figures of data quality under their names, and conditions on them (--fail-if). FIGURE
 * OPERATOR AMOUNT:
 *	lost, truncated, sampled ...	see coati_figure_names
 *	> >= < <=
 *	1%, 0.5%, 100			a share of what the figure is a part of, or a number
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/json.h"
#include "base/options.h"
#include "cli/command.h"

/* Status of a verb whose condition cannot be judged, because the recording does not say the
 * figure. */
#define EXIT_UNKNOWN 3

enum figure {
	FIGURE_SAMPLES,
	FIGURE_LOST,
	FIGURE_THROTTLED,
	FIGURE_SAMPLED,
	FIGURE_COMPLETE,
	FIGURE_TRUNCATED,
	FIGURE_GAP,
	FIGURE_GUESSED,
	FIGURE_ROOT_UNKNOWN,
	FIGURE_NO_STACK,
	FIGURE_UNSYMBOLIZED,
	FIGURE_DAMAGED,
	FIGURE_LATE,
	FIGURE_REFUSED,
	FIGURE_NO_EVENT,
	FIGURE_OFF_NO_STACK,
	FIGURE_OFF_TRUNCATED,
	FIGURE_OFF_GAP,
	FIGURE_OFF_UNPAIRED,
	FIGURE_LIVE_LOST,
	/* of the live events of a flight recorder */
	FIGURE_EVENTS,
	FIGURE_MISSING_BATCHES,
	FIGURE_INCOMPLETE_GENERATIONS,
	FIGURE_UNRESOLVED,
	FIGURE_CLOCK_UNKNOWN,
	FIGURE_CONTRADICTIONS,
	FIGURE_COUNT,
};
extern const char *const coati_figure_names[];

/* What a recording says of itself. */
struct figures {
	struct {
		uint64_t nr;
		/* what it is a part of; 0: there is nothing that it could be a part of */
		uint64_t of;
		bool is_known;
	} v[FIGURE_COUNT];
};
void coati_figure_set(struct figures *f, enum figure figure, uint64_t nr, uint64_t of);

struct figure_condition {
	const char *text; /* as it was written */
	enum figure figure;
	bool less, or_equal; /* < or >; with = */
	bool is_share;
	double amount; /* percent, or a number */
};

/* @known: a bit for each figure that the verb has. 0, or -EINVAL with a sentence and its column. */
int coati_condition_parse(const char *text, uint32_t known, struct figure_condition *ret,
			  struct coati_error *err);
enum figure_result { FIGURE_PASSED, FIGURE_FAILED, FIGURE_UNKNOWN };
/* *ret_value: percent or the number, unless it is unknown. */
enum figure_result coati_condition_judge(const struct figure_condition *c, const struct figures *f,
					 double *ret_value);

/* All of a command line, before anything else is done: 0, or EXIT_USAGE, and it was said. */
int coati_conditions_check(const struct coati_command *cmd, const struct option_texts *texts,
			   uint32_t known);
/* Judge them, and say on stderr which do not pass and why: EXIT_DONE, EXIT_FAILED or
 * EXIT_UNKNOWN. */
int coati_conditions_judge(const struct option_texts *texts, const struct figures *f);
/* The members "conditions" and "failed"; nothing when there are no conditions. */
void coati_conditions_json(const struct option_texts *texts, const struct figures *f,
			   struct json *j);
