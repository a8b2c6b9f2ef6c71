/* SPDX-License-Identifier: MIT */
/* see output.h */
#include "format/output.h"

#include <errno.h>

#include "base/error.h"
#include "base/file.h"
#include "format/gzip.h"

#define TEXT_MAX (UINT64_C(8) << 30)

static int put(void *ctx, const void *bytes, size_t size)
{
	struct format_output *out = ctx;
	int r = coati_write_all(out->fd, bytes, size);

	if (r == 0)
		out->written += size;
	return r;
}

int coati_format_output_init(struct format_output *out, int fd, int gzip, struct coati_error *err)
{
	*out = (struct format_output){ .text = STRBUF_INIT(TEXT_MAX), .fd = fd };
	return gzip ? coati_deflater_new(put, out, &out->deflater, err) : 0;
}

static void flush(struct format_output *out, int is_last)
{
	int r = out->text.failed;

	if (!r && !out->failed) {
		if (out->deflater)
			r = coati_deflater_put(out->deflater, out->text.text, out->text.len,
					       is_last);
		else if (out->text.len)
			r = put(out, out->text.text, out->text.len);
	}
	if (r < 0 && !out->failed)
		out->failed = r;
	coati_strbuf_clear(&out->text);
}

void coati_format_output_flush(struct format_output *out)
{
	flush(out, 0);
}

int coati_format_output_end(struct format_output *out, struct coati_error *err)
{
	flush(out, 1);
	coati_deflater_free(out->deflater);
	out->deflater = NULL;
	coati_strbuf_fini(&out->text);
	return out->failed ? coati_fail(err, out->failed, "writing: %m") : 0;
}
