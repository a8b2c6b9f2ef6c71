/* SPDX-License-Identifier: MIT */
/* The list of events: adding is all or nothing. */
#include "event/list.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "event/grammar.h"

static void batch_free(struct event_batch *b)
{
	if (b)
		coati_arena_fini(&b->arena);
	coati_free(b);
}

int coati_event_list_new(const struct coati_event_list_opts *opts, struct coati_event_list **ret,
			 struct coati_error *err)
{
	struct coati_event_list_opts o;
	struct coati_event_list *list;
	int r;

	if (!ret)
		return coati_fail(err, -EINVAL, "coati_event_list_new: no place for the list");
	r = SIZED_COPY(&o, opts);
	if (r < 0)
		return coati_fail(err, r, "coati_event_list_new: options of unknown size or kind");
	if (o.flags)
		return coati_fail(err, -EINVAL, "coati_event_list_new: unknown flags");
	list = coati_alloc(sizeof(*list));
	if (!list)
		return coati_fail(err, -ENOMEM, "out of memory");
	list->descs.max = EVENT_LIST_MAX;
	list->sysfs = coati_strdup(o.sysfs ? o.sysfs : "/sys");
	list->procfs = coati_strdup(o.procfs ? o.procfs : "/proc");
	list->tracefs = o.tracefs ? coati_strdup(o.tracefs) : NULL;
	if (!list->sysfs || !list->procfs || (o.tracefs && !list->tracefs)) {
		coati_event_list_free(list);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	*ret = list;
	return 0;
}

void coati_event_list_free(struct coati_event_list *list)
{
	if (!list)
		return;
	while (list->batches) {
		struct event_batch *next = list->batches->next;

		batch_free(list->batches);
		list->batches = next;
	}
	ARRAY_FINI(&list->descs);
	coati_free(list->sysfs);
	coati_free(list->procfs);
	coati_free(list->tracefs);
	coati_free(list);
}

/* What is typed ends up in names, messages and files: no control characters but the blanks. */
static int check_text(const char *text, struct coati_error *err)
{
	size_t len = strnlen(text, EVENT_TEXT_MAX + 1);

	if (len > EVENT_TEXT_MAX)
		return coati_fail_at(err, -E2BIG, EVENT_TEXT_MAX + 1,
				     "a list of events has at most %d characters", EVENT_TEXT_MAX);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && !is_blank_char(text[i])) || c == 0x7f)
			return coati_fail_at(err, -EINVAL, (int)i + 1,
					     "control character 0x%02x in the text", c);
	}
	return 0;
}

int coati_event_list_add(struct coati_event_list *list, const char *text, struct coati_error *err)
{
	size_t old_len;
	int32_t old_groups;
	struct event_batch *batch;
	int r;

	if (!list || !text)
		return coati_fail(err, -EINVAL, "coati_event_list_add: no list or no text");
	r = check_text(text, err);
	if (r < 0)
		return r;
	batch = coati_alloc(sizeof(*batch));
	if (!batch)
		return coati_fail(err, -ENOMEM, "out of memory");
	coati_arena_init(&batch->arena, EVENT_BATCH_BYTES);
	old_len = list->descs.len;
	old_groups = list->nr_groups;
	r = coati_grammar_parse(list, &batch->arena, text, err);
	if (r < 0) {
		list->descs.len = old_len;
		list->nr_groups = old_groups;
		batch_free(batch);
		return r == -ENOMEM ? coati_fail(err, r, "out of memory") : r;
	}
	batch->next = list->batches;
	list->batches = batch;
	list->last_start = old_len;
	return 0;
}

uint32_t coati_event_list_count(const struct coati_event_list *list)
{
	return list ? (uint32_t)list->descs.len : 0;
}

const struct coati_event_desc *coati_event_list_get(const struct coati_event_list *list, uint32_t i)
{
	return list && i < list->descs.len ? &list->descs.v[i] : NULL;
}
