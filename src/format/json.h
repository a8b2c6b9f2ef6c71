/* SPDX-License-Identifier: MIT */
/* Our own JSON. */
#pragma once

#define JSON_SCHEMA "coati.profile.v1"
