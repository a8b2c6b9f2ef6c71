/* SPDX-License-Identifier: MIT */
/* The vDSO: our own copy of it is the one that every process on this machine has. */
#pragma once

#include <coati/error.h>

#include "image/copy.h"

/* -ENOENT: this process has none; -ENOMEM. */
int coati_vdso_copy(struct copy *ret, struct coati_error *err);
