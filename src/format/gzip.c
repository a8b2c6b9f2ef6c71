/* SPDX-License-Identifier: MIT */
/* A small table of the calls that are needed, filled by dlsym; zlib's memory comes through our
 * door. */
#include "format/gzip.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "build-config.h"

bool coati_is_gzip(const void *bytes, size_t size)
{
	return size >= 2 && !memcmp(bytes, "\x1f\x8b", 2);
}

#if COATI_HAVE_ZLIB
#include <zlib.h>

#define WINDOW_GZIP   (15 + 16) /* 32 KiB, with gzip's header */
#define LEVEL	      5		/* of 9 */
#define LEVEL_NUMBERS 2
#define PIECE	      65536

struct zlib_calls {
	__typeof__(&deflateInit2_) deflate_init;
	__typeof__(&deflate) deflate;
	__typeof__(&deflateEnd) deflate_end;
	__typeof__(&deflateParams) deflate_params;
	__typeof__(&inflateInit2_) inflate_init;
	__typeof__(&inflate) inflate;
	__typeof__(&inflateEnd) inflate_end;
};

static int load(struct zlib_calls *ret, struct coati_error *err)
{
	/* Never closed: others may use it. */
	void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

	if (lib) {
		*(void **)&ret->deflate_init = dlsym(lib, "deflateInit2_");
		*(void **)&ret->deflate = dlsym(lib, "deflate");
		*(void **)&ret->deflate_end = dlsym(lib, "deflateEnd");
		*(void **)&ret->deflate_params = dlsym(lib, "deflateParams");
		*(void **)&ret->inflate_init = dlsym(lib, "inflateInit2_");
		*(void **)&ret->inflate = dlsym(lib, "inflate");
		*(void **)&ret->inflate_end = dlsym(lib, "inflateEnd");
	}
	if (!lib || !ret->deflate_init || !ret->deflate || !ret->deflate_end ||
	    !ret->deflate_params || !ret->inflate_init || !ret->inflate || !ret->inflate_end)
		return coati_fail(
			err, -EOPNOTSUPP,
			"gzip needs libz.so.1, which is not installed: apt install zlib1g");
	return 0;
}

bool coati_gzip_works(void)
{
	struct zlib_calls z;

	return load(&z, NULL) == 0;
}

static void *zlib_alloc(void *ctx, unsigned int count, unsigned int size)
{
	return coati_alloc_array(count, size);
}

static void zlib_free(void *ctx, void *p)
{
	coati_free(p);
}

struct deflater {
	struct zlib_calls z;
	z_stream stream;
	bool is_open;
	enum deflater_kind kind;
	deflater_fn fn;
	void *ctx;
	unsigned char out[PIECE];
};

