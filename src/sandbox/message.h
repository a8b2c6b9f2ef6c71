/* SPDX-License-Identifier: MIT */
/* What reader and broker say to each other, each in one message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/opening.h"

#define MESSAGE_PATH_MAX 4160 /* of each of two paths, with its end */

enum message_ask {
	ASK_OPEN = 0, /* a file: kind, links, flags, root and path */
	ASK_NEW,      /* the output: path, and its mode in flags */
	ASK_END,      /* it is whole (flags 1) or of no use (0) */
	ASK_REMOVE,   /* a recorder's file: path */
	ASK_JOB,      /* kind says which; its bytes are in path */
	ASKS,
};

#define ASK_NO_WAIT 1u

struct message_request {
	uint32_t ask;
	uint32_t kind;
	uint32_t links;
	uint32_t flags;
	uint32_t root_size, path_size; /* of the text behind, ends included; of a job: its bytes */
	char text[2 * MESSAGE_PATH_MAX];
};
#define MESSAGE_HEAD offsetof(struct message_request, text)

/* Whether a message of @size bytes is one: its texts lie in it and have ends. */
bool coati_message_is_whole(const struct message_request *q, size_t size);

/* A descriptor may go along. */
struct message_answer {
	int32_t code;
	uint32_t value;
	char text[COATI_ERROR_TEXT];
};
