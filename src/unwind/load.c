/* SPDX-License-Identifier: MIT */
/*
 * An image comes in, its table goes out: from the cache on disk, or made from the unwind data of
 * its file, of which nothing but headers, unwind sections and the gaps between functions is read.
 * The vDSO is our own.
 */
#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "image/go-table.h"
#include "image/image.h"
#include "image/inflate.h"
#include "image/open.h"
#include "unwind/unwinder.h"

#define INFLATED_MAX   (UINT64_C(1) << 30)
#define INFLATED_ANY   (UINT64_C(16) << 20) /* for small files */
#define INFLATED_RATIO 64		    /* to the size of the file */
#define CACHE_ROWS_MIN 2048u		    /* smaller tables are made as fast as they are read */

/* Take unwind data out of what was opened; sections are read now, code when it is asked for. */
static int fetch_code(void *ctx, const uint8_t *bytes, size_t size)
{
	struct copy *c = ctx;

	return coati_copy_bytes(c, (uint64_t)(bytes - c->bytes), size) ? 0 : -EIO;
}

/* A file whose .debug_frame cannot be inflated still has its .eh_frame. */
static void inflate(struct unwind_cfi *c)
{
	uint64_t max = INFLATED_ANY + c->file.size * INFLATED_RATIO;
	struct inflate_input in = { .bytes = c->in.packed,
				    .size = c->in.packed_size,
				    .is_flagged = c->in.is_packed_flagged,
				    .max = max < INFLATED_MAX ? max : INFLATED_MAX };

	if (!in.bytes)
		return;
	c->is_partial = true;
	if (fetch_code(&c->file, in.bytes, in.size) < 0 ||
	    coati_inflate_section(&in, &c->inflated, &c->inflated_size, NULL) <= 0)
		return;
	coati_table_input_add(&c->in, c->inflated, c->inflated_size);
	c->is_partial = false;
}

static bool has_debug_frame(const struct table_input *in)
{
	for (uint32_t i = 0; i < in->nr_sections; i++)
		if (in->sections[i].is_debug)
			return true;
	return in->packed;
}

/* A stripped Go program still has its function table; a damaged table is not used. */
static void add_go_frames(struct unwind_cfi *c)
{
	struct go_table t;

	if (!has_debug_frame(&c->in) && coati_go_table_init(&t, &c->file) > 0 &&
	    coati_unwind_go_frames(&t, c->in.machine, &c->inflated, &c->inflated_size) == 0)
		coati_table_input_add(&c->in, c->inflated, c->inflated_size);
}

static int read_file(struct unwind_cfi *c, struct coati_error *err)
{
	uint8_t id[COATI_BUILD_ID_MAX];
	int r;

	coati_copy_build_id(&c->file, id);
	for (uint32_t i = 0; i < c->file.elf.phnum; i++) {
		struct elf_segment s;

		/* the index leads to .eh_frame when there are no section headers */
		if (coati_elf_segment(&c->file.elf, i, &s) == 0 && s.type == PT_GNU_EH_FRAME)
			coati_copy_bytes(&c->file, s.offset, s.filesz);
	}
	r = coati_table_input(&c->file.elf, &c->in, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->in.nr_sections; i++)
		if (fetch_code(&c->file, c->in.sections[i].bytes, c->in.sections[i].size) < 0)
			return coati_fail(err, -EIO, "its unwind data cannot be read");
	inflate(c);
	add_go_frames(c);
	coati_unwind_find_roots(&c->file, &c->in);
	c->in.fetch = fetch_code;
	c->in.fetch_ctx = &c->file;
	return 0;
}

static void close_file(struct unwind_cfi *c)
{
	coati_free(c->inflated);
	coati_copy_close(&c->file);
}

static int open_vdso(const struct coati_image_info *info, struct unwind_cfi *ret,
		     struct coati_error *err)
{
	const void *bytes = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *h = bytes;
	struct elf elf;
	int r;

	if (!bytes)
		return coati_fail(err, -ENOENT, "this process has no vDSO");
	/* the kernel's own, and the section headers are its last bytes */
	r = coati_elf_from_bytes(bytes, h->e_shoff + (size_t)h->e_shnum * sizeof(Elf64_Shdr), &elf);
	if (r >= 0)
		r = coati_table_input(&elf, &ret->in, NULL);
	if (r < 0)
		return coati_fail(err, r, "the vDSO cannot be read");
	if (info->build_id_size && (info->build_id_size != ret->in.build_id_size ||
				    memcmp(info->build_id, ret->in.build_id, info->build_id_size)))
		return coati_fail(err, -ESTALE, "the vDSO is another kernel's");
	ret->is_vdso = true;
	return 0;
}

int coati_unwind_open(struct coati_unwinder *u, uint32_t image, struct unwind_cfi *ret,
		      struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct coati_image_info info = { .size = sizeof(info) };
	int r;

	*ret = (struct unwind_cfi){ .file = { .fd = -1 } };
	r = coati_image_info(u->images, image, &info);
	if (r < 0)
		return coati_fail(err, r, "no such image");
	if (info.kind == COATI_IMAGE_VDSO)
		return open_vdso(&info, ret, err);
	if (info.kind != COATI_IMAGE_FILE)
		return coati_fail(err, -ENODATA, "%s has no unwind data", info.name);
	fd = coati_image_open_fd(u->images, image, err);
	if (fd < 0)
		return fd;
	r = coati_copy_open(&ret->file, fd, info.name, err);
	if (r < 0)
		return r;
	TAKE_FD(fd);
	r = read_file(ret, err);
	if (r < 0) {
		coati_error_prefix(err, "%s: ", info.name);
		close_file(ret);
	}
	return r;
}

