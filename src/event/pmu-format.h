/* SPDX-License-Identifier: MIT */
/*
 * What the files of a PMU in sysfs say: format/NAME, which bits of which word a term fills
 * ("config1:0-15,32-35"), and events/NAME, the terms that a named event stands for
 * ("event=0x3c,umask=0x1,core=?"). Pure functions over text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/abi.h>

#define PMU_WORDS	  5 /* config, config1 ... config4 */
#define PMU_TERM_NAME_MAX 64

/* The value's low bits go into the low bits of the mask. */
struct pmu_field {
	uint32_t word; /* 0 config, 1 config1, ... */
	uint64_t mask; /* never 0 */
};

/* -EBADMSG when @text is not of that form: unknown word, bit above 63, a range that runs backwards,
 * overlap. */
int coati_pmu_field_parse(const char *text, struct pmu_field *ret);
/* The largest value that fits. */
uint64_t coati_pmu_field_max(const struct pmu_field *f);
/* Replace the bits of @f in @attr. -ERANGE when @value does not fit. */
int coati_pmu_field_set(const struct pmu_field *f, uint64_t value, struct coati_attr *attr);
/* The word of @attr: config, config1, ... */
uint64_t *coati_pmu_word(struct coati_attr *attr, uint32_t word);

/* One term of an event file. */
struct pmu_term {
	char name[PMU_TERM_NAME_MAX];
	uint64_t value; /* 1 when none is given */
	bool open;	/* "=?": the user has to give the value */
};

/* The term at *@at, which is moved behind it: 1, 0 at the end, -EBADMSG. */
int coati_pmu_term_next(const char **at, struct pmu_term *ret);
