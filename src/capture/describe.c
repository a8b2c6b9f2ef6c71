/* SPDX-License-Identifier: MIT */
/* see describe.h */
#include "capture/describe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "image/image.h"
#include "process/origin.h"
#include "process/proc.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)
#define PAGE_BYTES     4096
#define TABLES_MAX     65536
#define PIDS_MAX       (1u << 20)
#define STAT_BYTES     4096

/* Numbers of fields in a stat file, as in proc(5). */
enum { STAT_START_CODE = 26, STAT_START_STACK = 28, STAT_ARG_START = 48, STAT_FIELDS };

void coati_describe_init(struct describe *d, struct walker *walker, struct coati_unwinder *unwinder,
			 const char *procfs)
{
	*d = (struct describe){ .walker = walker,
				.images = unwinder->images,
				.unwinder = unwinder,
				.procfs = procfs ? procfs : "/proc",
				.maps.max = WALKER_MAPS_MAX };
	coati_map_init(&d->tables, TABLES_MAX);
	coati_map_init(&d->pids, PIDS_MAX);
	coati_map_init(&d->families, PIDS_MAX);
}

/* What is kept of a published table: where its code is. The walker has the rest. */
struct description {
	struct walker_table at;
	bool has_table;
	uint32_t nr_ranges;
	struct table_range ranges[];
};

static void forget_tables(struct describe *d)
{
	uint64_t image, at;
	size_t pos = 0;

	while (coati_map_next(&d->tables, &pos, &image, &at))
		coati_free((void *)(uintptr_t)at);
	coati_map_fini(&d->tables);
	coati_map_init(&d->tables, TABLES_MAX);
}

void coati_describe_fini(struct describe *d)
{
	forget_tables(d);
	coati_map_fini(&d->tables);
	coati_map_fini(&d->pids);
	coati_map_fini(&d->families);
	ARRAY_FINI(&d->maps);
}

/* ---- tables ---- */

/* Publish the table, and keep what get_table() needs of it. NULL: out of memory. */
static const struct description *add_table(struct describe *d, uint32_t image,
					   const struct table *t)
{
	uint32_t nr = t ? t->nr_ranges : 0;
	struct description *known = coati_alloc(sizeof(*known) + nr * sizeof(*known->ranges));
	int r;

	if (!known)
		return NULL;
	known->has_table = t && coati_walker_add_table(d->walker, t, &known->at) == 0;
	for (; known->has_table && known->nr_ranges < nr; known->nr_ranges++)
		known->ranges[known->nr_ranges] = t->ranges[known->nr_ranges];
	r = coati_map_put(&d->tables, image, (uintptr_t)known);
	if (r == -E2BIG) {
		forget_tables(d);
		r = coati_map_put(&d->tables, image, (uintptr_t)known);
	}
	if (r >= 0)
		return known;
	coati_free(known);
	return NULL;
}

/* The table of an image, made and published when it is not there. Only the walker needs its rows:
 * here they are given back at once. NULL: it has none. */
static const struct description *get_table(struct describe *d, uint32_t image)
{
	const struct description *known = NULL;
	struct unwind_image *ui;
	uint64_t at;

	if (coati_map_get(&d->tables, image, &at)) {
		known = (const struct description *)(uintptr_t)at;
		if (!known->has_table || coati_walker_has_table(d->walker, &known->at))
			return known->has_table ? known : NULL;
		coati_free((void *)(uintptr_t)at); /* the walker gave it up */
		coati_map_del(&d->tables, image);
	}
	ui = coati_unwinder_image(d->unwinder, image);
	if (!ui)
		return NULL;
	d->unwinder->walk++;
	known = add_table(d, image,
			  coati_unwinder_load(d->unwinder, image, ui, NULL) < 0 ? NULL
										: &ui->table);
	coati_unwinder_give_back(d->unwinder, ui);
	return known && known->has_table ? known : NULL;
}

