/* SPDX-License-Identifier: MIT */
/* Opening and closing of synth.h, and the one way by which its records are written. */
#include "capture/synth.h"

#include <errno.h>
#include <fcntl.h>

#include <coati/capture.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "capture/session.h"
#include "record/record.h"
#include "recording/writer.h"

#define TEXT_BYTES_MAX (64u << 20)
#define RECORD_BYTES   65536

int coati_synth_open(struct synth *s, const char *procfs, struct coati_error *err)
{
	const char *path = procfs ? procfs : "/proc";

	s->text = (struct strbuf)STRBUF_INIT(TEXT_BYTES_MAX);
	s->nr = 0;
	s->proc_fd = -1;
	s->buf = coati_alloc(RECORD_BYTES);
	if (!s->buf)
		return coati_fail(err, -ENOMEM, "out of memory");
	s->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0)
		return coati_fail(
			err, -errno,
			"%s: %m; running processes are listed there: mount -t proc proc %s", path,
			path);
	return 0;
}

void coati_synth_close(struct synth *s)
{
	coati_strbuf_fini(&s->text);
	coati_free(s->buf);
	s->buf = NULL;
	fd_closep(&s->proc_fd);
}

int coati_synth_emit(struct synth *s, struct coati_record *rec, uint32_t pid, uint32_t tid)
{
	int size;

	rec->id = (struct coati_identity){
		.present = COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_CPU |
			   COATI_SAMPLE_IDENTIFIER,
		.pid = pid,
		.tid = tid,
		.id = s->id,
	};
	size = coati_record_encode(rec, s->format, s->buf, RECORD_BYTES);
	if (size < 0)
		return size == -E2BIG ? 0 : size; /* no name is that long */
	s->nr++;
	return coati_writer_record(s->writer, s->buf, (size_t)size);
}

int coati_capture_process(struct coati_writer *w, const struct coati_attr *attr, uint64_t id,
			  int32_t pid, struct coati_error *err)
{
	struct coati_sample_format format;
	struct images images;
	struct synth s = {
		.writer = w, .format = &format, .id = id, .images = &images, .build_ids = true
	};
	int r;

	coati_sample_format_init(attr, &format);
	coati_images_init(&images);
	r = coati_synth_open(&s, NULL, err);
	if (r == 0) {
		r = coati_synth_process(&s, pid);
		if (r < 0)
			coati_fail(err, r, "describing process %d: %m", pid);
	}
	coati_synth_close(&s);
	coati_images_fini(&images);
	return r < 0 ? r : 0;
}
