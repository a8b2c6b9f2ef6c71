/* SPDX-License-Identifier: MIT */
/* What was written is read back and added up; the profile is added up; they are compared. */
#include <errno.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "format/format.h"
#include "format/gzip.h"
#include "format/text.h"
#include "profile/walk.h"
#include "readback/readback.h"
#include "reading/parts.h"

#define INFLATED_MAX (UINT64_C(8) << 30)

static const struct readback readers[COATI_FORMAT_COUNT] = {
	[COATI_FORMAT_PPROF] = { .read = coati_pprof_read },
	[COATI_FORMAT_FOLDED] = { .read = coati_folded_read },
	[COATI_FORMAT_SPEEDSCOPE] = { .read = coati_speedscope_read },
	[COATI_FORMAT_FIREFOX] = { .read = coati_firefox_read },
	[COATI_FORMAT_PERFETTO] = { .read = coati_perfetto_read },
	[COATI_FORMAT_CHROME] = { .read = coati_chrome_read },
	[COATI_FORMAT_OTLP] = { .read = coati_otlp_read },
	[COATI_FORMAT_PERFDATA] = { .read_fd = coati_perfdata_read },
	[COATI_FORMAT_JSON] = { .read = coati_json_export_read },
};

const struct readback *coati_readback_get(enum coati_format format)
{
	return coati_format_get(format) ? &readers[format] : NULL;
}

/* @name as the format writes it, in @s. */
static const char *as_written(const struct format *f, struct strbuf *s, const char *name)
{
	coati_strbuf_clear(s);
	if (f->text)
		f->text(s, name);
	else
		coati_format_text(s, name);
	return s->text;
}

/* Which sum each thread and each function counts for. */
struct numbers {
	uint32_t *threads, *functions;
};

static int number_names(const struct format *f, struct coati_profile *p, struct coati_view *v,
			struct tally *t, struct numbers *n)
{
	uint32_t nr_threads = coati_profile_thread_count(p), nr_frames = coati_view_frame_count(v);
	struct strbuf s = STRBUF_INIT(INFLATED_MAX);

	n->threads = coati_alloc_array((size_t)nr_threads + 1, sizeof(*n->threads));
	n->functions =
		coati_alloc_array((size_t)coati_view_function_count(v) + 1, sizeof(*n->functions));
	if (!n->threads || !n->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_threads; i++) {
		const struct coati_profile_thread *th = coati_profile_thread(p, i);

		n->threads[i] =
			coati_tally_thread(t, th->pid, th->tid, as_written(f, &s, th->comm));
	}
	for (uint32_t i = 0; i < nr_frames; i++) {
		const struct coati_view_frame *frame = coati_view_frame(v, i);

		if (!n->functions[frame->function_id])
			n->functions[frame->function_id] =
				1 + coati_tally_function(t, as_written(f, &s, frame->function));
	}
	coati_strbuf_fini(&s);
	return t->failed;
}

int coati_readback_add_up(const struct format *f, struct coati_profile *p, struct coati_view *v,
			  struct tally *t)
{
	struct numbers n = { 0 };
	struct coati_view_entry e;
	uint64_t pos = 0;
	int r = number_names(f, p, v, t, &n);

	while (r == 0 && coati_view_next(v, &pos, &e)) {
		uint32_t id = coati_view_frame(v, e.frames[0])->function_id;

		coati_tally_add(t, n.threads[e.entry->thread], n.functions[id] - 1, e.weight);
		t->samples += e.entry->count;
	}
	coati_free(n.threads);
	coati_free(n.functions);
	return r;
}

/* The bytes of @fd from its start on. */
static int read_all(int fd, struct strbuf *s, struct coati_error *err)
{
	struct stat st;
	char *room;
	int r;

	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "reading back: %m");
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL,
				  "only what was written into a file can be read back");
	room = strbuf_room(s, (size_t)st.st_size);
	if (!room)
		return coati_fail(err, s->failed, "reading back: %m");
	r = coati_pread_all(fd, room, (size_t)st.st_size, 0);
	if (r < 0)
		return coati_fail(err, r, "reading back: %m");
	s->len = (size_t)st.st_size;
	room[s->len] = '\0';
	return 0;
}

static int add_up_bytes(const struct coati_export_opts *opts, int fd, struct tally *t,
			struct coati_error *err)
{
	struct strbuf bytes = STRBUF_INIT(INFLATED_MAX), inflated = STRBUF_INIT(INFLATED_MAX);
	const struct format *f = coati_format_get(opts->format);
	const struct strbuf *text = &bytes;
	int r = read_all(fd, &bytes, err);

	if (r == 0 && f->flags & FORMAT_GZIP && coati_is_gzip(bytes.text, bytes.len)) {
		r = coati_inflate_gzip(bytes.text, bytes.len, &inflated, err);
		text = &inflated;
	}
	if (r == 0)
		r = readers[opts->format].read(text->text, text->len, t, err);
	coati_strbuf_fini(&bytes);
	coati_strbuf_fini(&inflated);
	return r;
}

/* What the file has. */
static int add_up_file(const struct coati_export_opts *opts, int fd, struct tally *t,
		       struct coati_error *err)
{
	const struct readback *b = &readers[opts->format];

	if (!b->read && !b->read_fd)
		return coati_fail(err, -EOPNOTSUPP, "src/readback has no reader for %s",
				  coati_format_name(opts->format));
	return b->read_fd ? b->read_fd(opts, fd, t, err) : add_up_bytes(opts, fd, t, err);
}

int coati_export_check(struct coati_export *x, int fd, struct coati_error *err)
{
	struct coati_view *v;
	const struct coati_export_opts *opts;
	const struct format *f = coati_export_format(x, &v, &opts);
	struct tally wanted, found;
	int r;

	if (!v)
		return coati_fail(err, -EINVAL, "nothing was written yet");
	coati_tally_init(&wanted);
	coati_tally_init(&found);
	r = coati_readback_add_up(f, coati_export_profile(x), v, &wanted);
	if (coati_export_live_counts(x)) {
		wanted.live = *coati_export_live_counts(x);
		wanted.has_live = true;
	}
	if (r < 0)
		coati_fail(err, r, "adding up: %m");
	else
		r = add_up_file(opts, fd, &found, err);
	if (r < 0 && r != -ENOMEM && r != -EINVAL)
		r = -EBADMSG;
	if (r == 0)
		r = coati_tally_compare(&wanted, &found, err);
	coati_tally_fini(&wanted);
	coati_tally_fini(&found);
	return r;
}
