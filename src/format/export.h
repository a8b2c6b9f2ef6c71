/* SPDX-License-Identifier: MIT */
/* What the parts of an export know of each other. */
#pragma once

#include "format/format.h"

/* Its format, the view that was written (NULL before), and its options. */
const struct format *coati_export_format(const struct coati_export *x, struct coati_view **ret_view,
					 const struct coati_export_opts **ret_opts);
/* What there is of live events; NULL: the format has none of them. */
const struct tally_live *coati_export_live_counts(const struct coati_export *x);
