/* SPDX-License-Identifier: MIT */
/*
 * A recording again: perf.data with the records of one that was read, less the samples that the
 * filter leaves out. Everything else is copied as it is: events, records about processes, mappings
 * and losses, names that came with it, the facts of its header. So perf, hotspot and coati read it,
 * and it can be sent to where the rest must not go.
 *
 * The recording is read a second time while it is written. What is compressed comes out plain, a
 * directory of files becomes one file, records of AUX areas are left out. Names are those of the
 * records, byte for byte. What would change a stack or a weight (hide, show, show_from, counts)
 * cannot be done to records and is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "format/format.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"

#define ROUND_BYTES (UINT64_C(16) << 20)

struct copying {
	struct format_input *in;
	struct coati_recording *facts; /* events and sections, complete */
	struct coati_recording *from;  /* records */
	struct coati_writer *to;
	uint64_t number; /* of the next SAMPLE record */
	uint64_t next_round, left_out_aux;
	uint64_t bytes; /* written; a file's sections come on top */
	uint64_t first_time, last_time;
};

static int accept(const struct coati_export_opts *opts, struct coati_error *err)
{
	const struct coati_filter *f = opts->filter;

	if (f &&
	    ((f->hide && *f->hide) || (f->show && *f->show) || (f->show_from && *f->show_from)))
		return coati_fail(
			err, -EOPNOTSUPP,
			"perfdata holds addresses, not names: frames cannot be left out with "
			"hide, show and show-from; focus and ignore choose whole stacks");
	if (f && f->wait && *f->wait)
		return coati_fail(
			err, -EOPNOTSUPP,
			"perfdata holds the context switches themselves: use --wait when reading "
			"it");
	if (opts->flags & (COATI_EXPORT_ON_CPU | COATI_EXPORT_OFF_CPU))
		return coati_fail(
			err, -EOPNOTSUPP,
			"perfdata holds the context switches themselves: use --mode when reading "
			"it");
	if (opts->flags & COATI_EXPORT_COUNTS)
		return coati_fail(
			err, -EOPNOTSUPP,
			"perfdata holds each sample with its own weight: --counts is for coati "
			"report");
	return 0;
}

/* ---- what is copied once ---- */

/* Sections that only the writer can make, or that tell of what is not copied. Readers refuse a
 * stream with one that they do not know, and have records for build ids there. */
static bool is_section_of_its_own(const struct copying *c, uint32_t bit)
{
	if (coati_writer_is_pipe(c->to) &&
	    (bit == COATI_FEATURE_BUILD_ID || bit > COATI_FEATURE_CPU_DOMAIN_INFO))
		return true;
	return bit == COATI_FEATURE_EVENT_DESC || bit == COATI_FEATURE_GROUP_DESC ||
	       bit == COATI_FEATURE_COMPRESSED || bit == COATI_FEATURE_DIR_FORMAT ||
	       bit == COATI_FEATURE_AUXTRACE || bit == COATI_FEATURE_SAMPLE_TIME;
}

static int copy_sections(struct copying *c)
{
	int r = 0;

	for (uint32_t bit = 0; bit < COATI_FEATURE_MAX && r == 0; bit++) {
		uint64_t size = 0;
		const uint8_t *bytes = is_section_of_its_own(c, bit)
					       ? NULL
					       : coati_recording_feature(c->facts, bit, &size);

		if (bytes && size)
			r = coati_writer_feature(c->to, bit, bytes, size);
	}
	return r;
}

static int copy_build_ids(struct copying *c)
{
	struct coati_build_id id;
	uint64_t pos = 0;
	int r = 0;

	while (r == 0 && coati_writer_is_pipe(c->to) &&
	       coati_recording_build_id(c->facts, &pos, &id) > 0)
		r = coati_writer_build_id(c->to, &id);
	return r;
}

