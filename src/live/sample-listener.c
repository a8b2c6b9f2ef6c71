/* SPDX-License-Identifier: MIT */
#include "live/sample-listener.h"

_Atomic(sample_listener_fn) coati_sample_listener;
