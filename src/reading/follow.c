/* SPDX-License-Identifier: MIT */
/* see follow.h */
#include "reading/follow.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "reading/reading.h"
#include "recording/follow.h"
#include "recording/recording.h"

#define NAME "the recording that is being made"

struct coati_follow {
	struct reading *reading;
};

static int begin(struct reading *r, int fd, const struct coati_follow_opts *o,
		 struct coati_error *err)
{
	struct coati_recording_opts ro = { .size = sizeof(ro), .flags = COATI_RECORDING_FOLLOW };
	int n = coati_recording_open_fd(fd, &ro, &r->recording, err);

	if (n == 0 && !coati_reading_has_room(r))
		n = coati_fail(err, -ENOMEM, "out of memory");
	if (n == 0)
		n = coati_reading_file(r, NAME, err);
	if (n < 0)
		return n;
	r->path = NAME;
	r->machine = coati_reading_machine("");
	r->has_names = true; /* they are those of this machine, now */
	n = coati_off_begin(r, "-");
	r->off.begin = o->begin_ns;
	r->off.whole = o->whole;
	r->off.all_wakes = o->all_wakes;
	return n < 0 ? coati_fail(err, n, "%s: %m", NAME) : 0;
}

int coati_follow_open(struct coati_profile *p, int fd, const struct coati_follow_opts *opts,
		      struct coati_follow **ret, struct coati_error *err)
{
	struct coati_follow *f = coati_alloc(sizeof(*f));
	int n;

	if (f)
		f->reading = coati_reading_new(p);
	if (!f || !f->reading) {
		coati_free(f);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	n = begin(f->reading, fd, opts, err);
	if (n < 0)
		coati_follow_close(&f);
	else
		*ret = f;
	return n;
}

int coati_follow_take(struct coati_follow *f)
{
	struct reading *r = f->reading;
	struct coati_recording_item item;
	int n;

	while ((n = coati_recording_next(r->recording, &item)) > 0) {
		n = coati_reading_take(r, &item);
		if (n < 0)
			return n;
	}
	return n < 0 ? n : coati_off_so_far(r);
}

int coati_follow_end(struct coati_follow *f)
{
	int n;

	coati_recording_unfollow(f->reading->recording);
	n = coati_follow_take(f);
	if (n == 0)
		n = coati_reading_live_end(f->reading);
	return n < 0 ? n : coati_off_end(f->reading);
}

void coati_follow_get_stats(const struct coati_follow *f, struct coati_recording_stats *ret)
{
	coati_recording_get_stats(f->reading->recording, ret);
}

void coati_follow_close(struct coati_follow **fp)
{
	struct coati_follow *f = fp ? *fp : NULL;

	if (!f)
		return;
	coati_reading_free(f->reading);
	coati_free(f);
	*fp = NULL;
}
