/* SPDX-License-Identifier: MIT */
/*
 * The feature sections of a file as bytes: one {offset, size} pair per section that there is, in
 * the order of their bits, then their bodies. That is what stands behind the records; the foreword
 * in front of them is the same with a mark and the bits before it (docs/formats/perf-data.md).
 */
#pragma once

#include <stdint.h>

#include <coati/recording.h>

#include "base/strbuf.h"
#include "recording/recording.h"

#define SECTIONS_MAX   (256u << 20)
#define FOREWORD_MARK  UINT64_C(0x3177666974616f63) /* "coatifw1" */
#define FOREWORD_BYTES 40			    /* mark and bits */

/* Those of @features that hold something and did not fail, into @all, which begins at byte @at of
 * the file. @bits tells which. */
void coati_section_table_add(const struct strbuf features[COATI_FEATURE_MAX], uint64_t at,
			     struct strbuf *all, uint64_t bits[4]);
/* The foreword behind what is in @head, the beginning of a file; zeros up to a multiple of 8. */
void coati_foreword_add(const struct strbuf features[COATI_FEATURE_MAX], struct strbuf *head);
