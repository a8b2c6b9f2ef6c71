/* SPDX-License-Identifier: MIT */
#include "lib/test.h"
