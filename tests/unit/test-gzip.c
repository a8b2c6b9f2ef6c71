/* SPDX-License-Identifier: MIT */
/* gzip there and back, cut everywhere, and without memory. */
#include "lib/test.h"

#include "base/alloc.h"
#include "format/gzip.h"

static int collect(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *s = ctx;

	coati_strbuf_add(s, bytes, size);
	return s->failed;
}

static void need_zlib(void)
{
	if (!coati_gzip_works())
		test_skip("built without zlib, or it is not installed");
}

/* @size bytes that do not compress to nothing, in pieces. */
static int deflate_some(size_t size, struct strbuf *packed)
{
	struct deflater *d = NULL;
	uint32_t x = 1;
	int r = coati_deflater_new(collect, packed, &d, NULL);

	for (size_t at = 0; r == 0 && at < size; at += 1000) {
		uint8_t piece[1000];
		size_t n = size - at < 1000 ? size - at : 1000;

		for (size_t i = 0; i < n; i++) {
			x = x * 1664525 + 1013904223;
			piece[i] = (uint8_t)(x >> 28);
		}
		r = coati_deflater_put(d, piece, n, false);
	}
	if (r == 0)
		r = coati_deflater_put(d, "", 0, true);
	coati_deflater_free(d);
	return r;
}

TEST(gzip_gives_back_what_it_took)
{
	static const size_t sizes[] = { 0, 1, 1000, 65536, 1000000 };

	need_zlib();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct strbuf packed = STRBUF_INIT(1 << 22), back = STRBUF_INIT(1 << 22);
		uint32_t x = 1;

		CHECK_OK(deflate_some(sizes[i], &packed));
		CHECK(coati_is_gzip(packed.text, packed.len));
		CHECK_OK(coati_inflate_gzip(packed.text, packed.len, &back, NULL));
		CHECK_U64(back.len, ==, sizes[i]);
		for (size_t j = 0; j < back.len; j++) {
			x = x * 1664525 + 1013904223;
			CHECK_INT((uint8_t)back.text[j], ==, (uint8_t)(x >> 28));
		}
		coati_strbuf_fini(&packed);
		coati_strbuf_fini(&back);
	}
}

TEST(gzip_that_is_cut_or_goes_on_is_refused)
{
	struct strbuf packed = STRBUF_INIT(10000), back = STRBUF_INIT(1 << 20);
	struct coati_error err;

	need_zlib();
	CHECK_OK(deflate_some(300, &packed));
	for (size_t cut = 0; cut < packed.len; cut++) {
		coati_strbuf_clear(&back);
		CHECK_ERR(coati_inflate_gzip(packed.text, cut, &back, &err), -EBADMSG);
		CHECK_HAS(err.text, "damaged or cut");
	}
	coati_strbuf_addc(&packed, 'x');
	CHECK_ERR(coati_inflate_gzip(packed.text, packed.len, &back, &err), -EBADMSG);
	coati_strbuf_fini(&packed);
	coati_strbuf_fini(&back);
}

TEST(gzip_stops_at_the_ceiling)
{
	struct strbuf packed = STRBUF_INIT(1 << 22), back = STRBUF_INIT(100000);

	need_zlib();
	CHECK_OK(deflate_some(1000000, &packed));
	CHECK_ERR(coati_inflate_gzip(packed.text, packed.len, &back, NULL), -E2BIG);
	coati_strbuf_fini(&packed);
	coati_strbuf_fini(&back);
}

TEST(gzip_without_memory_says_so)
{
	struct strbuf packed = STRBUF_INIT(1 << 20), back = STRBUF_INIT(1 << 20);
	int r = -ENOMEM;

	need_zlib();
	for (uint64_t n = 0; r == -ENOMEM; n++) {
		struct strbuf s = STRBUF_INIT(1 << 20);

		coati_alloc_fail_after(n);
		r = deflate_some(5000, &s);
		coati_alloc_fail_after(UINT64_MAX);
		coati_strbuf_fini(&s);
	}
	CHECK_OK(r);
	CHECK_OK(deflate_some(5000, &packed));
	r = -ENOMEM;
	for (uint64_t n = 0; r == -ENOMEM; n++) {
		coati_strbuf_fini(&back);
		back = (struct strbuf)STRBUF_INIT(1 << 20);
		coati_alloc_fail_after(n);
		r = coati_inflate_gzip(packed.text, packed.len, &back, NULL);
		coati_alloc_fail_after(UINT64_MAX);
	}
	CHECK_OK(r);
	coati_strbuf_fini(&packed);
	coati_strbuf_fini(&back);
}
