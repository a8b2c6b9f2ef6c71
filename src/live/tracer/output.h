/* SPDX-License-Identifier: MIT */
/* A generation as bytes that can be read without any other. Ordinary code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* All batches of the complete generation @number, each as a record, behind what @out holds. @taken: for a stream, which does not want it any more after this. -ENOENT: it is not there any more. */
int coati_tracer_generation_bytes(uint64_t number, bool taken, struct strbuf *out);