/* Tables of files that others can write are not kept: the user who runs a program could give it
 * libc's build ID. Nor are those that could be better: a library that inflates may be installed
 * later. */
static bool is_kept(const struct unwind_cfi *c)
{
	struct stat st;

	return !c->is_vdso && !c->is_partial && c->file.fd >= 0 && fstat(c->file.fd, &st) == 0 &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static int build(struct coati_unwinder *u, uint32_t image, struct unwind_image *ui,
		 struct coati_error *err)
{
	struct unwind_cfi c;
	uint64_t start_ns = now_ns();
	int r = coati_unwind_open(u, image, &c, err);

	if (r < 0)
		return r;
	/* records do not always tell the build id: now it is known */
	if (u->cache_dir && is_kept(&c) &&
	    coati_unwind_cache_read(u->cache_dir, c.in.build_id, c.in.build_id_size, &ui->bytes,
				    &ui->size) == 0) {
		u->stats.from_cache++;
		close_file(&c);
		return 0;
	}
	r = coati_table_build(&c.in, &ui->bytes, &ui->size);
	if (r < 0)
		coati_fail(err, r, "its unwind table cannot be made: %m");
	else if (u->cache_dir && is_kept(&c) &&
		 ((const struct table_head *)ui->bytes)->nr_rows >= CACHE_ROWS_MIN)
		coati_unwind_cache_write(u->cache_dir, ui->bytes, ui->size, u->images->cache_bytes);
	close_file(&c);
	u->stats.table_build_ns += now_ns() - start_ns;
	return r;
}

void coati_unwinder_give_back(struct coati_unwinder *u, struct unwind_image *ui)
{
	if (!ui->bytes && !ui->cfi)
		return;
	u->bytes -= ui->size + ui->cfi_bytes;
	u->stats.tables -= ui->bytes != NULL;
	u->stats.table_rows -= ui->table.nr_rows;
	u->stats.table_bytes -= ui->size;
	coati_free(ui->bytes);
	coati_unwind_cfi_free(&ui->cfi);
	*ui = (struct unwind_image){ 0 };
}

/* Give up the tables that were not met for longest, but none of this walk. */
static void make_room(struct coati_unwinder *u)
{
	while (u->bytes > u->max_bytes) {
		struct unwind_image *old = NULL;

		for (size_t i = 0; i < u->v.len; i++) {
			struct unwind_image *ui = u->v.v[i];

			if (ui && (ui->bytes || ui->cfi) && ui->used < u->walk &&
			    (!old || ui->used < old->used))
				old = ui;
		}
		if (!old)
			return;
		coati_unwinder_give_back(u, old);
	}
}

static int load(struct coati_unwinder *u, uint32_t image, struct unwind_image *ui,
		struct coati_error *err)
{
	struct coati_image_info info = { .size = sizeof(info) };

	if (u->cache_dir && coati_image_info(u->images, image, &info) == 0 &&
	    info.kind == COATI_IMAGE_FILE && info.build_id_size &&
	    coati_unwind_cache_read(u->cache_dir, info.build_id, info.build_id_size, &ui->bytes,
				    &ui->size) == 0) {
		u->stats.from_cache++;
		return 0;
	}
	return build(u, image, ui, err);
}

int coati_unwinder_load(struct coati_unwinder *u, uint32_t image, struct unwind_image *ui,
			struct coati_error *err)
{
	int r;

	if (ui->is_tried && ui->bytes)
		return 0;
	if (ui->is_tried && !err)
		return -ENODATA;
	ui->is_tried = true;
	r = load(u, image, ui, err);
	if (r >= 0)
		r = coati_table_open(ui->bytes, ui->size, &ui->table);
	if (r < 0) {
		coati_free(ui->bytes);
		ui->bytes = NULL;
		ui->size = 0;
		u->stats.without_table++;
		return r;
	}
	ui->serial = ++u->serial;
	ui->used = u->walk;
	u->bytes += ui->size;
	u->stats.tables++;
	u->stats.table_rows += ui->table.nr_rows;
	u->stats.table_bytes += ui->size;
	make_room(u);
	return 0;
}

/* What it keeps in memory: as far as the file was read, and what was gathered. */
static uint64_t bytes_of(const struct unwind_cfi *c)
{
	return sizeof(*c) + c->file.read_bytes + c->inflated_size +
	       c->g.nr_fdes * sizeof(*c->g.fdes) + c->g.nr_cies * sizeof(*c->g.cies);
}

struct unwind_cfi *coati_unwinder_cfi(struct coati_unwinder *u, uint32_t image,
				      struct unwind_image *ui)
{
	struct unwind_cfi *c;

	ui->used = u->walk; /* the walk at hand holds on to it */
	if (ui->is_cfi_tried)
		return ui->cfi;
	ui->is_cfi_tried = true;
	c = coati_alloc(sizeof(*c));
	if (!c)
		return NULL;
	if (coati_unwind_open(u, image, c, NULL) < 0) {
		coati_free(c);
		return NULL;
	}
	if (!c->is_vdso)
		c->in.fetch_ctx = &c->file; /* it moved */
	if (coati_gather(&c->in, &c->g) < 0)
		coati_unwind_cfi_free(&c);
	ui->cfi = c;
	if (c) {
		ui->cfi_bytes = bytes_of(c);
		u->bytes += ui->cfi_bytes;
		make_room(u);
	}
	return c;
}

void coati_unwind_cfi_free(struct unwind_cfi **cfi)
{
	if (!*cfi)
		return;
	coati_gathered_fini(&(*cfi)->g);
	close_file(*cfi);
	coati_free(*cfi);
	*cfi = NULL;
}
