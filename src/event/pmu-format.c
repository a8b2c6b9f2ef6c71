/* SPDX-License-Identifier: MIT */
/* Format and event files of sysfs. */
#include "event/pmu-format.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/parse.h"

/* A decimal bit number; moves *p behind it. */
static int take_bit(const char **p, unsigned int *ret)
{
	unsigned int bit = 0;
	const char *start = *p;

	while (**p >= '0' && **p <= '9') {
		bit = bit * 10 + (unsigned int)(*(*p)++ - '0');
		if (bit > 63)
			return -EBADMSG;
	}
	*ret = bit;
	return *p == start ? -EBADMSG : 0;
}

static uint64_t bits_between(unsigned int low, unsigned int high)
{
	unsigned int width = high - low + 1;

	return (width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1) << low;
}

static int take_range(const char **p, uint64_t *mask)
{
	unsigned int low, high;
	uint64_t bits;

	if (take_bit(p, &low) < 0)
		return -EBADMSG;
	high = low;
	if (**p == '-') {
		(*p)++;
		if (take_bit(p, &high) < 0 || high < low)
			return -EBADMSG;
	}
	bits = bits_between(low, high);
	if (*mask & bits)
		return -EBADMSG;
	*mask |= bits;
	return 0;
}

static int take_word(const char **p, uint32_t *ret)
{
	if (strncmp(*p, "config", 6) != 0)
		return -EBADMSG;
	*p += 6;
	*ret = 0;
	if (**p >= '1' && **p < '0' + PMU_WORDS)
		*ret = (uint32_t)(*(*p)++ - '0');
	return *(*p)++ == ':' ? 0 : -EBADMSG;
}

int coati_pmu_field_parse(const char *text, struct pmu_field *ret)
{
	struct pmu_field f = { 0 };
	const char *p = text;

	if (take_word(&p, &f.word) < 0)
		return -EBADMSG;
	do {
		if (take_range(&p, &f.mask) < 0)
			return -EBADMSG;
	} while (*p++ == ',');
	p--;
	if (*p == '\n')
		p++;
	if (*p)
		return -EBADMSG;
	*ret = f;
	return 0;
}

uint64_t coati_pmu_field_max(const struct pmu_field *f)
{
	int width = __builtin_popcountll(f->mask);

	return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

uint64_t *coati_pmu_word(struct coati_attr *attr, uint32_t word)
{
	uint64_t *words[PMU_WORDS] = { &attr->config, &attr->config1, &attr->config2,
				       &attr->config3, &attr->config4 };

	return words[word];
}

int coati_pmu_field_set(const struct pmu_field *f, uint64_t value, struct coati_attr *attr)
{
	uint64_t *word = coati_pmu_word(attr, f->word);
	uint64_t left = f->mask;

	if (value > coati_pmu_field_max(f))
		return -ERANGE;
	*word &= ~f->mask;
	for (; left; left &= left - 1, value >>= 1) {
		if (value & 1)
			*word |= left & -left;
	}
	return 0;
}

static int take_value(const char **p, struct pmu_term *t)
{
	char digits[24];
	size_t len = strcspn(*p, ",\n");

	if (len >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, *p, len);
	digits[len] = '\0';
	*p += len;
	t->open = strcmp(digits, "?") == 0;
	if (t->open)
		return 0;
	return coati_parse_u64(digits, 0, UINT64_MAX, &t->value) < 0 ? -EBADMSG : 0;
}

int coati_pmu_term_next(const char **at, struct pmu_term *ret)
{
	struct pmu_term t = { .value = 1 };
	const char *p = *at;
	size_t len;

	if (!*p || *p == '\n')
		return 0;
	len = strcspn(p, "=,\n");
	if (!len || len >= sizeof(t.name))
		return -EBADMSG;
	memcpy(t.name, p, len);
	p += len;
	if (*p == '=') {
		p++;
		if (take_value(&p, &t) < 0)
			return -EBADMSG;
	}
	if (*p == ',' && p[1] && p[1] != '\n')
		p++;
	else if (*p == ',' || (*p == '\n' && p[1]))
		return -EBADMSG;
	*at = p;
	*ret = t;
	return 1;
}
