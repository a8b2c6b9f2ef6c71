/* SPDX-License-Identifier: MIT */
/* The batches of a flight recorder as a recording, which every reader of recordings understands. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/capture.h>
#include <coati/recording.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/newfile.h"
#include "base/parse.h"
#include "capture/session.h"
#include "cli/autopsy/autopsy.h"
#include "live-read/flight.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"

#define TRACE_VERSION 1
#define META_VERSION  1

static int put(struct coati_writer *w, const struct coati_flight_info *info, const void *bytes,
	       size_t size, uint64_t time_ns)
{
	struct coati_batch b = {
		.kind = COATI_BATCH_TRACE,
		.version = TRACE_VERSION,
		.pid = info->pid,
		.tid = info->pid,
		.time_ns = time_ns,
		.payload = bytes,
		.payload_size = (uint32_t)size,
	};

	return coati_writer_batch(w, &b);
}

static int put_all(struct coati_flight *f, uint64_t time_ns, struct coati_writer *w)
{
	struct coati_flight_info info;
	uint64_t where;
	const void *bytes;
	size_t size;
	int n, r = 0;

	coati_flight_get_info(f, &info);
	while (r == 0 && (n = coati_flight_next(f, &bytes, &size, &where)) > 0)
		r = put(w, &info, bytes, size, time_ns++);
	return r < 0 ? r : n;
}

static int put_note(struct coati_writer *w, const struct autopsy_target *t)
{
	struct coati_batch b = { .kind = COATI_BATCH_META,
				 .version = META_VERSION,
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)gettid(),
				 .payload = (const uint8_t *)t->note,
				 .payload_size = t->note ? (uint32_t)strlen(t->note) : 0 };

	return t->note ? coati_writer_batch(w, &b) : 0;
}

/* ---- what addresses mean ---- */

/* Field 5 of a line of /proc/PID/maps. */
static uint64_t inode_of(const char *line)
{
	char text[24];
	uint64_t ino = 0;

	for (int i = 0; i < 4; i++) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, " \n"), line);
	return coati_parse_u64(text, 0, UINT64_MAX, &ino) < 0 ? 0 : ino;
}

/* Whether process @pid has the file mapped: after exec() it is another program, and its recorder is
 * over. */
static bool is_mapped(uint32_t pid, const struct autopsy_target *t)
{
	struct strbuf text = STRBUF_INIT(64 << 20);
	char maps[32];
	struct stat st;
	bool found = false;

	snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
	if ((t->fd >= 0 ? fstat(t->fd, &st) : stat(t->path, &st)) == 0 &&
	    coati_file_read(AT_FDCWD, maps, &text) >= 0)
		for (const char *at = text.text; *at && !found;
		     at += strcspn(at, "\n"), at += !!*at)
			found = inode_of(at) == st.st_ino;
	coati_strbuf_fini(&text);
	return found;
}

static int describe(int32_t pid, int fd, struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o), .flags = COATI_WRITER_PIPE };
	struct coati_writer *w = NULL;
	struct coati_attr attr;
	uint64_t id = COATI_LIVE_ID;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), r, closed;

	r = own < 0 ? coati_fail(err, -errno, "%m") : coati_writer_open_fd(own, &o, &w, err);
	if (r < 0)
		return r;
	coati_batch_attr(&attr);
	r = coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
		err);
	if (r == 0)
		r = coati_writer_start(w, err);
	if (r == 0)
		r = coati_capture_process(w, &attr, COATI_LIVE_ID, pid, err);
	closed = coati_writer_close(&w, r < 0 ? NULL : err);
	return r < 0 ? r : closed;
}

