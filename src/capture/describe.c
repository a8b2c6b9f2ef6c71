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
#include "capture/label-place.h"
#include "image/image.h"
#include "process/context.h"
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
	coati_map_init(&d->label_places, TABLES_MAX);
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
	coati_map_fini(&d->label_places);
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

/* ---- labels ---- */

#define PLACE_KIND   3u
#define PLACE_TRACER 4u
#define PLACE_SHIFT  3
/* Of the tables in which threads have their parts of libraries. */
#define GLIBC_ENTRY 16
#define MUSL_ENTRY  8

/* Kept, so that each file is looked at once. */
static struct label_place get_label_place(struct describe *d, uint32_t image)
{
	struct label_place place;
	uint64_t packed;

	if (coati_map_get(&d->label_places, image, &packed))
		return (struct label_place){
			.kind = (enum walker_labels)(packed & PLACE_KIND),
			.at = (uint64_t)((int64_t)packed >> PLACE_SHIFT),
			.has_tracer = packed & PLACE_TRACER,
		};
	coati_label_place_find(d->images, image, &place);
	packed = place.at << PLACE_SHIFT | (place.has_tracer ? PLACE_TRACER : 0) | place.kind;
	if (coati_map_put(&d->label_places, image, packed) == -E2BIG) {
		coati_map_fini(&d->label_places);
		coati_map_init(&d->label_places, TABLES_MAX);
	}
	return place;
}

/* Do the threads of the process publish their labels by what is in this file? */
static void add_label_place(struct describe *d, uint32_t image, const struct coati_mmap *m)
{
	struct label_place place;
	uint64_t vaddr;

	if (!d->labels)
		return;
	place = get_label_place(d, image);
	d->has_tracer |= place.has_tracer;
	if (d->label_place.kind || !place.kind)
		return;
	if (place.kind != WALKER_LABELS_AT) {
		if (coati_image_vaddr(d->images, image, m->pgoff, &vaddr) < 0)
			return;
		place.at += m->addr - vaddr;
	}
	d->label_place = (struct walker_label_place){ .kind = place.kind,
						      .at = place.at,
						      .entry_bytes = GLIBC_ENTRY };
}

/* The library of musl, as Alpine and as Debian call it. */
static bool is_musl(const char *name)
{
	return strstr(name, "/ld-musl-") || strstr(name, "-linux-musl/libc.so");
}

