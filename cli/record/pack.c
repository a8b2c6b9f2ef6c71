/* SPDX-License-Identifier: MIT */
/* see record/pack.h */
#include "cli/record/pack.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/capture.h>
#include <coati/profile.h>
#include <coati/trace.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/session.h"
#include "cli/talk.h"
#include "image/pack.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "record/batch.h"
#include "recording/writer.h"

#define SYMBOLS_VERSION 1

static int put_batch(void *ctx, const void *payload, size_t size)
{
	struct coati_batch b = {
		.kind = COATI_BATCH_SYMBOLS,
		.version = SYMBOLS_VERSION,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)gettid(),
		.time_ns = now_ns(),
		.payload = payload,
		.payload_size = (uint32_t)size,
	};

	return coati_writer_batch(ctx, &b);
}

/* Making a view looks up the names of all that is in the profile. */
int coati_record_pack_profile(struct coati_profile *p, struct coati_writer *w, bool lines)
{
	struct coati_view_opts o = { .size = sizeof(o),
				     .flags = lines ? COATI_VIEW_LINES : COATI_VIEW_NO_INLINES };
	struct coati_view *v = NULL;
	int r = coati_view_new(p, &o, &v, NULL);

	if (r == 0)
		r = coati_images_pack(coati_profile_images(p), put_batch, w);
	coati_view_free(&v);
	return r;
}

int coati_record_pack(void *ctx, struct coati_writer *w)
{
	struct coati_capture **cap = ctx;
	CLEANUP(fd_closep) int fd = coati_writer_reopen(w);
	struct coati_profile_opts o = { .size = sizeof(o),
					.flags = COATI_PROFILE_NO_UNWIND |
						 COATI_PROFILE_NO_OFF_CPU | COATI_PROFILE_WAKES };
	struct coati_profile_hooks hooks = { .shared_images = coati_capture_images(*cap) };
	struct coati_contexts *contexts = NULL;
	struct coati_profile *p = NULL;
	char path[64];
	int r;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = coati_contexts_new(&contexts, NULL);
	if (r == 0) {
		hooks.contexts = coati_contexts_samples(contexts);
		r = coati_profile_make(&o, &hooks, &p, NULL);
	}
	if (r == 0)
		r = coati_profile_read(p, path, NULL, NULL, NULL);
	if (r == 0)
		r = coati_record_pack_profile(p, w, true);
	coati_profile_free(&p);
	coati_contexts_free(&contexts);
	if (r < 0 && r != -ENOSPC && r != -EFBIG) {
		errno = -r;
		coati_note("the recording has no function names: %m%s",
			   r == -EMFILE ? "; ulimit -n raises the limit" : "");
		return 0;
	}
	return r;
}
