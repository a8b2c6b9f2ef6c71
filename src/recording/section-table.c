/* SPDX-License-Identifier: MIT */
/* Places first, then the bodies in the same order. */
#include "recording/section-table.h"

#include <stdbool.h>

#include "recording/recording.h"
#include "recording/sections.h"

static bool is_there(const struct strbuf *feature)
{
	return feature->len && !feature->failed;
}

void coati_section_table_add(const struct strbuf features[COATI_FEATURE_MAX], uint64_t at,
			     struct strbuf *all, uint64_t bits[4])
{
	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX; bit++)
		at += is_there(&features[bit]) ? 16 : 0;
	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX; bit++) {
		if (!is_there(&features[bit]))
			continue;
		bits[bit / 64] |= UINT64_C(1) << (bit % 64);
		coati_section_u64(all, at);
		coati_section_u64(all, features[bit].len);
		at += features[bit].len;
	}
	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX; bit++)
		if (is_there(&features[bit]))
			coati_strbuf_add(all, features[bit].text, features[bit].len);
}

void coati_foreword_add(const struct strbuf features[COATI_FEATURE_MAX], struct strbuf *head)
{
	struct strbuf all = STRBUF_INIT(SECTIONS_MAX);
	uint64_t bits[4] = { 0 };

	coati_section_table_add(features, head->len + FOREWORD_BYTES, &all, bits);
	coati_section_u64(head, FOREWORD_MARK);
	for (int i = 0; i < 4; i++)
		coati_section_u64(head, bits[i]);
	coati_strbuf_add(head, all.text, all.len);
	coati_strbuf_pad(head, '\0', -head->len & 7);
	if (all.failed && !head->failed)
		head->failed = all.failed;
	coati_strbuf_fini(&all);
}