int coati_deflater_new(deflater_fn fn, void *ctx, struct deflater **ret, struct coati_error *err)
{
	struct deflater *d = coati_alloc(sizeof(*d));
	int r = d ? load(&d->z, err) : coati_fail(err, -ENOMEM, "out of memory");

	if (r == 0) {
		d->fn = fn;
		d->ctx = ctx;
		d->stream.zalloc = zlib_alloc;
		d->stream.zfree = zlib_free;
		d->is_open = d->z.deflate_init(&d->stream, LEVEL, Z_DEFLATED, WINDOW_GZIP, 8,
					       Z_DEFAULT_STRATEGY, ZLIB_VERSION,
					       (int)sizeof(d->stream)) == Z_OK;
		if (!d->is_open)
			r = coati_fail(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		coati_deflater_free(d);
	else
		*ret = d;
	return r;
}

void coati_deflater_free(struct deflater *d)
{
	if (d && d->is_open)
		d->z.deflate_end(&d->stream);
	coati_free(d);
}

/* What zlib's fields can count in one call. */
static unsigned int step_of(size_t size)
{
	return size > 1u << 30 ? 1u << 30 : (unsigned int)size;
}

static void empty_out(struct deflater *d)
{
	d->stream.next_out = d->out;
	d->stream.avail_out = sizeof(d->out);
}

static int give_out(struct deflater *d)
{
	return d->fn(d->ctx, d->out, sizeof(d->out) - d->stream.avail_out);
}

int coati_deflater_expect(struct deflater *d, enum deflater_kind kind)
{
	static const struct {
		int level, strategy;
	} ways[DEFLATER_KINDS] = { [DEFLATER_TEXT] = { LEVEL, Z_DEFAULT_STRATEGY },
				   [DEFLATER_NUMBERS] = { LEVEL_NUMBERS, Z_DEFAULT_STRATEGY },
				   [DEFLATER_NOISE] = { LEVEL_NUMBERS, Z_RLE } };
	int r = 0;

	if (d->kind == kind)
		return 0;
	/* what came before is compressed as it was begun */
	d->stream.next_in = NULL;
	d->stream.avail_in = 0;
	do {
		empty_out(d);
		d->z.deflate(&d->stream, Z_BLOCK);
		r = give_out(d);
	} while (r == 0 && !d->stream.avail_out);
	if (r < 0)
		return r;
	empty_out(d);
	/* where zlib refuses, it goes on as before, which is slower at the worst */
	if (d->z.deflate_params(&d->stream, ways[kind].level, ways[kind].strategy) == Z_OK)
		d->kind = kind;
	return give_out(d);
}

int coati_deflater_put(struct deflater *d, const void *bytes, size_t size, bool is_last)
{
	unsigned char *at = (unsigned char *)(uintptr_t)bytes;
	int r = 0, status;

	do {
		unsigned int step = step_of(size);

		d->stream.next_in = at;
		d->stream.avail_in = step;
		at += step;
		size -= step;
		do {
			empty_out(d);
			status = d->z.deflate(&d->stream, is_last && !size ? Z_FINISH : Z_NO_FLUSH);
			r = give_out(d);
		} while (r == 0 && status != Z_STREAM_END && !d->stream.avail_out);
	} while (r == 0 && size);
	return r;
}

/* One piece; 1: go on. */
static int inflate_step(const struct zlib_calls *z, z_stream *s, struct strbuf *ret)
{
	char *room = strbuf_room(ret, PIECE);
	int status;

	if (!room)
		return ret->failed;
	s->next_out = (unsigned char *)room;
	s->avail_out = PIECE;
	status = z->inflate(s, Z_NO_FLUSH);
	ret->len += PIECE - s->avail_out;
	ret->text[ret->len] = '\0';
	if (status == Z_STREAM_END)
		return s->avail_in ? -EBADMSG : 0;
	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	/* no more bytes, and it has not ended */
	if (status != Z_OK || (!s->avail_in && s->avail_out))
		return -EBADMSG;
	return 1;
}

int coati_inflate_gzip(const void *bytes, size_t size, struct strbuf *ret, struct coati_error *err)
{
	struct zlib_calls z;
	z_stream s = { .zalloc = zlib_alloc, .zfree = zlib_free };
	int r = load(&z, err);

	if (r < 0)
		return r;
	if (size > UINT32_MAX)
		return coati_fail(err, -E2BIG, "more than 4 GiB of compressed bytes");
	s.next_in = (unsigned char *)(uintptr_t)bytes;
	s.avail_in = (unsigned int)size;
	if (z.inflate_init(&s, WINDOW_GZIP, ZLIB_VERSION, (int)sizeof(s)) != Z_OK)
		return coati_fail(err, -ENOMEM, "out of memory");
	do
		r = inflate_step(&z, &s, ret);
	while (r == 1);
	z.inflate_end(&s);
	if (r == -EBADMSG)
		return coati_fail(err, r, "its compressed bytes are damaged or cut");
	return r < 0 ? coati_fail(err, r, "inflating: %m") : 0;
}

#else

bool coati_gzip_works(void)
{
	return false;
}

int coati_deflater_new(deflater_fn fn, void *ctx, struct deflater **ret, struct coati_error *err)
{
	return coati_fail(err, -EOPNOTSUPP, "coati was built without zlib");
}

int coati_deflater_put(struct deflater *d, const void *bytes, size_t size, bool is_last)
{
	return -EOPNOTSUPP;
}

int coati_deflater_expect(struct deflater *d, enum deflater_kind kind)
{
	return -EOPNOTSUPP;
}

void coati_deflater_free(struct deflater *d)
{
}

int coati_inflate_gzip(const void *bytes, size_t size, struct strbuf *ret, struct coati_error *err)
{
	return coati_fail(err, -EOPNOTSUPP, "coati was built without zlib: no gzip can be read");
}
#endif
