/* SPDX-License-Identifier: MIT */
/* What must hold of the view of everything of a profile, whatever the profile was read from. */
#pragma once

#include <coati/profile.h>

/* Rows of every kind and trees have the sum of the view. Returns the samples of its entries and of
 * those that it leaves out by itself, which it says in a note. */
uint64_t fuzz_ask_profile(struct coati_profile *p);
