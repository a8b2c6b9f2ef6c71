/* SPDX-License-Identifier: MIT */
/* What libcoati-live is, and libcoati-preload is not. */
#include "live/auto/auto.h"

const bool coati_auto_preloaded = false;
