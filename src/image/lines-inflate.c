/* SPDX-License-Identifier: MIT */
/* Compressed sections: zlib and zstd, loaded when the first such section is met, like everything
 * that is heavy. */
#include "image/inflate.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/error.h"

#define COMPRESSED_ZSTD 2 /* ELFCOMPRESS_ZSTD, newer than the header of glibc 2.36 */

/* The two calls as their libraries declare them; both have kept them since their first versions. */
typedef int (*zlib_uncompress_fn)(unsigned char *dest, unsigned long *dest_len,
				  const unsigned char *source, unsigned long source_len);
typedef size_t (*zstd_decompress_fn)(void *dest, size_t dest_cap, const void *source,
				     size_t source_size);

/* Never closed: other files may be in the middle of it. */
static void *find_call(const char *library, const char *name)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	return lib ? dlsym(lib, name) : NULL;
}

static int inflate_zlib(const struct cursor *in, void *out, size_t size, struct coati_error *err)
{
	zlib_uncompress_fn uncompress;
	unsigned long got = size;

	*(void **)&uncompress = find_call("libz.so.1", "uncompress");
	if (!uncompress)
		return coati_fail(
			err, -EOPNOTSUPP,
			"compressed debug data needs libz.so.1, which is not installed: apt "
			"install zlib1g");
	if (uncompress(out, &got, in->at, cursor_left(in)) != 0 || got != size)
		return coati_fail(err, -EBADMSG, "its compressed bytes are damaged");
	return 0;
}

static int inflate_zstd(const struct cursor *in, void *out, size_t size, struct coati_error *err)
{
	zstd_decompress_fn decompress;

	*(void **)&decompress = find_call("libzstd.so.1", "ZSTD_decompress");
	if (!decompress)
		return coati_fail(
			err, -EOPNOTSUPP,
			"compressed debug data needs libzstd.so.1, which is not installed: apt "
			"install libzstd1");
	if (decompress(out, size, in->at, cursor_left(in)) != size)
		return coati_fail(err, -EBADMSG, "its compressed bytes are damaged");
	return 0;
}

static int inflate(uint32_t kind, const struct cursor *in, void *out, size_t size,
		   struct coati_error *err)
{
	if (kind == ELFCOMPRESS_ZLIB)
		return inflate_zlib(in, out, size, err);
	if (kind == COMPRESSED_ZSTD)
		return inflate_zstd(in, out, size, err);
	return coati_fail(err, -EOPNOTSUPP, "unknown compression type %u", kind);
}

/* The header in front of the compressed bytes; false: there is none. */
static bool read_header(const struct inflate_input *in, struct cursor *c, uint32_t *ret_kind,
			uint64_t *ret_size)
{
	*c = cursor_over(in->bytes, in->size);
	if (in->is_flagged) {
		c->swap = in->swap;
		*ret_kind = cursor_u32(c);
		cursor_skip(c, 4);
		*ret_size = cursor_u64(c);
		cursor_skip(c, 8); /* alignment */
		return true;
	}
	if (in->size <= 12 || memcmp(in->bytes, "ZLIB", 4) != 0)
		return false;
	cursor_skip(c, 4);
	c->swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; /* always big-endian */
	*ret_kind = ELFCOMPRESS_ZLIB;
	*ret_size = cursor_u64(c);
	return true;
}

int coati_inflate_section(const struct inflate_input *in, uint8_t **ret, size_t *ret_size,
			  struct coati_error *err)
{
	struct cursor c;
	uint32_t kind;
	uint64_t size;
	uint8_t *out;
	int r;

	if (!read_header(in, &c, &kind, &size))
		return 0;
	if (c.bad || size > in->max)
		return coati_fail(err, -EBADMSG,
				  "a compressed section unpacks to more than the limit");
	out = coati_alloc((size_t)size ? (size_t)size : 1);
	if (!out)
		return coati_fail(err, -ENOMEM, "out of memory");
	r = inflate(kind, &c, out, (size_t)size, err);
	if (r < 0) {
		coati_free(out);
		return r;
	}
	*ret = out;
	*ret_size = (size_t)size;
	return 1;
}
