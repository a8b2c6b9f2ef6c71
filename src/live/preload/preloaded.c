/* SPDX-License-Identifier: MIT */
/* What libcoati-preload is: it stands down where the program has a runtime of its own. */
#include "live/auto/auto.h"

const bool coati_auto_preloaded = true;
