/* SPDX-License-Identifier: MIT */
/* An event of lttng-ust with one integer. Read several times by its headers, hence the odd
 * guard. */
/* clang-format off */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-event.h"
#if !defined(BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENT_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(
	bench, number, LTTNG_UST_TP_ARGS(int, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, value)))
#endif
#include <lttng/tracepoint-event.h>
