/* SPDX-License-Identifier: MIT */
/*
 * What BPF programs put out with bpf_perf_event_output: one bpf-output event and ring per online
 * CPU, entered into the map at the CPU's own number, and a reader over them. CPUs that are offline
 * have no entry; those past the map's end cannot have one and are counted. Pausing takes the
 * entries out: programs are refused, and an intended gap is no loss.
 *
 * The map's descriptor is duplicated: the kernel drops the entries when the file through which they
 * were made is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <coati/abi.h>
#include <coati/ring.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "ring/bpf-array.h"
#include "ring/bpf-call.h"
#include "ring/cpus.h"
#include "ring/reader.h"

/* What stands before RAW in a sample, 8 bytes each, in the order of the record. */
static const uint64_t before_raw[] = {
	COATI_SAMPLE_IDENTIFIER, COATI_SAMPLE_IP,   COATI_SAMPLE_TID,
	COATI_SAMPLE_TIME,	 COATI_SAMPLE_ADDR, COATI_SAMPLE_ID,
	COATI_SAMPLE_STREAM_ID,	 COATI_SAMPLE_CPU,  COATI_SAMPLE_PERIOD,
};
#define ATTR_SIZE     112u /* up to sample_max_stack: every kernel since 4.8 takes it */
#define LOOK_NS	      (10 * NSEC_PER_MSEC)
#define NR_BEFORE_RAW (sizeof(before_raw) / sizeof(before_raw[0]))

struct array_cpu {
	uint32_t cpu;
	int fd;
};

struct coati_bpf_array {
	int map_fd;
	struct coati_bpf_array_opts opts;
	char *sysfs;
	struct coati_reader *reader;
	struct coati_attr attr;
	uint32_t raw_offset, time_offset; /* in a sample; time 0: none */
	struct coati_bpf_array_info info;
	pthread_mutex_t lock; /* paused, cpus: pause and resume come from any thread */
	bool have_lock, paused;
	ARRAY(struct array_cpu) cpus;
	ARRAY(struct array_cpu) gone; /* ended; the reader may still ask them for their losses */
};

/* ---- samples ---- */

static uint32_t offset_of(uint64_t sample_type, uint64_t bit)
{
	uint32_t offset = sizeof(struct ring_header);

	for (size_t i = 0; i < NR_BEFORE_RAW && before_raw[i] != bit; i++)
		if (sample_type & before_raw[i])
			offset += 8;
	return offset;
}

static int sample_time(void *ctx, const struct coati_ring_item *item, uint64_t *ret)
{
	const struct coati_bpf_array *array = ctx;
	struct ring_header header;

	if (!array->time_offset || item->size < array->time_offset + sizeof(*ret))
		return 0;
	memcpy(&header, item->bytes, sizeof(header));
	if (header.type != RING_RECORD_SAMPLE)
		return 0;
	memcpy(ret, item->bytes + array->time_offset, sizeof(*ret));
	return 1;
}

int coati_bpf_array_payload(const struct coati_bpf_array *array, const struct coati_ring_item *item,
			    struct coati_span *ret)
{
	uint32_t at = array->raw_offset, raw, left;
	struct ring_header header;

	if (item->kind != COATI_ITEM_RECORD)
		return 0;
	memcpy(&header, item->bytes, sizeof(header));
	if (header.type != RING_RECORD_SAMPLE)
		return 0;
	if (item->size < at + sizeof(raw))
		return -EBADMSG;
	memcpy(&raw, item->bytes + at, sizeof(raw));
	left = item->size - at - (uint32_t)sizeof(raw);
	*ret = (struct coati_span){ item->bytes + at + sizeof(raw), raw < left ? raw : left };
	return 1;
}

