/* SPDX-License-Identifier: MIT */
/* see crc32.h */
#include "base/crc32.h"

#define CRC_POLYNOMIAL UINT32_C(0xedb88320)

uint32_t coati_crc32(uint32_t crc, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint32_t table[256];

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? CRC_POLYNOMIAL : 0);
	}
	crc = ~crc;
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ p[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}