static int read_context(const char *procfs, int32_t pid, uint64_t addr, struct context_keys *ret)
{
	CLEANUP(fd_closep) int mem = -1;
	char path[512];

	snprintf(path, sizeof(path), "%s/%d/mem", procfs, pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	return mem < 0 ? -errno : coati_context_read_keys(mem, addr, ret);
}

/* The fields of a stat file by their number in proc(5). */
static int read_fields(const char *procfs, int32_t pid, uint64_t fields[STAT_FIELDS])
{
	char path[512], line[STAT_BYTES], *at;
	int r;

	snprintf(path, sizeof(path), "%s/%d/stat", procfs, pid);
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

static int read_family(const char *procfs, int32_t pid, uint64_t *ret)
{
	uint64_t f[STAT_FIELDS];
	int r = read_fields(procfs, pid, f);

	/* 0: a thread of the kernel, or not ours to know */
	if (r < 0 || !f[STAT_START_STACK] || !f[STAT_ARG_START])
		return r < 0 ? r : -ENODATA;
	*ret = walker_family(f[STAT_START_STACK], f[STAT_START_CODE], f[STAT_ARG_START]);
	return 0;
}

/* Does the process run the program that is meant? */
static bool is_still(const char *procfs, int32_t pid, uint64_t family)
{
	uint64_t now;

	return read_family(procfs, pid, &now) == 0 && now == family;
}

/* The names of the keys, for the labels that come, and where the walker sees that there are
 * others. When a thread has labels, who has not published them by now never will. -ESRCH: the
 * process runs another program by now. */
static int read_keys(struct describe *d, int32_t pid, const struct walker_need *need)
{
	struct walker_label_place *p = &d->label_place;
	struct context_keys keys = { 0 };
	int r = -ENOENT;

	if (d->is_musl)
		p->entry_bytes = MUSL_ENTRY;
	if (d->without_traced && d->has_tracer)
		*p = (struct walker_label_place){ .kind = WALKER_LABELS_NONE };
	if (p->kind && d->context)
		r = read_context(d->procfs, pid, d->context, &keys);
	if (!is_still(d->procfs, pid, need->family)) {
		coati_context_keys_fini(&keys);
		return -ESRCH;
	}
	if (!p->kind)
		return 0;
	if (r == 0) {
		p->keys = d->context;
		p->keys_time = keys.time;
		coati_thread_labels_name(d->labels, pid, need->family, &keys);
	} else if (need->for_labels && r != -EAGAIN) {
		p->keys = WALKER_NO_KEYS;
	}
	return 0;
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

	if (coati_maps_line(line, &m) < 0 || m.addr >> 63)
		return;
	if (d->labels && !d->context && coati_context_is_mapping(&m))
		d->context = m.addr;
	d->is_musl |= d->labels && is_musl(m.name);
	if (!(m.prot & PROT_EXEC))
		return;
	map.start = m.addr;
	map.end = m.addr + m.len;
	/* as the kernel counts them: mm->exec_vm */
	if (!(m.prot & PROT_WRITE))
		d->exec_pages += m.len / PAGE_BYTES;
	if (get_image(d, pid, &m, &image) == 0) {
		t = get_table(d, image);
		add_label_place(d, image, &m);
	}
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
	d->label_place = (struct walker_label_place){ .kind = WALKER_LABELS_NONE };
	d->context = 0;
	d->has_tracer = d->is_musl = false;
	r = coati_file_read(AT_FDCWD, path, &text);
	rest = text.text;
	while (r == 0 && (line = strsep(&rest, "\n")))
		add_line(d, pid, line);
	coati_strbuf_fini(&text);
	return r;
}

/* Where a process has its context; 0: it has none. */
static uint64_t find_context(const char *procfs, int32_t pid)
{
	struct strbuf text = STRBUF_INIT(MAPS_BYTES_MAX);
	uint64_t found = 0;
	char path[512], *rest, *line;

	snprintf(path, sizeof(path), "%s/%d/maps", procfs, pid);
	(void)coati_file_read(AT_FDCWD, path, &text);
	rest = text.text;
	while (!found && (line = strsep(&rest, "\n"))) {
		struct coati_mmap m;

		if (coati_maps_line(line, &m) == 0 && coati_context_is_mapping(&m))
			found = m.addr;
	}
	coati_strbuf_fini(&text);
	return found;
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
					      .changes = seen->changes,
					      .labels = d->label_place };
	uint64_t space = seen->space, old;
	int r = coati_walker_set_space(d->walker, space, &maps);

	if (r < 0)
		return r;
	if (coati_map_get(before, (uint32_t)pid, &old) && old != space)
		coati_walker_forget_space(d->walker, old);
	return coati_map_put(before, (uint32_t)pid, space) < 0 ? -ENOMEM : 0;
}

/* Of the need space 0: only its family is known. */
static int describe(struct describe *d, int32_t pid, const struct walker_need *need)
{
	const uint64_t space = need->space;
	const struct seen all = see(d, need->family), one = see(d, space);
	int r = read_maps(d, pid);

	if (r == 0 && !d->maps.len)
		r = -ESRCH;
	if (r == 0)
		r = read_keys(d, pid, need);
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
	return describe(d, pid, need);
}

int coati_describe_running(struct describe *d, int32_t pid)
{
	uint64_t family;
	int r = read_family(d->procfs, pid, &family);

	return r < 0 ? r : describe(d, pid, &(struct walker_need){ .family = family });
}

void coati_describe_keys(const char *procfs, int32_t pid, uint64_t family,
			 struct thread_labels *labels)
{
	struct context_keys keys;
	uint64_t at;

	procfs = procfs ? procfs : "/proc";
	at = find_context(procfs, pid);
	if (at && read_context(procfs, pid, at, &keys) == 0) {
		/* and it was that one all the time */
		if (is_still(procfs, pid, family))
			coati_thread_labels_name(labels, pid, family, &keys);
		coati_context_keys_fini(&keys);
	}
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
	if (get_image(d, 0, &m, &image) < 0)
		return;
	(void)get_table(d, image);
	if (d->labels)
		(void)get_label_place(d, image);
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