int coati_autopsy_describe_job(const struct sandbox_task *task, uint32_t *ret_value,
			       struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = memfd_create("mappings", MFD_CLOEXEC);
	int32_t pid;
	int r;

	(void)ret_value;
	if (fd < 0 || task->size != sizeof(pid))
		return coati_fail(err, fd < 0 ? -errno : -EINVAL, "describing a process: %m");
	memcpy(&pid, task->bytes, sizeof(pid));
	r = describe(pid, fd, err);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = coati_fail(err, -errno, "describing process %d: %m", pid);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Without what describes the stream itself, which this one has already. */
static int copy_records(struct coati_recording *from, struct coati_writer *to)
{
	uint8_t record[UINT16_MAX + 1];
	struct coati_recording_item item;
	int n, r = 0;

	while (r == 0 && (n = coati_recording_next(from, &item)) > 0) {
		const struct coati_raw *raw = &item.raw;

		if (raw->type >= COATI_RECORD_HEADER_ATTR && raw->type != COATI_RECORD_BUILD_ID)
			continue;
		memcpy(record, &raw->type, 4);
		memcpy(record + 4, &raw->misc, 2);
		memcpy(record + 6, &raw->size, 2);
		memcpy(record + COATI_RAW_HEADER, raw->body, raw->size - COATI_RAW_HEADER);
		r = coati_writer_record(to, record, raw->size);
	}
	return r < 0 ? r : n;
}

/* The memory has addresses alone. Whose they are can be asked while the process lives. */
static int put_code(struct coati_writer *w, const struct autopsy_target *t,
		    const struct coati_flight_info *info, struct coati_error *err)
{
	int32_t pid = (int32_t)info->pid;
	struct sandbox_task task = { .bytes = &pid, .size = sizeof(pid), .fd = -1 };
	struct coati_recording *from = NULL;
	uint32_t none;
	int r;

	if (!info->is_alive || !is_mapped(info->pid, t))
		return 0;
	r = coati_sandbox_run(SANDBOX_DESCRIBE, &task, &none, err);
	if (r >= 0)
		r = coati_recording_open_fd(r, NULL, &from, err);
	if (r < 0)
		return r;
	r = copy_records(from, w);
	coati_recording_close(&from);
	return r < 0 ? coati_fail(err, r, "mappings of process %d: %m", pid) : 0;
}

/* "-" is stdout; a file gets its name when it is whole. */
static int open_writer(const char *output, const struct coati_writer_opts *o, struct new_file *file,
		       struct coati_writer **ret, struct coati_error *err)
{
	int r;

	if (!strcmp(output, "-"))
		return coati_writer_open(output, o, ret, err);
	r = coati_new_file_open(file, output, 0600, err);
	if (r < 0)
		return r;
	r = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
	return r < 0 ? coati_fail(err, -errno, "%s: %m", output)
		     : coati_writer_open_fd(r, o, ret, err);
}

static int write_all(const struct autopsy_target *t, uint64_t first_ns, const char *output,
		     struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o), .flags = COATI_WRITER_PIPE };
	uint64_t id = COATI_LIVE_ID;
	struct coati_writer *w = NULL;
	struct coati_flight *f = NULL;
	struct coati_flight_info info;
	struct new_file file = { .fd = -1 };
	struct coati_attr attr;
	int n = coati_autopsy_open(t, &f, err), r;

	if (n < 0)
		return n;
	n = open_writer(output, &o, &file, &w, err);
	coati_batch_attr(&attr);
	if (n == 0)
		n = coati_writer_add_event(
			w,
			&(struct coati_recording_event){
				.name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
			err);
	if (n == 0)
		n = coati_writer_start(w, err);
	coati_flight_get_info(f, &info);
	if (n == 0)
		n = put_note(w, t);
	if (n == 0)
		n = put_code(w, t, &info, err);
	if (n == 0) {
		n = put_all(f, first_ns, w);
		if (n < 0)
			coati_fail(err, n, "%s: %m", output);
	}
	if (w) {
		r = coati_writer_close(&w, n < 0 ? NULL : err);
		n = n < 0 ? n : r;
	}
	coati_flight_close(&f);
	r = coati_new_file_end(&file, n == 0, n < 0 ? NULL : err);
	return n < 0 ? n : r;
}

int coati_autopsy_save(const struct autopsy_target *t, const char *output,
		       struct autopsy_saved *ret, struct coati_error *err)
{
	struct autopsy_args nothing = { .clean_ns = AUTOPSY_ALL };
	struct autopsy a = { .args = &nothing };
	int r = coati_autopsy_read(&a, t, err);

	if (r == 0)
		r = write_all(t, a.first_ns, output, err);
	*ret = (struct autopsy_saved){ a.quality.events, a.end_ns - a.first_ns };
	coati_autopsy_fini(&a);
	return r;
}
