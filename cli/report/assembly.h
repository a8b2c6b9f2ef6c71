/* SPDX-License-Identifier: MIT */
/* The instructions of a function with their weights, by objdump. */
#pragma once

#include "cli/report/args.h"

struct report_rows {
	const struct coati_row *v;
	size_t nr;
};

/* Rows by address: those of one or several functions of a name choose what is shown, all of them
 * give the weights, because of what was put into a function other functions are the name. The
 * output reports what cannot be shown. */
void coati_report_assembly(struct report *r, const struct report_rows *chosen,
			   const struct report_rows *all);
