/* SPDX-License-Identifier: MIT */
/* The fields of one decoded record into a sink. */
#pragma once

#include <coati/record.h>

#include "cli/dump/sink.h"

/* Everything that a record holds beside its identity. */
void coati_dump_record(struct sink *s, const struct coati_record *rec);
/* The name of a context marker in a call chain, NULL for an address. */
const char *coati_context_name(uint64_t v);
