/* SPDX-License-Identifier: MIT */
/* The reader of pprof files. */
#pragma once

#include "base/pprof-fields.h"
#include "format/format.h"

int coati_pprof_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
