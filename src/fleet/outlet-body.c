/* SPDX-License-Identifier: MIT */
/* see outlet-body.h */
#include "fleet/outlet-body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "format/export.h"

int coati_outlet_body_init(struct outlet_body *b, enum outlet_kind kind, const char *service,
			   struct coati_error *err)
{
	static const struct coati_images_opts images = {
		.size = sizeof(images), .flags = COATI_IMAGES_NO_LOCAL | COATI_IMAGES_MANGLED
	};
	struct coati_export_opts o = {
		.size = sizeof(o),
		.format = kind == OUTLET_OTLP ? COATI_FORMAT_OTLP : COATI_FORMAT_PPROF,
		.flags = COATI_EXPORT_ON_CPU | COATI_EXPORT_OFF_CPU |
			 (kind == OUTLET_OTLP ? COATI_EXPORT_PLAIN : 0),
		.images = &images,
	};
	int r;

	*b = (struct outlet_body){ .from_s = UINT64_MAX };
	snprintf(b->service, sizeof(b->service), "%s", service);
	r = coati_export_new(&o, &b->export, err);
	if (r == 0)
		r = coati_unfold_begin(&b->unfold, coati_export_profile(b->export), "coati agent",
				       err);
	if (r < 0)
		coati_export_free(&b->export);
	return r;
}

void coati_outlet_body_fini(struct outlet_body *b)
{
	if (b->export)
		coati_unfold_end(&b->unfold);
	coati_export_free(&b->export);
}

/* Rows of one service: the window with fewer of them. */
static int add_some(struct outlet_body *b, const struct agent_window *w)
{
	struct agent_row *rows = coati_alloc_array((size_t)w->nr_rows + 1, sizeof(*rows));
	struct agent_window part = *w;
	int r;

	if (!rows)
		return -ENOMEM;
	part.rows = rows;
	part.nr_rows = 0;
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (!strcmp(w->services[w->rows[i].service].name, b->service))
			rows[part.nr_rows++] = w->rows[i];
	r = part.nr_rows ? coati_unfold_window(&b->unfold, &part) : 0;
	coati_free(rows);
	return r;
}

int coati_outlet_body_add(struct outlet_body *b, const struct agent_window *w)
{
	uint64_t from = w->wall_start_ns / NSEC_PER_SEC, until = w->wall_end_ns / NSEC_PER_SEC;

	b->from_s = from < b->from_s ? from : b->from_s;
	b->until_s = until > b->until_s ? until : b->until_s;
	b->windows++;
	return *b->service ? add_some(b, w) : coati_unfold_window(&b->unfold, w);
}

int coati_outlet_body_write(struct outlet_body *b, struct strbuf *ret, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = memfd_create("coati-profile", MFD_CLOEXEC);
	int r = fd < 0 ? coati_fail(err, -errno, "memory for a profile: %m")
		       : coati_export_write(b->export, fd, err);

	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return coati_fail(err, -errno, "memory for a profile: %m");
	r = coati_file_read_fd(fd, ret);
	return r < 0 ? coati_fail(err, r, "memory for a profile: %m") : 0;
}
