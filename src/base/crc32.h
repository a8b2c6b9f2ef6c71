/* SPDX-License-Identifier: MIT */
/* The checksum of gzip and of .gnu_debuglink. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of @bytes behind those that gave @crc, 0 at the beginning. */
uint32_t coati_crc32(uint32_t crc, const void *bytes, size_t size);