static int check_options(struct coati_bpf_array *a, struct coati_error *err)
{
	struct coati_bpf_array_opts *o = &a->opts;
	uint64_t known = 0;

	for (size_t i = 0; i < NR_BEFORE_RAW; i++)
		known |= before_raw[i];
	if (o->flags & ~COATI_BPF_ARRAY_BACKWARD || o->sample_type & ~(known | COATI_SAMPLE_RAW))
		return coati_fail(
			err, -EINVAL,
			"BPF array: unknown flag, or a sample field that is not of fixed size");
	if (o->wakeup_events && o->wakeup_bytes)
		return coati_fail(
			err, -EINVAL,
			"BPF array: set the wakeup after events or after bytes, not both");
	if (o->wakeup_bytes >= (o->data_bytes ? o->data_bytes : RING_DEFAULT_BYTES))
		return coati_fail(
			err, -EINVAL,
			"BPF array: a wakeup mark of %u bytes is not below the size of the ring",
			o->wakeup_bytes);
	return 0;
}

static uint32_t quarter_of_ring(const struct coati_bpf_array_opts *o)
{
	uint64_t bytes = (o->data_bytes ? o->data_bytes : RING_DEFAULT_BYTES) / 4;

	return bytes < 1 ? 1 : bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void fill_attr(struct coati_bpf_array *a)
{
	struct coati_bpf_array_opts *o = &a->opts;
	bool in_bytes = !o->wakeup_events;

	if (!o->wakeup_events && !o->wakeup_bytes) {
		o->wakeup_bytes = quarter_of_ring(o);
		if (!o->reader.look_ns)
			o->reader.look_ns = LOOK_NS;
	}

	a->attr = (struct coati_attr){
		.type = COATI_TYPE_SOFTWARE,
		.size = ATTR_SIZE,
		.config = COATI_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = o->sample_type | COATI_SAMPLE_RAW |
			       (o->reader.merge_delay_ns ? COATI_SAMPLE_TIME : 0),
		.read_format = COATI_READ_ID | COATI_READ_LOST,
		.flags = in_bytes ? COATI_ATTR_WATERMARK : 0,
		.wakeup = in_bytes	     ? o->wakeup_bytes
			  : o->wakeup_events ? o->wakeup_events
					     : 1,
	};
	if (o->flags & COATI_BPF_ARRAY_BACKWARD)
		a->attr.flags |= COATI_ATTR_WRITE_BACKWARD;
	if (a->attr.sample_type & COATI_SAMPLE_TIME) {
		a->attr.flags |= COATI_ATTR_USE_CLOCKID;
		a->attr.clockid = CLOCK_MONOTONIC;
		a->time_offset = offset_of(a->attr.sample_type, COATI_SAMPLE_TIME);
	}
	a->raw_offset = offset_of(a->attr.sample_type, COATI_SAMPLE_RAW);
}

/* ---- CPUs ---- */

static int open_event(struct coati_bpf_array *a, uint32_t cpu)
{
	long fd =
		syscall(SYS_perf_event_open, &a->attr, -1, (int)cpu, -1, (long)COATI_OPEN_CLOEXEC);

	/* Before 6.0 there is no LOST to read: only records report losses. */
	if (fd < 0 && errno == EINVAL && a->attr.read_format & COATI_READ_LOST) {
		a->attr.read_format &= ~COATI_READ_LOST;
		fd = syscall(SYS_perf_event_open, &a->attr, -1, (int)cpu, -1,
			     (long)COATI_OPEN_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

static int open_failed(int code, uint32_t cpu, struct coati_error *err)
{
	if (code == -EACCES || code == -EPERM)
		return coati_fail(
			err, code,
			"BPF array: an event on CPU %u: %m; it needs CAP_PERFMON, or sysctl "
			"kernel.perf_event_paranoid=0 (as root)",
			cpu);
	return coati_fail(err, code, "BPF array: an event on CPU %u: %m", cpu);
}

static int add_to_reader(struct coati_bpf_array *a, uint32_t cpu, int fd, struct coati_error *err)
{
	struct coati_reader_ring_opts o = {
		.size = sizeof(o),
		.ring = {
			.size = sizeof(o.ring),
			.data_bytes = a->opts.data_bytes,
			.kind = a->opts.flags & COATI_BPF_ARRAY_BACKWARD ? COATI_RING_BACKWARD
									 : COATI_RING_FORWARD,
			.flags = a->opts.ring_flags,
			.key = (int32_t)cpu,
			.raw_offset = a->raw_offset,
		},
		.read_format = a->attr.read_format,
	};
	uint64_t words[3]; /* value, id, lost */

	if (read(fd, words, sizeof(words)) >= 16)
		o.event_id = words[1];
	return coati_reader_add(a->reader, fd, &o, err);
}

/* 1 opened, 0 the CPU has just gone. */
static int open_cpu(struct coati_bpf_array *a, uint32_t cpu, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = open_event(a, cpu);
	struct array_cpu *slot;
	int r;

	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return open_failed(fd, cpu, err);
	r = add_to_reader(a, cpu, fd, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&a->lock);
	r = a->paused ? 0 : coati_bpf_map_update(a->map_fd, cpu, &fd);
	slot = r < 0 ? NULL : ARRAY_ADD(&a->cpus);
	if (slot)
		*slot = (struct array_cpu){ cpu, fd };
	pthread_mutex_unlock(&a->lock);
	if (!slot) {
		if (r >= 0)
			(void)coati_bpf_map_delete(a->map_fd, cpu);
		coati_reader_remove(a->reader, (int32_t)cpu);
		return coati_fail(err, r < 0 ? r : -ENOMEM,
				  "BPF array: entering CPU %u into the map: %m", cpu);
	}
	(void)TAKE_FD(fd);
	a->info.open++;
	return 1;
}

/* What was in its ring is still delivered. */
static int end_cpu(struct coati_bpf_array *a, size_t at, struct coati_error *err)
{
	struct array_cpu cpu = a->cpus.v[at], *slot = ARRAY_ADD(&a->gone);

	if (!slot)
		return coati_fail(err, -ENOMEM, "BPF array: out of memory");
	*slot = cpu;
	pthread_mutex_lock(&a->lock);
	(void)coati_bpf_map_delete(a->map_fd, cpu.cpu);
	a->cpus.v[at] = a->cpus.v[--a->cpus.len];
	pthread_mutex_unlock(&a->lock);
	coati_reader_end(a->reader, (int32_t)cpu.cpu);
	a->info.open--;
	return 0;
}

static bool is_open(const struct coati_bpf_array *a, uint32_t cpu)
{
	for (size_t i = 0; i < a->cpus.len; i++)
		if (a->cpus.v[i].cpu == cpu)
			return true;
	return false;
}

int coati_bpf_array_rescan(struct coati_bpf_array *a, struct coati_error *err)
{
	uint32_t possible = 0;
	struct coati_cpus online;
	int changes = 0, r;

	r = coati_cpus_online(a->sysfs, &online);
	if (r >= 0)
		r = coati_cpus_possible(a->sysfs, &possible);
	if (r < 0)
		return coati_fail(err, r, "BPF array: the CPU lists in %s/devices/system/cpu: %m",
				  a->sysfs);
	a->info.offline = a->info.uncovered = 0;
	for (size_t i = a->cpus.len; i-- > 0;)
		if (!cpus_has(&online, a->cpus.v[i].cpu)) {
			r = end_cpu(a, i, err);
			if (r < 0)
				return r;
			changes++;
		}
	for (uint32_t cpu = 0; cpu < possible; cpu++) {
		bool on = cpus_has(&online, cpu);

		a->info.offline += !on;
		a->info.uncovered += on && cpu >= a->info.entries;
		if (!on || cpu >= a->info.entries || is_open(a, cpu))
			continue;
		r = open_cpu(a, cpu, err);
		if (r < 0)
			return r;
		a->info.offline += r == 0;
		changes += r;
	}
	return changes;
}

/* ---- pause ---- */

static int set_entries(struct coati_bpf_array *a, bool in, struct coati_error *err)
{
	int r = 0;

	if (atomic_load_explicit(&a->reader->closed, memory_order_relaxed))
		return coati_fail(err, -EBADF, "BPF array: %s: the reader is closed",
				  in ? "resume" : "pause");
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; a->paused == in && i < a->cpus.len && r >= 0; i++) {
		const struct array_cpu *c = &a->cpus.v[i];

		r = in ? coati_bpf_map_update(a->map_fd, c->cpu, &c->fd)
		       : coati_bpf_map_delete(a->map_fd, c->cpu);
		if (r == -ENOENT && !in)
			r = 0;
	}
	if (r >= 0)
		a->paused = !in;
	pthread_mutex_unlock(&a->lock);
	return r < 0 ? coati_fail(err, r, "BPF array: %s: %m", in ? "resume" : "pause") : 0;
}

int coati_bpf_array_pause(struct coati_bpf_array *array, struct coati_error *err)
{
	return set_entries(array, false, err);
}

int coati_bpf_array_resume(struct coati_bpf_array *array, struct coati_error *err)
{
	return set_entries(array, true, err);
}

/* ---- life ---- */

static int take_map(struct coati_bpf_array *a, int map_fd, struct coati_error *err)
{
	struct coati_bpf_map_info info;
	int r = coati_bpf_map_info(map_fd, &info);

	if (r < 0)
		return coati_fail(err, r, "BPF array: asking the kernel about the map: %m");
	if (info.type != BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return coati_fail(err, -EINVAL,
				  "BPF array: the map is of type %u, not a perf event array",
				  info.type);
	a->info.entries = info.max_entries;
	a->map_fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 3);
	return a->map_fd < 0
		       ? coati_fail(err, -errno, "BPF array: duplicating the map's descriptor: %m")
		       : 0;
}

static int new_reader(struct coati_bpf_array *a, struct coati_error *err)
{
	struct coati_reader_opts *o = &a->opts.reader;

	if (!o->size)
		o->size = sizeof(*o);
	if (!o->time_fn && a->time_offset) {
		o->time_fn = sample_time;
		o->time_ctx = a;
	}
	return coati_reader_new(o, &a->reader, err);
}

int coati_bpf_array_open(int map_fd, const struct coati_bpf_array_opts *opts,
			 struct coati_bpf_array **ret, struct coati_error *err)
{
	CLEANUP(coati_bpf_array_close) struct coati_bpf_array *a = NULL;
	int r;

	a = ret ? coati_alloc(sizeof(*a)) : NULL;
	if (!a)
		return coati_fail(err, ret ? -ENOMEM : -EINVAL,
				  "BPF array: out of memory, or no place for the result was given");
	a->map_fd = -1;
	a->cpus.max = CPUS_MAX;
	a->gone.max = 16 * CPUS_MAX;
	a->have_lock = pthread_mutex_init(&a->lock, NULL) == 0;
	r = SIZED_COPY(&a->opts, opts);
	if (r < 0 || !a->have_lock)
		return coati_fail(
			err, r < 0 ? r : -ENOMEM,
			"BPF array: the options have a size that this library does not know");
	a->sysfs = coati_strdup(a->opts.sysfs ? a->opts.sysfs : "/sys");
	if (!a->sysfs)
		return coati_fail(err, -ENOMEM, "BPF array: out of memory");
	r = check_options(a, err);
	if (r < 0)
		return r;
	fill_attr(a);
	r = take_map(a, map_fd, err);
	if (r >= 0)
		r = new_reader(a, err);
	if (r >= 0)
		r = coati_bpf_array_rescan(a, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

struct coati_reader *coati_bpf_array_reader(struct coati_bpf_array *array)
{
	return array ? array->reader : NULL;
}

void coati_bpf_array_get_info(const struct coati_bpf_array *array, struct coati_bpf_array_info *ret)
{
	*ret = array->info;
}

void coati_bpf_array_close(struct coati_bpf_array **array)
{
	struct coati_bpf_array *a = array ? *array : NULL;

	if (!a)
		return;
	for (size_t i = 0; i < a->cpus.len; i++)
		if (!a->paused)
			(void)coati_bpf_map_delete(a->map_fd, a->cpus.v[i].cpu);
	coati_reader_free(&a->reader);
	for (size_t i = 0; i < a->cpus.len; i++)
		fd_closep(&a->cpus.v[i].fd);
	for (size_t i = 0; i < a->gone.len; i++)
		fd_closep(&a->gone.v[i].fd);
	ARRAY_FINI(&a->cpus);
	ARRAY_FINI(&a->gone);
	fd_closep(&a->map_fd);
	if (a->have_lock)
		pthread_mutex_destroy(&a->lock);
	coati_free(a->sysfs);
	coati_free(a);
	*array = NULL;
}
