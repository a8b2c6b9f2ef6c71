/* SPDX-License-Identifier: MIT */
/* see message.h */
#include "sandbox/message.h"

#include <string.h>

static bool is_text(const char *text, size_t size)
{
	return size && size <= MESSAGE_PATH_MAX && strnlen(text, size) == size - 1;
}

bool coati_message_is_whole(const struct message_request *q, size_t size)
{
	size_t texts;

	if (size < MESSAGE_HEAD || q->ask >= ASKS || q->root_size > sizeof(q->text) ||
	    q->path_size > sizeof(q->text))
		return false;
	texts = (size_t)q->root_size + q->path_size;
	if (texts > sizeof(q->text) || texts != size - MESSAGE_HEAD)
		return false;
	if (q->ask == ASK_JOB || q->ask == ASK_END)
		return !q->root_size;
	return is_text(q->text, q->root_size) && is_text(q->text + q->root_size, q->path_size);
}
