/* SPDX-License-Identifier: MIT */
/* What the parts of an export know of each other. */
#pragma once

#include "format/format.h"

/* Its format, and the view that was written (NULL before). */
const struct format *coati_export_format(const struct coati_export *x,
					 struct coati_view **ret_view);
