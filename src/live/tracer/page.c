/* SPDX-License-Identifier: MIT */
/* /debug/pprof/trace?seconds=N: what the program does from now on, as a recording. Ordinary
 * code. */
#include "live/tracer/page.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "live/page.h"
#include "live/tracer/tracer.h"

#define BODY_MAX (UINT64_C(1) << 28)

/* All that was written to @fd, behind what the answer holds. */
static int read_back(int fd, struct strbuf *body)
{
	char piece[65536];
	uint64_t at = 0;
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), (off_t)at)) > 0) {
		at += (uint64_t)n;
		if (at > BODY_MAX)
			return -EFBIG;
		coati_strbuf_add(body, piece, (size_t)n);
	}
	return n < 0 ? -errno : body->failed;
}

static void make(struct page_job *job)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .flags = COATI_RECORDER_LABELS };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };
	int r;

	o.fd = memfd_create("coati-trace", MFD_CLOEXEC);
	o.directory = "";
	if (o.fd < 0) {
		coati_page_fail(job, 500, "no memory for the trace");
		return;
	}
	r = coati_recorder_start(&o, &rec, &err);
	if (r == 0) {
		job->wait(job, (uint64_t)job->seconds * 1000000000u);
		r = coati_recorder_stop(&rec, &err);
	}
	if (r < 0)
		coati_page_fail(job, 500, err.text);
	else if (read_back(o.fd, job->body) < 0)
		coati_page_fail(job, 500, "the trace is too large: ask for fewer seconds");
	else
		job->file = "trace.data";
	close(o.fd);
}

static const struct live_page page = {
	.name = "trace",
	.what = "tasks, regions and logs of the next seconds, for coati trace; ?seconds=",
	.make = make,
	.default_seconds = 1,
};

void coati_tracer_page_provide(void)
{
	(void)coati_page_provide(&page);
}