/* ---- mappings ---- */

static void add_map(struct describe *d, const struct walker_map *m)
{
	struct walker_map *to = m->end > m->start ? ARRAY_ADD(&d->maps) : NULL;

	if (to)
		*to = *m;
}

/* [m->start, m->end) of code at @vaddr of a file, cut where the table's ranges begin and end. */
static void add_code(struct describe *d, struct walker_map m, uint64_t vaddr,
		     const struct description *t)
{
	const uint64_t bias = m.start - vaddr, end = m.end;

	for (uint32_t i = 0; i < t->nr_ranges; i++) {
		const struct table_range *r = &t->ranges[i];
		uint64_t from = r->start + bias, to = from + r->size;
		struct walker_map part = m;

		if (to <= m.start || from >= end)
			continue;
		part.start = from > m.start ? from : m.start;
		part.end = to < end ? to : end;
		part.place = (r->first_bucket << TABLE_BUCKET_BITS) + (uint32_t)(part.start - from);
		part.kind = WALKER_MAP_TABLE;
		m.end = part.start;
		add_map(d, &m); /* what lies before it */
		add_map(d, &part);
		m.start = part.end;
	}
	m.end = end;
	add_map(d, &m);
}

static int get_image(const struct describe *d, int32_t pid, const struct coati_mmap *m,
		     uint32_t *ret)
{
	enum origin_kind kind = coati_origin_kind(m->name);
	struct coati_image_ref ref = {
		.size = sizeof(ref),
		.kind = kind == ORIGIN_VDSO ? COATI_IMAGE_VDSO : COATI_IMAGE_FILE,
		.pid = pid,
		.path = m->name,
		.map_start = m->addr,
		.map_end = m->addr + m->len,
		.ino = m->ino,
		.maj = m->maj,
		.min = m->min,
	};

	if (kind == ORIGIN_ANON || (kind == ORIGIN_FILE && m->name[0] != '/'))
		return -ENOENT;
	return coati_images_get(d->images, &ref, ret, NULL);
}

static void add_line(struct describe *d, int32_t pid, char *line)
{
	struct walker_map map = { .kind = WALKER_MAP_PLAIN };
	const struct description *t = NULL;
	struct coati_mmap m;
	uint64_t vaddr = 0;
	uint32_t image;

	if (coati_maps_line(line, &m) < 0 || !(m.prot & PROT_EXEC) || m.addr >> 63)
		return;
	map.start = m.addr;
	map.end = m.addr + m.len;
	/* as the kernel counts them: mm->exec_vm */
	if (!(m.prot & PROT_WRITE))
		d->exec_pages += m.len / PAGE_BYTES;
	if (get_image(d, pid, &m, &image) == 0)
		t = get_table(d, image);
	if (!t || coati_image_vaddr(d->images, image, m.pgoff, &vaddr) < 0) {
		add_map(d, &map);
		return;
	}
	map.kind = WALKER_MAP_GAP;
	map.file = t->at.file;
	map.serial = t->at.serial;
	add_code(d, map, vaddr, t);
}

static int read_maps(struct describe *d, int32_t pid)
{
	struct strbuf text = STRBUF_INIT(MAPS_BYTES_MAX);
	char path[512], *rest, *line;
	int r;

	snprintf(path, sizeof(path), "%s/%d/maps", d->procfs, pid);
	d->maps.len = 0;
	d->exec_pages = 0;
	r = coati_file_read(AT_FDCWD, path, &text);
	rest = text.text;
	while (r == 0 && (line = strsep(&rest, "\n")))
		add_line(d, pid, line);
	coati_strbuf_fini(&text);
	return r;
}

/* A space, and how often it had changed before its mappings were read. */
struct seen {
	uint64_t space, changes;
};

static struct seen see(const struct describe *d, uint64_t space)
{
	return (struct seen){ space, coati_walker_changes(d->walker, space) };
}