static int copy_events(struct copying *c, struct coati_error *err)
{
	uint32_t nr = coati_recording_event_count(c->facts);
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		const struct coati_recording_event *e = coati_recording_event(c->facts, i);

		r = coati_writer_add_event(c->to, e, err);
	}
	for (uint32_t i = 0; i < nr && r == 0; i++) {
		uint32_t members = 1;

		while (i + members < nr &&
		       coati_recording_event(c->facts, i + members)->group_leader == (int32_t)i)
			members++;
		if (members > 1)
			r = coati_writer_group(c->to, i, members);
	}
	return r;
}

/* ---- records ---- */

/* Records that describe the file rather than what happened: the writer makes its own. */
static bool is_about_the_file(uint32_t type)
{
	switch (type) {
	case COATI_RECORD_HEADER_ATTR:
	case COATI_RECORD_HEADER_EVENT_TYPE:
	case COATI_RECORD_TRACING_DATA:
	case COATI_RECORD_FINISHED_ROUND:
	case COATI_RECORD_EVENT_UPDATE:
	case COATI_RECORD_HEADER_FEATURE:
	case COATI_RECORD_COMPRESSED:
	case COATI_RECORD_COMPRESSED2:
		return true;
	default:
		return false;
	}
}

static bool is_about_aux(uint32_t type)
{
	switch (type) {
	case COATI_RECORD_AUX:
	case COATI_RECORD_ITRACE_START:
	case COATI_RECORD_AUX_OUTPUT_HW_ID:
	case COATI_RECORD_AUXTRACE_INFO:
	case COATI_RECORD_AUXTRACE:
	case COATI_RECORD_AUXTRACE_ERROR:
		return true;
	default:
		return false;
	}
}

/* Is this sample in the view, or a batch of coati, which is stored as a sample? */
static bool is_wanted_sample(struct copying *c, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e = coati_recording_event(c->from, item->event);
	uint64_t number = c->number++;
	struct coati_profile_sample s;
	struct coati_view_entry entry;

	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT || !e)
		return false;
	if (!strcmp(e->name, COATI_LIVE_EVENT))
		return true;
	if (number >= c->in->nr_sample_stacks || !c->in->sample_stacks[number])
		return false;
	s = (struct coati_profile_sample){ .stack = c->in->sample_stacks[number] - 1 };
	if (!coati_view_sample(c->in->view, &s, &entry))
		return false;
	if (item->time && (!c->first_time || item->time < c->first_time))
		c->first_time = item->time;
	if (item->time > c->last_time)
		c->last_time = item->time;
	return true;
}

static bool is_wanted(struct copying *c, const struct coati_recording_item *item)
{
	if (item->raw.type == COATI_RECORD_SAMPLE)
		return is_wanted_sample(c, item);
	if (is_about_aux(item->raw.type)) {
		c->left_out_aux++;
		return false;
	}
	return !is_about_the_file(item->raw.type);
}

static int put_record(struct copying *c, const struct coati_raw *raw)
{
	uint8_t record[UINT16_MAX + 1];
	int r;

	memcpy(record, &raw->type, 4);
	memcpy(record + 4, &raw->misc, 2);
	memcpy(record + 6, &raw->size, 2);
	memcpy(record + COATI_RAW_HEADER, raw->body, raw->size - COATI_RAW_HEADER);
	r = coati_writer_record(c->to, record, raw->size);
	/* they come by time, so that each round is complete; readers need not hold all of them */
	if (r == 0 && coati_writer_bytes(c->to) > c->next_round) {
		c->next_round += ROUND_BYTES;
		r = coati_writer_round(c->to);
	}
	return r;
}

/* A recording that is cut gives what it holds: reading it has said so. */
static int copy_records(struct copying *c)
{
	struct coati_recording_item item;
	int r = 0;

	c->next_round = ROUND_BYTES;
	while (r == 0 && coati_recording_next(c->from, &item) > 0)
		if (is_wanted(c, &item))
			r = put_record(c, &item.raw);
	return r;
}

static int put_sample_time(struct copying *c)
{
	uint64_t times[2] = { c->first_time, c->last_time };

	return c->last_time && !coati_writer_is_pipe(c->to)
		       ? coati_writer_feature(c->to, COATI_FEATURE_SAMPLE_TIME, times,
					      sizeof(times))
		       : 0;
}

/* ---- the whole ---- */

