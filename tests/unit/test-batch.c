/* SPDX-License-Identifier: MIT */
/* Batches of ours inside perf.data. */
#include "lib/test.h"

#include "record/batch.h"

/* The worked example of docs/formats/perf-data.md. */
TEST(batch_bytes_are_those_of_the_format_page)
{
	static const uint8_t want[80] = {
		0x09, 0, 0, 0, 2, 0, 0x50, 0, 9,    0,	  0,	0,    0,    0,	  0,	0,
		0,    0, 0, 0, 0, 0, 0,	   0, 5,    0,	  0,	0,    6,    0,	  0,	0,
		0x4d, 0, 0, 0, 0, 0, 0,	   0, 0,    0,	  0,	0,    0,    0,	  0,	0,
		1,    0, 0, 0, 0, 0, 0,	   0, 0x14, 0,	  0,	0,    0x63, 0x6f, 0x74, 0x69,
		1,    0, 1, 0, 4, 0, 0,	   0, 0x61, 0x3d, 0x31, 0x0a, 0,    0,	  0,	0,
	};
	struct coati_batch b = { .kind = COATI_BATCH_META,
				 .version = 1,
				 .pid = 5,
				 .tid = 6,
				 .time_ns = 77,
				 .id = 9,
				 .payload = (const uint8_t *)"a=1\n",
				 .payload_size = 4 };
	uint8_t got[80];

	CHECK_INT(coati_batch_encode(&b, got, sizeof(got)), ==, sizeof(want));
	CHECK_MEM(got, want, sizeof(want));
}
