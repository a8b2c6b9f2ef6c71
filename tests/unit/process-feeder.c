/* SPDX-License-Identifier: MIT */
/* Records made of a few numbers and fed at once. */
#include "unit/process-feeder.h"

#include <sys/mman.h>

#include "lib/test.h"

void feeder_open(struct feeder *f, const struct coati_processes_opts *opts)
{
	struct coati_images_opts o = { .size = sizeof(o),
				       .flags = COATI_IMAGES_NO_LOCAL | COATI_IMAGES_NO_CACHE };

	*f = (struct feeder){ 0 };
	CHECK_OK(coati_images_new(&o, &f->images, NULL));
	CHECK_OK(coati_processes_new(f->images, opts, &f->ps, NULL));
}

void feeder_close(struct feeder *f)
{
	coati_processes_free(&f->ps);
	coati_images_free(&f->images);
}

static int feed(struct feeder *f, struct coati_record *rec, uint64_t time)
{
	struct coati_raw raw = { .type = rec->type, .misc = rec->misc };

	rec->id.present = COATI_SAMPLE_TIME;
	rec->id.time = time;
	return coati_processes_feed(f->ps, &raw, rec);
}

int feeder_map_record(struct feeder *f, const struct coati_mmap *m, uint16_t misc, uint64_t time)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2, .misc = misc, .u.mmap = *m };

	return feed(f, &rec, time);
}

int feeder_map(struct feeder *f, int32_t pid, uint64_t time, uint64_t addr, const char *path)
{
	struct coati_mmap m = { .pid = (uint32_t)pid,
				.tid = (uint32_t)pid,
				.addr = addr,
				.len = FEEDER_LEN,
				.prot = PROT_READ | PROT_EXEC,
				.name = path };

	return feeder_map_record(f, &m, COATI_MISC_USER, time);
}

static int feed_task(struct feeder *f, uint32_t type, uint16_t misc, const struct coati_task *task,
		     uint64_t time)
{
	struct coati_record rec = { .type = type, .misc = misc, .u.task = *task };

	return feed(f, &rec, time);
}

int feeder_fork(struct feeder *f, int32_t pid, int32_t ppid, uint64_t time)
{
	struct coati_task t = { (uint32_t)pid, (uint32_t)ppid, (uint32_t)pid, (uint32_t)ppid,
				time };

	return feed_task(f, COATI_RECORD_FORK, 0, &t, time);
}

int feeder_thread(struct feeder *f, int32_t pid, int32_t tid, int32_t ptid, uint64_t time)
{
	struct coati_task t = { (uint32_t)pid, (uint32_t)pid, (uint32_t)tid, (uint32_t)ptid, time };

	return feed_task(f, COATI_RECORD_FORK, 0, &t, time);
}

int feeder_told(struct feeder *f, int32_t pid, int32_t ppid)
{
	struct coati_task t = { (uint32_t)pid, (uint32_t)ppid, (uint32_t)pid, (uint32_t)ppid, 0 };

	return feed_task(f, COATI_RECORD_FORK, COATI_MISC_FORK_EXEC, &t, 0);
}

int feeder_exit(struct feeder *f, int32_t pid, int32_t tid, uint64_t time)
{
	struct coati_task t = { (uint32_t)pid, 1, (uint32_t)tid, 1, time };

	return feed_task(f, COATI_RECORD_EXIT, 0, &t, time);
}

static int feed_comm(struct feeder *f, int32_t pid, int32_t tid, const char *name,
		     struct coati_record *rec)
{
	rec->type = COATI_RECORD_COMM;
	rec->u.comm =
		(struct coati_comm){ .pid = (uint32_t)pid, .tid = (uint32_t)tid, .name = name };
	return feed(f, rec, rec->id.time);
}

int feeder_exec(struct feeder *f, int32_t pid, uint64_t time, const char *name)
{
	struct coati_record rec = { .misc = COATI_MISC_COMM_EXEC, .id.time = time };

	return feed_comm(f, pid, pid, name, &rec);
}

int feeder_comm(struct feeder *f, int32_t pid, int32_t tid, uint64_t time, const char *name)
{
	struct coati_record rec = { .id.time = time };

	return feed_comm(f, pid, tid, name, &rec);
}

int feeder_ksymbol(struct feeder *f, uint64_t addr, const char *name, uint16_t type, uint64_t time)
{
	struct coati_record rec = {
		.type = COATI_RECORD_KSYMBOL,
		.u.ksymbol = { .addr = addr, .len = FEEDER_LEN, .ksym_type = type, .name = name }
	};

	return feed(f, &rec, time);
}

int feeder_ksymbol_gone(struct feeder *f, uint64_t addr, uint64_t time)
{
	struct coati_record rec = { .type = COATI_RECORD_KSYMBOL,
				    .u.ksymbol = { .addr = addr,
						   .len = FEEDER_LEN,
						   .ksym_type = 1,
						   .flags = 1,
						   .name = "x" } };

	return feed(f, &rec, time);
}

static const char *path_of(struct feeder *f, int r, const struct coati_place *place)
{
	struct coati_image_info info = { .size = sizeof(info) };

	if (r < 0) {
		CHECK_ERR(r, -ENOENT);
		CHECK_U64(place->image, ==, COATI_IMAGE_NONE);
		return "-";
	}
	CHECK_OK(coati_image_info(f->images, place->image, &info));
	return info.kind == COATI_IMAGE_FILE ? info.path : info.name;
}

const char *feeder_path(struct feeder *f, int32_t pid, uint64_t addr, uint64_t time)
{
	struct coati_place place;
	int r = coati_processes_find(f->ps, pid, addr, time, &place);

	if (r == 0)
		CHECK(addr >= place.start && addr < place.end);
	return path_of(f, r, &place);
}

const char *feeder_kernel_path(struct feeder *f, uint64_t addr, uint64_t time)
{
	struct coati_place place;
	int r = coati_processes_find_kernel(f->ps, addr, time, &place);

	return path_of(f, r, &place);
}

const char *feeder_name(struct feeder *f, int32_t pid, int32_t tid, uint64_t time)
{
	struct coati_thread_info info;

	CHECK_OK(coati_processes_thread(f->ps, pid, tid, time, &info));
	CHECK_INT(info.pid, ==, pid);
	CHECK_INT(info.tid, ==, tid);
	return info.comm;
}
