/* SPDX-License-Identifier: MIT */
/* A small table of the calls that are needed, filled by dlsym. */
#include "recording/zstd.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "build-config.h"

#if COATI_HAVE_ZSTD
#include <zstd.h>

struct zstd_calls {
	__typeof__(&ZSTD_createDCtx) create_d;
	__typeof__(&ZSTD_freeDCtx) free_d;
	__typeof__(&ZSTD_decompressStream) decompress;
	__typeof__(&ZSTD_createCCtx) create_c;
	__typeof__(&ZSTD_freeCCtx) free_c;
	__typeof__(&ZSTD_CCtx_setParameter) set_c;
	__typeof__(&ZSTD_compressStream2) compress;
	__typeof__(&ZSTD_isError) is_error;
};

static int load(struct zstd_calls *ret, struct coati_error *err)
{
	/* Never closed: the library may be in use by other recordings. */
	void *lib = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return coati_fail(
			err, -EOPNOTSUPP,
			"compressed recordings need libzstd.so.1, which is not installed: apt "
			"install libzstd1");
	*(void **)&ret->create_d = dlsym(lib, "ZSTD_createDCtx");
	*(void **)&ret->free_d = dlsym(lib, "ZSTD_freeDCtx");
	*(void **)&ret->decompress = dlsym(lib, "ZSTD_decompressStream");
	*(void **)&ret->create_c = dlsym(lib, "ZSTD_createCCtx");
	*(void **)&ret->free_c = dlsym(lib, "ZSTD_freeCCtx");
	*(void **)&ret->set_c = dlsym(lib, "ZSTD_CCtx_setParameter");
	*(void **)&ret->compress = dlsym(lib, "ZSTD_compressStream2");
	*(void **)&ret->is_error = dlsym(lib, "ZSTD_isError");
	if (!ret->create_d || !ret->free_d || !ret->decompress || !ret->create_c || !ret->free_c ||
	    !ret->set_c || !ret->compress || !ret->is_error)
		return coati_fail(err, -EOPNOTSUPP,
				  "libzstd.so.1 is too old: version 1.4 or newer is needed");
	return 0;
}

struct unpacker {
	struct zstd_calls z;
	ZSTD_DCtx *ctx;
};

int coati_unpacker_new(struct unpacker **ret, struct coati_error *err)
{
	struct unpacker *u = coati_alloc(sizeof(*u));
	int r = u ? load(&u->z, err) : coati_fail(err, -ENOMEM, "out of memory");

	if (r == 0) {
		u->ctx = u->z.create_d();
		if (!u->ctx)
			r = coati_fail(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		coati_unpacker_free(u);
	else
		*ret = u;
	return r;
}

void coati_unpacker_free(struct unpacker *u)
{
	if (u && u->ctx)
		u->z.free_d(u->ctx);
	coati_free(u);
}

int64_t coati_unpacker_step(struct unpacker *u, const uint8_t **in, size_t *in_size, void *out,
			    size_t cap)
{
	ZSTD_inBuffer from = { *in, *in_size, 0 };
	ZSTD_outBuffer to = { out, cap, 0 };
	size_t r = u->z.decompress(u->ctx, &to, &from);

	if (u->z.is_error(r) || (*in_size && !from.pos && !to.pos))
		return -EBADMSG;
	*in += from.pos;
	*in_size -= from.pos;
	return (int64_t)to.pos;
}

struct packer {
	struct zstd_calls z;
	ZSTD_CCtx *ctx;
};

int coati_packer_new(int level, struct packer **ret, struct coati_error *err)
{
	struct packer *p = coati_alloc(sizeof(*p));
	int r = p ? load(&p->z, err) : coati_fail(err, -ENOMEM, "out of memory");

	if (r == 0) {
		p->ctx = p->z.create_c();
		if (!p->ctx || p->z.is_error(p->z.set_c(p->ctx, ZSTD_c_compressionLevel, level)))
			r = coati_fail(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		coati_packer_free(p);
	else
		*ret = p;
	return r;
}

void coati_packer_free(struct packer *p)
{
	if (p && p->ctx)
		p->z.free_c(p->ctx);
	coati_free(p);
}

int64_t coati_packer_pack(struct packer *p, const void *in, size_t in_size, void *out, size_t cap)
{
	ZSTD_inBuffer from = { in, in_size, 0 };
	ZSTD_outBuffer to = { out, cap, 0 };
	size_t r = p->z.compress(p->ctx, &to, &from, ZSTD_e_flush);

	if (p->z.is_error(r))
		return -EBADMSG;
	return r || from.pos != in_size ? -ENOSPC : (int64_t)to.pos;
}

#else

static int not_built(struct coati_error *err)
{
	return coati_fail(
		err, -EOPNOTSUPP,
		"this coati was built without zstd: compressed recordings need a build with "
		"-Dzstd=enabled");
}

int coati_unpacker_new(struct unpacker **ret, struct coati_error *err)
{
	(void)ret;
	return not_built(err);
}

void coati_unpacker_free(struct unpacker *u)
{
	(void)u;
}

int64_t coati_unpacker_step(struct unpacker *u, const uint8_t **in, size_t *in_size, void *out,
			    size_t cap)
{
	return -EOPNOTSUPP;
}

int coati_packer_new(int level, struct packer **ret, struct coati_error *err)
{
	(void)level;
	(void)ret;
	return not_built(err);
}

void coati_packer_free(struct packer *p)
{
	(void)p;
}

int64_t coati_packer_pack(struct packer *p, const void *in, size_t in_size, void *out, size_t cap)
{
	return -EOPNOTSUPP;
}
#endif
