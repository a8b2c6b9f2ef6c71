/* SPDX-License-Identifier: MIT */
/* Our own JSON, and its reader. */
#pragma once

#include "format/format.h"

#define JSON_SCHEMA "coati.profile.v1"

int coati_json_export_read(const void *bytes, size_t size, struct tally *t,
			   struct coati_error *err);
