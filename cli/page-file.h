/* SPDX-License-Identifier: MIT */
/* The browser page around its data, as one file: for coati report --html, diff --html and view. */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#include "base/strbuf.h"

#define PAGE_DATA_MAX ((size_t)4 << 30)

/* The page with @data (columns of page/columns.h) in it, as text behind @ret. @is_served: it may
 * ask the server that it came from. 0 or a negative errno. */
int coati_page_html(const struct strbuf *data, bool is_served, struct strbuf *ret,
		    struct coati_error *err);
/* The same as the file @path. The exit code; what failed was said. */
int coati_page_file_write(const char *path, const struct strbuf *data);
