/* SPDX-License-Identifier: MIT */
/*
 * The letters behind an event or a group: who is counted (u k h I G H), how precisely (p P), and
 * how it is opened (S D W e b). Letters of a group are added to those of each member.
 */
#pragma once

#include <stdint.h>

#include <coati/event.h>

#include "event/lexer.h"

#define MOD_USER	(UINT32_C(1) << 0)
#define MOD_KERNEL	(UINT32_C(1) << 1)
#define MOD_HYPERVISOR	(UINT32_C(1) << 2)
#define MOD_NO_IDLE	(UINT32_C(1) << 3)
#define MOD_GUEST	(UINT32_C(1) << 4)
#define MOD_HOST	(UINT32_C(1) << 5)
#define MOD_MAX_PRECISE (UINT32_C(1) << 6)
#define MOD_SAMPLE_READ (UINT32_C(1) << 7)
#define MOD_PINNED	(UINT32_C(1) << 8)
#define MOD_WEAK	(UINT32_C(1) << 9)
#define MOD_EXCLUSIVE	(UINT32_C(1) << 10)
#define MOD_BPF		(UINT32_C(1) << 11)

/* These apply to the leader of a group, not to each member. */
#define MOD_OF_LEADER (MOD_PINNED | MOD_EXCLUSIVE)

struct modifiers {
	uint32_t bits;	      /* MOD_* */
	unsigned int precise; /* number of p */
	struct slice letters; /* as typed, empty when there are none */
};

/* The letters up to the next ',' or '}', blank or end; at least one. */
int coati_modifiers_parse(struct lexer *lx, struct modifiers *ret);
/* Put @mods into the attributes and flags of @desc. */
void coati_modifiers_apply(const struct modifiers *mods, struct coati_event_desc *desc);
