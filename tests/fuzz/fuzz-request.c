/* SPDX-License-Identifier: MIT */
/* Any bytes as a request to a broker: its texts, when it is one, have ends inside it. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "sandbox/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_request *q;

	if (size > sizeof(*q))
		return 0;
	q = coati_alloc(sizeof(*q));
	FUZZ_CHECK(q);
	memset(q, 'x', sizeof(*q));
	memcpy(q, data, size);
	if (coati_message_is_whole(q, size)) {
		FUZZ_CHECK((size_t)q->root_size + q->path_size <= size - MESSAGE_HEAD);
		if (q->ask != ASK_JOB && q->ask != ASK_END) {
			FUZZ_CHECK(strlen(q->text) + 1 == q->root_size);
			FUZZ_CHECK(strlen(q->text + q->root_size) + 1 == q->path_size);
		}
	}
	coati_free(q);
	return 0;
}
