/* SPDX-License-Identifier: MIT */
/* Bodies of feature sections: the mirror of model.c. Each function appends to a strbuf, which fails
 * by itself. */
#pragma once

#include <stdint.h>

#include <coati/abi.h>

#include "base/strbuf.h"

void coati_section_u32(struct strbuf *s, uint32_t v);
void coati_section_u64(struct strbuf *s, uint64_t v);
/* u32 length (rounded up to 64), the text, zeros. */
void coati_section_string(struct strbuf *s, const char *text);
/* The first @bytes of an attr, with its size field set to that. */
void coati_section_attr(struct strbuf *s, const struct coati_attr *attr, uint32_t bytes);

/* Facts of this machine. */
void coati_section_hostname(struct strbuf *s);
void coati_section_osrelease(struct strbuf *s);
void coati_section_arch(struct strbuf *s);
void coati_section_nrcpus(struct strbuf *s);
void coati_section_cpudesc(struct strbuf *s);
void coati_section_cpuid(struct strbuf *s);
void coati_section_total_mem(struct strbuf *s);
void coati_section_cmdline(struct strbuf *s, int argc, const char *const *argv);
void coati_section_cpu_topology(struct strbuf *s);
void coati_section_pmu_mappings(struct strbuf *s);
/* Resolution of CLOCK_MONOTONIC, and one instant on it and on the wall clock. */
void coati_section_clockid(struct strbuf *s);
void coati_section_clock_data(struct strbuf *s);
