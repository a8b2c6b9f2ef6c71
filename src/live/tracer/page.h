/* SPDX-License-Identifier: MIT */
/* The page /debug/pprof/trace. Ordinary code. */
#pragma once

/* From now on the server has it. */
void coati_tracer_page_provide(void);
