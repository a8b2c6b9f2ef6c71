/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording, as the data of the browser page: columns of the size and count that
 * the index says, and no weight in them that no sample has.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/json-read.h"
#include "base/leb128.h"
#include "base/strbuf.h"
#include "fuzz/fuzz.h"
#include "lib/json-check.h"
#include "page/page.h"
#include "reading/profile.h"

#define DATA_MAX  (UINT32_C(64) << 20)
#define ITEMS_MAX 4096 /* of each kind: so that pages are thinned, too */

/* As many numbers as there are, a byte of zeros a number at least. */
static uint64_t count_numbers(struct cursor *c)
{
	uint64_t nr = 0;

	for (; cursor_left(c); nr++)
		(void)cursor_uleb(c);
	return nr;
}

/* The same of runs. The first byte of a number says whether a count follows; a number has up to 65
 * bits. */
static uint64_t count_runs(struct cursor *c)
{
	uint64_t nr = 0;

	while (cursor_left(c)) {
		uint8_t first = cursor_u8(c);
		uint64_t run = 1;

		if (first & 0x80)
			(void)cursor_uleb(c);
		if (first & 1)
			run = cursor_uleb(c);
		FUZZ_CHECK(first & 1 ? run > 1 : run == 1);
		nr += run;
	}
	return nr;
}

/* One section of the index: as many numbers as it says in as many bytes. */
static void check_section(struct json_reader *r, struct cursor *c)
{
	char kind[8] = "";
	uint64_t count = 0, size = 0;
	struct cursor part;
	const char *key;

	coati_json_read_object(r);
	while ((key = coati_json_read_key(r))) {
		if (!strcmp(key, "kind"))
			snprintf(kind, sizeof(kind), "%s", coati_json_read_str(r, NULL));
		else if (!strcmp(key, "count"))
			count = coati_json_read_u64(r);
		else if (!strcmp(key, "size"))
			size = coati_json_read_u64(r);
		else
			coati_json_read_skip(r);
	}
	FUZZ_CHECK(!r->failed && size <= cursor_left(c));
	part = cursor_over(cursor_bytes(c, size), size);
	if (!strcmp(kind, "json")) {
		FUZZ_CHECK(json_check((const char *)part.at, size));
	} else if (!strcmp(kind, "real")) {
		FUZZ_CHECK(size == count * sizeof(double));
	} else {
		FUZZ_CHECK(count ==
			   (strcmp(kind, "runs") != 0 ? count_numbers(&part) : count_runs(&part)));
		FUZZ_CHECK(!part.bad);
	}
}

static void check_data(const struct strbuf *data)
{
	struct cursor c = cursor_over(data->text, data->len);
	const void *magic = cursor_bytes(&c, 8);
	uint32_t size = cursor_u32(&c);
	const char *index = cursor_bytes(&c, size), *key;
	struct json_reader r;

	FUZZ_CHECK(magic && !memcmp(magic, "coatipg1", 8) && index);
	coati_json_read_init(&r, index, size);
	coati_json_read_object(&r);
	while ((key = coati_json_read_key(&r))) {
		if (strcmp(key, "sections") != 0) {
			coati_json_read_skip(&r);
			continue;
		}
		for (coati_json_read_array(&r); coati_json_read_more(&r);)
			check_section(&r, &c);
	}
	FUZZ_CHECK(coati_json_read_end(&r) == 0 && !cursor_left(&c));
	coati_json_read_fini(&r);
}

/* The samples of the page are those of the profile, thinned or not, without those that its views
 * leave out: no weight appears. */
static void check_samples(const struct page *p)
{
	const struct coati_profile *profile = coati_page_profile(p);
	uint64_t on_page = 0, in_profile = 0;

	for (size_t i = 0; i < p->columns.v.len; i++) {
		const struct column *c = p->columns.v.v[i];
		struct column_reader r = column_read(c);

		for (uint64_t n = 0; n < c->count && !strcmp(c->name, "s.weight"); n++)
			add_weight(&on_page, column_next(&r));
	}
	for (size_t i = 0; i < profile->entries.len; i++)
		if (coati_page_counts_event(p, profile->entries.v[i].event))
			add_weight(&in_profile, profile->entries.v[i].weight);
	FUZZ_CHECK(on_page <= in_profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts images = { .size = sizeof(images), .procfs = "/nowhere" };
	struct page_opts opts = { .images = &images, .max_items = ITEMS_MAX };
	struct strbuf bytes = STRBUF_INIT(DATA_MAX);
	struct page *p = NULL;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	images.flags = COATI_IMAGES_NO_CACHE | COATI_IMAGES_NO_LOCAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	FUZZ_CHECK(coati_page_new(&opts, &p, NULL) == 0);
	if (coati_page_read(p, path, NULL, NULL, NULL) == 0 &&
	    coati_page_data(p, &bytes, NULL) == 0) {
		check_data(&bytes);
		check_samples(p);
	}
	coati_page_free(&p);
	coati_strbuf_fini(&bytes);
	close(fd);
	return 0;
}