/* In a stream events and facts come between the records: all of it must be read to know them. */
static int open_both(struct copying *c, struct coati_error *err)
{
	const struct coati_profile_file *f = coati_profile_file(c->in->profile, 0);
	struct coati_recording_item item;
	struct stat st;
	int r;

	if (!f || coati_profile_file(c->in->profile, 1))
		return coati_fail(err, -EOPNOTSUPP,
				  "perfdata holds one recording: export them one by one");
	if (!strcmp(f->path, "-") || stat(f->path, &st) < 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return coati_fail(
			err, -EOPNOTSUPP,
			"%s: perfdata needs to read the recording twice, which a stream cannot: "
			"put it into a file first",
			f->path);
	r = coati_recording_open(f->path, NULL, &c->facts, err);
	if (r == 0)
		r = coati_recording_open(f->path, NULL, &c->from, err);
	if (r < 0)
		return r;
	if (coati_recording_info(c->facts)->is_swapped)
		return coati_fail(
			err, -EOPNOTSUPP,
			"%s: its records have the other byte order and cannot be copied as they "
			"are; export it where it was recorded",
			f->path);
	while (coati_recording_info(c->facts)->is_pipe && coati_recording_next(c->facts, &item) > 0)
		;
	return 0;
}

/* The head of a file is written last, to its start: behind other bytes only a stream can be
 * written. */
static bool is_empty_file(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_APPEND) && lseek(fd, 0, SEEK_CUR) == 0;
}

static int copy_all(struct copying *c, int fd, struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o) };
	struct coati_error late = { 0 };
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (own < 0)
		return coati_fail(err, -errno, "writing: %m");
	if (!is_empty_file(own))
		o.flags |= COATI_WRITER_PIPE;
	r = coati_writer_open_fd(own, &o, &c->to, err);
	if (r < 0)
		return r;
	r = copy_events(c, err);
	if (r == 0)
		r = copy_sections(c);
	if (r == 0)
		r = coati_writer_start(c->to, err);
	if (r == 0)
		r = copy_build_ids(c);
	if (r == 0)
		r = copy_records(c);
	if (r == 0)
		r = put_sample_time(c);
	if (coati_writer_is_pipe(c->to))
		coati_format_note(
			c->in,
			"a stream has no room for data quality: the cost of recording and the "
			"results of unwinding are left out; write a file with -o");
	c->bytes = coati_writer_bytes(c->to);
	if (coati_writer_close(&c->to, &late) < 0 && r == 0)
		r = late.code;
	return r < 0 ? coati_fail(err, r, "writing: %m") : 0;
}

static void note_names(struct format_input *in)
{
	const struct coati_images_opts *images = in->opts->images;

	if (in->opts->flags & COATI_EXPORT_NO_INLINES)
		coati_format_note(in,
				  "perfdata holds addresses: --no-inline changes nothing in it");
	if (images && images->flags & COATI_IMAGES_MANGLED)
		coati_format_note(in, "perfdata holds addresses: --mangled changes nothing in it");
	if (in->opts->nameless_bytes)
		coati_format_note(
			in, "perfdata holds addresses: --split-nameless changes nothing in it");
}

static int write_perfdata(struct format_input *in, struct format_output *out,
			  struct coati_error *err)
{
	struct copying c = { .in = in };
	struct stat st;
	int r = open_both(&c, err);

	if (r == 0)
		r = copy_all(&c, out->fd, err);
	if (c.left_out_aux)
		coati_format_note(in, "%llu records of AUX areas are left out, and their data",
				  (unsigned long long)c.left_out_aux);
	note_names(in);
	out->written = c.bytes;
	if (r == 0 && fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (uint64_t)st.st_size > c.bytes)
		out->written = (uint64_t)st.st_size;
	coati_recording_close(&c.facts);
	coati_recording_close(&c.from);
	return r;
}

const struct format coati_format_perfdata = {
	.name = "perfdata",
	.suffix = ".perf.data",
	.flags = FORMAT_BINARY | FORMAT_RECORDS | FORMAT_NO_WORDS,
	.accept = accept,
	.write = write_perfdata,
};
