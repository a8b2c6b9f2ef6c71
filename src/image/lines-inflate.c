/* SPDX-License-Identifier: MIT */
/* Compressed sections: zlib and zstd, loaded when the first such section is met, like everything that is heavy. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>

#include "base/error.h"
#include "image/lines-file.h"

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

static int inflate_zlib(const struct dwarf_bytes *in, void *out, size_t size,
			struct coati_error *err)
{
	zlib_uncompress_fn uncompress;
	unsigned long got = size;

	*(void **)&uncompress = find_call("libz.so.1", "uncompress");
	if (!uncompress)
		return coati_fail(
			err, -EOPNOTSUPP,
			"compressed debug data needs libz.so.1, which is not installed: apt install zlib1g");
	if (uncompress(out, &got, in->at, in->size) != 0 || got != size)
		return coati_fail(err, -EBADMSG, "its compressed bytes are damaged");
	return 0;
}

static int inflate_zstd(const struct dwarf_bytes *in, void *out, size_t size,
			struct coati_error *err)
{
	zstd_decompress_fn decompress;

	*(void **)&decompress = find_call("libzstd.so.1", "ZSTD_decompress");
	if (!decompress)
		return coati_fail(
			err, -EOPNOTSUPP,
			"compressed debug data needs libzstd.so.1, which is not installed: apt install libzstd1");
	if (decompress(out, size, in->at, in->size) != size)
		return coati_fail(err, -EBADMSG, "its compressed bytes are damaged");
	return 0;
}

int coati_inflate(uint32_t kind, const struct dwarf_bytes *in, void *out, size_t size,
		  struct coati_error *err)
{
	if (kind == ELFCOMPRESS_ZLIB)
		return inflate_zlib(in, out, size, err);
	if (kind == COMPRESSED_ZSTD)
		return inflate_zstd(in, out, size, err);
	return coati_fail(err, -EOPNOTSUPP,
			  "it is compressed in a way that is not known (number %u)", kind);
}
