/* SPDX-License-Identifier: MIT */
/* From modifier letters to attribute bits. */
#include "event/grammar-modifiers.h"

#include <errno.h>

#define PRECISE_MAX 3

static const struct {
	char letter;
	uint32_t bit;
} letters[] = {
	{ 'u', MOD_USER },	  { 'k', MOD_KERNEL },	    { 'h', MOD_HYPERVISOR },
	{ 'I', MOD_NO_IDLE },	  { 'G', MOD_GUEST },	    { 'H', MOD_HOST },
	{ 'P', MOD_MAX_PRECISE }, { 'S', MOD_SAMPLE_READ }, { 'D', MOD_PINNED },
	{ 'W', MOD_WEAK },	  { 'e', MOD_EXCLUSIVE },   { 'b', MOD_BPF },
};

/* 0 for a letter that is not a modifier. */
static uint32_t bit_of(char letter)
{
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (letters[i].letter == letter)
			return letters[i].bit;
	}
	return 0;
}

static int unknown_letter(const struct lexer *lx, const char *at)
{
	if (*at == 'R' || *at == 'X')
		return coati_lexer_fail(lx, at, -EOPNOTSUPP,
					"modifier '%c' (%s) is not supported; leave it out", *at,
					*at == 'R' ? "retire latency" : "do not regroup");
	if (*at == '/')
		return coati_lexer_fail(lx, at, -EINVAL,
					"terms stand before the modifiers: EVENT/TERMS/MODIFIERS");
	return coati_lexer_fail(lx, at, -EINVAL,
				"'%s' is not a modifier; there are u k h I G H p P S D W e b",
				coati_shown((struct slice){ at, 1 }).text);
}

int coati_modifiers_parse(struct lexer *lx, struct modifiers *ret)
{
	struct modifiers mods = { .letters = coati_lexer_until(lx, ",}") };

	if (is_blank_char(lexer_peek(lx)) && !mods.letters.len)
		return coati_lexer_fail(lx, lx->at, -EINVAL, "modifiers follow without a blank");
	if (!mods.letters.len)
		return coati_lexer_expected(lx, "modifiers (any of u k h I G H p P S D W e b)");
	for (size_t i = 0; i < mods.letters.len; i++) {
		const char *at = mods.letters.at + i;
		uint32_t bit = bit_of(*at);

		if (*at == 'p')
			mods.precise++;
		else if (!bit)
			return unknown_letter(lx, at);
		else if (mods.bits & bit)
			return coati_lexer_fail(lx, at, -EINVAL, "modifier '%c' is given twice",
						*at);
		mods.bits |= bit;
		if (mods.precise > PRECISE_MAX)
			return coati_lexer_fail(lx, at, -EINVAL,
						"more than three p: ppp is as precise as it gets");
		if (mods.precise && mods.bits & MOD_MAX_PRECISE)
			return coati_lexer_fail(lx, at, -EINVAL,
						"p and P contradict each other; give one of them");
	}
	*ret = mods;
	return 0;
}

/* Naming some of u k h leaves out the others. */
static uint64_t privilege_flags(uint32_t bits)
{
	uint64_t flags = 0;

	if (!(bits & (MOD_USER | MOD_KERNEL | MOD_HYPERVISOR)))
		return 0;
	if (!(bits & MOD_USER))
		flags |= COATI_ATTR_EXCLUDE_USER;
	if (!(bits & MOD_KERNEL))
		flags |= COATI_ATTR_EXCLUDE_KERNEL;
	if (!(bits & MOD_HYPERVISOR))
		flags |= COATI_ATTR_EXCLUDE_HV;
	return flags;
}

static uint64_t attr_flags(const struct modifiers *mods)
{
	uint32_t guest_host = mods->bits & (MOD_GUEST | MOD_HOST);
	uint64_t flags = privilege_flags(mods->bits);

	if (guest_host == MOD_GUEST)
		flags |= COATI_ATTR_EXCLUDE_HOST;
	if (guest_host == MOD_HOST)
		flags |= COATI_ATTR_EXCLUDE_GUEST;
	if (mods->bits & MOD_NO_IDLE)
		flags |= COATI_ATTR_EXCLUDE_IDLE;
	if (mods->bits & MOD_PINNED)
		flags |= COATI_ATTR_PINNED;
	if (mods->bits & MOD_EXCLUSIVE)
		flags |= COATI_ATTR_EXCLUSIVE;
	/* :P starts at the top; COATI_DESC_MAX_PRECISE lets the opener step down */
	return flags |
	       COATI_ATTR_PRECISE(mods->bits & MOD_MAX_PRECISE ? PRECISE_MAX : mods->precise);
}

void coati_modifiers_apply(const struct modifiers *mods, struct coati_event_desc *desc)
{
	desc->attr.flags |= attr_flags(mods);
	if (mods->bits & (MOD_USER | MOD_KERNEL | MOD_HYPERVISOR))
		desc->flags |= COATI_DESC_MODIFIED;
	if (mods->bits & MOD_SAMPLE_READ)
		desc->flags |= COATI_DESC_SAMPLE_READ;
	if (mods->bits & MOD_WEAK)
		desc->flags |= COATI_DESC_WEAK;
	if (mods->bits & MOD_MAX_PRECISE)
		desc->flags |= COATI_DESC_MAX_PRECISE;
	if (mods->bits & MOD_BPF)
		desc->flags |= COATI_DESC_BPF_COUNTER;
}
