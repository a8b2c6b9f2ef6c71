/* SPDX-License-Identifier: MIT */
/* Tracepoint formats, besides what <coati/record.h> promises. */
#pragma once

#include <stdint.h>

#include <coati/record.h>

const char *coati_tracepoint_name(const struct coati_tracepoint *tp);

/* Its number: what attr.config of the event and the field common_type hold. */
uint32_t coati_tracepoint_id(const struct coati_tracepoint *tp);

uint32_t coati_tracepoint_field_count(const struct coati_tracepoint *tp);

/* Element @i of an array, extended to 64 bits; 0 past the end. */
uint64_t coati_field_value_at(const struct coati_field_value *v, uint32_t i);

/* Is its print format one that we can evaluate? 0: printing gives name=value for all fields. */
int coati_tracepoint_is_understood(const struct coati_tracepoint *tp);
