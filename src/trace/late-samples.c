/* SPDX-License-Identifier: MIT */
/* see late-samples.h */
#include "trace/late-samples.h"

#include <errno.h>

#include "live-read/sampled.h"

static int read_nothing(void *ctx, const char *path, struct coati_error *err)
{
	const struct late_samples *s = ctx;

	return s->bare->read(s->bare->ctx, path, err);
}

/* Those before the first with samples have none; the last batch is the first with samples. */
static int wake(struct late_samples *s)
{
	const struct coati_context_source *bare = s->bare;
	struct coati_context_sample none;
	struct backlog_pos pos = { 0 };
	struct backlog_batch b;
	int r = 0, n = 0;

	s->is_awake = true;
	while (n >= 0 && r != -ENOMEM && coati_backlog_next(s->backlog, &pos, &b)) {
		r = bare->feed(bare->ctx, b.bytes, b.size, b.where);
		n = r == 0 && !coati_backlog_is_end(s->backlog, &pos) ? bare->next(bare->ctx, &none)
								      : 0;
	}
	return n < 0 ? n : r;
}

static int feed(void *ctx, const void *batch, size_t size, uint64_t where)
{
	struct late_samples *s = ctx;
	int r = batch ? coati_backlog_add(s->backlog, &(struct backlog_batch){ batch, size, where })
		      : 0;

	if (r < 0)
		return r;
	if (s->is_awake)
		return s->bare->feed(s->bare->ctx, batch, size, where);
	return batch && coati_live_may_have_samples(batch, size) ? wake(s) : 0;
}

static int next(void *ctx, struct coati_context_sample *ret)
{
	const struct late_samples *s = ctx;

	return s->is_awake ? s->bare->next(s->bare->ctx, ret) : 0;
}

static void account(void *ctx, struct coati_context_account *ret)
{
	const struct late_samples *s = ctx;

	*ret = (struct coati_context_account){ 0 };
	if (s->is_awake)
		s->bare->account(s->bare->ctx, ret);
}

void coati_late_samples_init(struct late_samples *s, const struct coati_context_source *bare,
			     struct backlog *backlog)
{
	*s = (struct late_samples){ .source = { .read = read_nothing,
						.ctx = s,
						.feed = feed,
						.next = next,
						.account = account },
				    .bare = bare,
				    .backlog = backlog };
}
