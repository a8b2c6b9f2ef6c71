/* SPDX-License-Identifier: MIT */
/* Source files of a page: only those that frames of the recording are in, and only on request. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/opening.h"
#include "page/page.h"

#define FILE_BYTES_MAX (4u << 20)
#define ALL_BYTES_MAX  (16u << 20)

static bool is_source(const struct page *p, uint32_t text)
{
	for (size_t i = 0; text && i < p->names.frames.len; i++)
		if (p->names.frames.v[i].file == text)
			return true;
	return false;
}

/* The recording names the file: a device or a file of /proc is none to be read. */
int coati_page_source(const struct page *p, uint32_t text, struct strbuf *ret)
{
	struct opening o = { .kind = OPEN_SOURCE };
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	if (!is_source(p, text))
		return -ENOENT;
	o.path = p->names.texts.v[text];
	fd = coati_open_file(&o, NULL);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return -EINVAL;
	if (st.st_size > FILE_BYTES_MAX)
		return -E2BIG;
	return coati_file_read_fd(fd, ret);
}

int coati_page_put_sources(struct page *p)
{
	struct column *c = p->opts.with_sources
				   ? coati_columns_add(&p->columns, "sources", COLUMN_JSON)
				   : NULL;
	CLEANUP(freep) bool *seen = coati_alloc_array(p->names.texts.len + 1, sizeof(*seen));
	struct strbuf text = STRBUF_INIT(FILE_BYTES_MAX);
	struct json j;
	char key[16];

	if (!c || !seen)
		return seen ? 0 : -ENOMEM;
	j = json_to(&c->bytes);
	coati_json_object(&j);
	for (size_t i = 0; i < p->names.frames.len && c->bytes.len < ALL_BYTES_MAX; i++) {
		uint32_t file = p->names.frames.v[i].file;

		if (!file || seen[file])
			continue;
		seen[file] = true;
		coati_strbuf_clear(&text);
		if (coati_page_source(p, file, &text) < 0)
			continue;
		snprintf(key, sizeof(key), "%u", file);
		coati_json_key(&j, key);
		coati_json_strn(&j, text.text, text.len);
	}
	coati_json_end(&j);
	coati_strbuf_fini(&text);
	if (c->bytes.len >= ALL_BYTES_MAX)
		coati_page_add_note(p, "the page has source files of 16 MiB and leaves others out");
	return c->bytes.failed;
}
