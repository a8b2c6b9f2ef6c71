/* SPDX-License-Identifier: MIT */
/*
 * The one place that reaches the thread context by its exported name. In a shared library foreign
 * readers find out from the relocation which that makes where the variable lies; a program needs
 * none, and is not given this object unless it asks for it.
 */
#include "live/labels.h"

const void **coati_label_symbol(void)
{
	return &otel_thread_ctx_v1;
}
