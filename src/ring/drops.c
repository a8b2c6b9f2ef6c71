/* SPDX-License-Identifier: MIT */
/*
 * Drop counters. An array with BPF_F_MMAPABLE is mapped and costs one load to look at; others cost
 * a system call. The map's descriptor is duplicated, so that the caller may close it.
 */
#include "ring/drops.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "ring/bpf-call.h"
#include "ring/cpus.h"
#include "ring/ring.h"
#include "ring/shared.h"

struct coati_drops {
	int map_fd;
	uint32_t index, nr_values; /* of one lookup */
	uint64_t *values;	   /* room for a lookup */
	void *mapped;
	size_t mapped_bytes;
	const uint64_t *word; /* in the mapping */
	uint64_t last;
};

static int read_total(struct coati_drops *d, uint64_t *ret)
{
	int r;

	if (d->word) {
		*ret = shared_load_acquire(d->word);
		return 0;
	}
	r = coati_bpf_map_lookup(d->map_fd, d->index, d->values);
	if (r < 0)
		return r;
	*ret = 0;
	for (uint32_t i = 0; i < d->nr_values; i++)
		*ret += d->values[i];
	return 0;
}

static void map_counter(struct coati_drops *d, const struct coati_bpf_map_info *info)
{
	uint64_t page = coati_page_bytes(), bytes = (uint64_t)info->max_entries * 8;
	void *p;

	bytes = (bytes + page - 1) / page * page;
	p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, d->map_fd, 0);
	if (p == MAP_FAILED)
		return;
	d->mapped = p;
	d->mapped_bytes = (size_t)bytes;
	d->word = (const uint64_t *)p + d->index;
}

/* A lookup in a per-CPU map writes one value for every possible CPU. */
static int room_for_values(struct coati_drops *d, bool per_cpu, struct coati_error *err)
{
	uint32_t nr = 1;
	int r = per_cpu ? coati_cpus_possible("/sys", &nr) : 0;

	if (r < 0)
		return coati_fail(err, r, "drop counter: /sys/devices/system/cpu/possible: %m");
	d->nr_values = nr;
	d->values = coati_alloc_array(nr, sizeof(*d->values));
	return d->values ? 0 : coati_fail(err, -ENOMEM, "drop counter: out of memory");
}

int coati_drops_open(int map_fd, uint32_t index, struct coati_drops **ret, struct coati_error *err)
{
	CLEANUP(coati_drops_close) struct coati_drops *d = NULL;
	struct coati_bpf_map_info info;
	int r = coati_bpf_map_info(map_fd, &info);

	if (r < 0)
		return coati_fail(err, r, "drop counter: asking the kernel about the map: %m");
	if ((info.type != BPF_MAP_TYPE_ARRAY && info.type != BPF_MAP_TYPE_PERCPU_ARRAY) ||
	    info.value_size != 8)
		return coati_fail(
			err, -EINVAL,
			"drop counter: the map must be an array, per CPU or not, of 8-byte values");
	if (index >= info.max_entries)
		return coati_fail(err, -EINVAL,
				  "drop counter: index %u, but the map has %u entries", index,
				  info.max_entries);
	d = coati_alloc(sizeof(*d));
	if (!d)
		return coati_fail(err, -ENOMEM, "drop counter: out of memory");
	d->index = index;
	d->map_fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 3);
	if (d->map_fd < 0)
		return coati_fail(err, -errno,
				  "drop counter: duplicating the map's descriptor: %m");
	r = room_for_values(d, info.type == BPF_MAP_TYPE_PERCPU_ARRAY, err);
	if (r < 0)
		return r;
	if (info.type == BPF_MAP_TYPE_ARRAY && info.flags & BPF_F_MMAPABLE)
		map_counter(d, &info);
	r = read_total(d, &d->last);
	if (r < 0)
		return coati_fail(err, r, "drop counter: reading it: %m");
	*ret = TAKE_PTR(d);
	return 0;
}

uint64_t coati_drops_take(struct coati_drops *drops)
{
	uint64_t now, grown;

	if (read_total(drops, &now) < 0)
		return 0;
	grown = now - drops->last;
	drops->last = now;
	return grown <= INT64_MAX ? grown : 0; /* the counter was reset: start again */
}

void coati_drops_close(struct coati_drops **drops)
{
	struct coati_drops *d = drops ? *drops : NULL;

	if (!d)
		return;
	if (d->mapped)
		munmap(d->mapped, d->mapped_bytes);
	fd_closep(&d->map_fd);
	coati_free(d->values);
	coati_free(d);
	*drops = NULL;
}