/* Publish what was read as @seen, in place of what @pid had before an exec. */
static int publish(struct describe *d, int32_t pid, const struct seen *seen, struct map *before)
{
	const struct walker_mappings maps = { .v = d->maps.v,
					      .nr = (uint32_t)d->maps.len,
					      .exec_pages = d->exec_pages,
					      .changes = seen->changes };
	uint64_t space = seen->space, old;
	int r = coati_walker_set_space(d->walker, space, &maps);

	if (r < 0)
		return r;
	if (coati_map_get(before, (uint32_t)pid, &old) && old != space)
		coati_walker_forget_space(d->walker, old);
	return coati_map_put(before, (uint32_t)pid, space) < 0 ? -ENOMEM : 0;
}

/* @space 0: only its family is known. */
static int describe(struct describe *d, int32_t pid, uint64_t family, uint64_t space)
{
	const struct seen all = see(d, family), one = see(d, space);
	int r = read_maps(d, pid);

	if (r == 0 && !d->maps.len)
		r = -ESRCH;
	if (r == 0)
		r = publish(d, pid, &all, &d->families);
	if (r == 0 && space)
		r = publish(d, pid, &one, &d->pids);
	d->described += r == 0;
	d->failed += r < 0;
	return r;
}

int coati_describe(struct describe *d, int32_t pid, const struct walker_need *need)
{
	return describe(d, pid, need->family, need->space);
}

/* The fields of a stat file by their number in proc(5). */
static int read_fields(const struct describe *d, int32_t pid, uint64_t fields[STAT_FIELDS])
{
	char path[512], line[STAT_BYTES], *at;
	int r;

	snprintf(path, sizeof(path), "%s/%d/stat", d->procfs, pid);
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	at = r < 0 ? NULL : strrchr(line, ')');
	if (!at)
		return -ESRCH;
	at += 2; /* field 3 */
	for (int i = 3; i < STAT_FIELDS; i++) {
		const char *word = strsep(&at, " ");

		fields[i] = 0; /* signed ones are of no interest */
		if (word)
			(void)coati_parse_u64(word, 0, UINT64_MAX, &fields[i]);
	}
	return 0;
}

int coati_describe_running(struct describe *d, int32_t pid)
{
	uint64_t f[STAT_FIELDS];
	int r = read_fields(d, pid, f);

	/* 0: a thread of the kernel, or not ours to know */
	if (r < 0 || !f[STAT_START_STACK] || !f[STAT_ARG_START])
		return r < 0 ? r : -ENODATA;
	return describe(d, pid,
			walker_family(f[STAT_START_STACK], f[STAT_START_CODE], f[STAT_ARG_START]),
			0);
}

void coati_describe_file(struct describe *d, const char *path)
{
	struct coati_mmap m = { .name = path };
	struct stat st;
	uint32_t image;

	if (stat(path, &st) < 0)
		return;
	/* as its mappings will name it */
	m.ino = st.st_ino;
	m.maj = major(st.st_dev);
	m.min = minor(st.st_dev);
	if (get_image(d, 0, &m, &image) == 0)
		(void)get_table(d, image);
}

void coati_describe_all(struct describe *d)
{
	CLEANUP(dir_closep) DIR *dir = opendir(d->procfs);
	struct dirent *e;
	uint64_t pid;

	while (dir && (e = readdir(dir)))
		if (coati_parse_u64(e->d_name, 1, INT32_MAX, &pid) == 0)
			(void)coati_describe_running(d, (int32_t)pid);
}

static void forget(struct describe *d, int32_t pid, struct map *spaces)
{
	uint64_t space;

	if (!coati_map_get(spaces, (uint32_t)pid, &space))
		return;
	coati_walker_forget_space(d->walker, space);
	coati_map_del(spaces, (uint32_t)pid);
}

void coati_describe_forget(struct describe *d, int32_t pid)
{
	forget(d, pid, &d->pids);
	forget(d, pid, &d->families);
}
