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

/* The names of all that is in the profile. */
int coati_record_pack_profile(struct coati_profile *p, struct coati_writer *w, bool lines)
{
	uint32_t how = lines ? COATI_RESOLVE_INLINES | COATI_RESOLVE_LINES : 0;
	int r = coati_profile_resolve(p, how, NULL);

	return r < 0 ? r : coati_images_pack(coati_profile_images(p), put_batch, w);
}

/* The addresses that occur in the recording. */
static int read_places(const char *path, struct coati_images *images, struct coati_profile **ret)
{
	const struct coati_profile_opts o = { .size = sizeof(o),
					      .flags = COATI_PROFILE_NO_UNWIND |
						       COATI_PROFILE_NO_OFF_CPU |
						       COATI_PROFILE_WAKES | COATI_PROFILE_PLACES };
	const struct coati_profile_hooks hooks = { .shared_images = images };
	int r = coati_profile_make(&o, &hooks, ret, NULL);

	return r < 0 ? r : coati_profile_read(*ret, path, NULL, NULL, NULL);
}

/* The same with all live events decoded, for programs whose code is replaced while it runs. */
static int read_events(const char *path, struct coati_images *images, struct coati_profile **ret)
{
	const struct coati_profile_opts o = { .size = sizeof(o),
					      .flags = COATI_PROFILE_NO_UNWIND |
						       COATI_PROFILE_NO_OFF_CPU |
						       COATI_PROFILE_WAKES };
	struct coati_profile_hooks hooks = { .shared_images = images };
	struct coati_contexts *contexts = NULL;
	int r = coati_contexts_new(&contexts, NULL);

	if (r == 0) {
		hooks.contexts = coati_contexts_bare(contexts);
		r = coati_profile_make(&o, &hooks, ret, NULL);
	}
	if (r == 0)
		r = coati_profile_read(*ret, path, NULL, NULL, NULL);
	coati_contexts_free(&contexts);
	return r;
}

int coati_record_pack(void *ctx, struct coati_writer *w)
{
	struct coati_capture **cap = ctx;
	CLEANUP(fd_closep) int fd = coati_writer_reopen(w);
	struct coati_profile *p = NULL;
	char path[64];
	int r;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = read_places(path, coati_capture_images(*cap), &p);
	if (r == 0 && coati_profile_lacks_places(p)) {
		coati_profile_free(&p);
		r = read_events(path, coati_capture_images(*cap), &p);
	}
	if (r == 0)
		r = coati_record_pack_profile(p, w, true);
	coati_profile_free(&p);
	if (r < 0 && r != -ENOSPC && r != -EFBIG) {
		errno = -r;
		coati_note("the recording has no function names: %m%s",
			   r == -EMFILE ? "; ulimit -n raises the limit" : "");
		return 0;
	}
	return r;
}
