/* SPDX-License-Identifier: MIT */
/* Recordings are added up as any recording is read: names come from where those of the first
 * reading came from. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/walk.h"
#include "readback/readback.h"
#include "reading/parts.h"

int coati_perfdata_read(const struct coati_export_opts *opts, int fd, struct tally *t,
			struct coati_error *err)
{
	struct coati_profile_opts o = { .size = sizeof(o),
					.flags = COATI_PROFILE_NO_OFF_CPU,
					.images = opts->images };
	struct coati_view_opts vo = { .size = sizeof(vo), .nameless_bytes = opts->nameless_bytes };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p = NULL;
	struct coati_view *v = NULL;
	char path[64];
	int r = coati_profile_new(&o, &p, err);

	if (opts->flags & COATI_EXPORT_NO_INLINES)
		vo.flags |= COATI_VIEW_NO_INLINES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	t->has_samples = true;
	if (r == 0)
		r = coati_profile_read(p, path, NULL, NULL, err);
	if (r == 0) {
		coati_profile_quality(p, &q);
		if (q.is_truncated || q.damaged)
			r = coati_fail(err, -EBADMSG, "%s",
				       coati_profile_note(p, 0) ? coati_profile_note(p, 0)
								: "it has damaged records");
	}
	if (r == 0)
		r = coati_view_new(p, &vo, &v, err);
	if (r == 0) {
		r = coati_readback_add_up(&coati_format_perfdata, p, v, t);
		if (r < 0)
			coati_fail(err, r, "adding up: %m");
	}
	coati_view_free(&v);
	coati_profile_free(&p);
	return r;
}
