/* SPDX-License-Identifier: MIT */
/* All headers of libcoati. Define COATI_EXPERIMENTAL as 1 first to include the parts that may still
 * change. */
#ifndef COATI_COATI_H
#define COATI_COATI_H

#include <coati/abi.h>
#include <coati/capture.h>
#include <coati/child.h>
#include <coati/error.h>
#include <coati/event.h>
#include <coati/format.h>
#include <coati/image.h>
#include <coati/process.h>
#include <coati/profile.h>
#include <coati/record.h>
#include <coati/recording.h>
#include <coati/ring.h>
#include <coati/trace.h>
#include <coati/unwind.h>
#include <coati/version.h>

#endif
