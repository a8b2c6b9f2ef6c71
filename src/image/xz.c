/* SPDX-License-Identifier: MIT */
/*
 * The one call of liblzma that is needed is declared here in our own words, so that building needs
 * no header of it. It wants all of the output at once and does not tell how much that will be: room
 * is doubled until it is enough, up to the ceiling.
 */
#include "image/xz.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"

#define XZ_OK	      0
#define XZ_MEM_ERROR  5
#define XZ_MEMLIMIT   6
#define XZ_BUF_ERROR  10
#define XZ_MEMORY_MAX (UINT64_C(128) << 20) /* the decoder's own: its dictionary */

typedef int (*xz_decode_fn)(uint64_t *memlimit, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_pos, size_t in_size, uint8_t *out,
			    size_t *out_pos, size_t out_size);

static int load(xz_decode_fn *ret, struct coati_error *err)
{
	/* Never closed: others may use it. */
	void *lib = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	*(void **)ret = lib ? dlsym(lib, "lzma_stream_buffer_decode") : NULL;
	if (lib)
		dlclose(lib);
	if (*ret)
		return 0;
	return coati_fail(
		err, -EOPNOTSUPP,
		"its small symbol table is compressed, which needs liblzma.so.5: apt install "
		"liblzma5");
}

int coati_xz_unpack(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size,
		    struct coati_error *err)
{
	size_t cap = in_size < XZ_OUT_MAX / 4 ? in_size * 4 + 4096 : XZ_OUT_MAX;
	xz_decode_fn decode;
	int r = load(&decode, err);

	for (; r == 0; cap *= 2) {
		size_t in_pos = 0, out_pos = 0;
		uint64_t limit = XZ_MEMORY_MAX;
		CLEANUP(freep) uint8_t *out = NULL;

		if (cap > XZ_OUT_MAX)
			cap = XZ_OUT_MAX;
		out = coati_alloc(cap + 1);
		if (!out)
			return coati_fail(err, -ENOMEM, "out of memory");
		r = decode(&limit, 0, NULL, in, &in_pos, in_size, out, &out_pos, cap);
		if (r == XZ_OK) {
			*ret_size = out_pos;
			*ret = TAKE_PTR(out);
			return 0;
		}
		if (r == XZ_MEM_ERROR)
			return coati_fail(err, -ENOMEM, "out of memory");
		if (r == XZ_MEMLIMIT || (r == XZ_BUF_ERROR && out_pos == XZ_OUT_MAX))
			return coati_fail(err, -E2BIG, "its small symbol table is too large");
		if (r != XZ_BUF_ERROR || out_pos < cap)
			return coati_fail(err, -EBADMSG, "its small symbol table is damaged");
		r = 0;
	}
	return r;
}
