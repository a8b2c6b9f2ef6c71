/* SPDX-License-Identifier: MIT */
/* see page-file.h */
#include "cli/page-file.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "page-text.h" /* made from viewer/ by tools/join-page */
#include "page/encode.h"
#include "cli/talk.h"

/* What the page has room for. */
enum place { CONNECT, CODING, DATA, PLACES };
static const char *const places[PLACES] = { "@CONNECT@", "@CODING@", "@DATA@" };

/* The values of the first places, and of the last the bytes in base64. */
static void fill(struct strbuf *ret, const char *const values[DATA], const struct strbuf *data)
{
	const char *at = coati_page_text_html;

	for (int i = 0; i < PLACES; i++) {
		const char *place = strstr(at, places[i]);

		if (!place) {
			ret->failed = -EINVAL;
			return;
		}
		coati_strbuf_add(ret, at, (size_t)(place - at));
		if (i == DATA)
			coati_page_base64(data, ret);
		else
			coati_strbuf_adds(ret, values[i]);
		at = place + strlen(places[i]);
	}
	coati_strbuf_adds(ret, at);
}

int coati_page_html(const struct strbuf *data, bool is_served, struct strbuf *ret,
		    struct coati_error *err)
{
	struct strbuf packed = STRBUF_INIT(PAGE_DATA_MAX);
	bool is_gzip = false;
	int r = coati_page_compress(data, &packed, &is_gzip, err);

	if (r == 0) {
		const char *values[DATA];

		values[CONNECT] = is_served ? "'self'" : "'none'";
		values[CODING] = is_gzip ? "gzip" : "identity";
		fill(ret, values, &packed);
		r = ret->failed;
		if (r < 0)
			coati_fail(err, r, "the page: %m");
	}
	coati_strbuf_fini(&packed);
	return r;
}

int coati_page_file_write(const char *path, const struct strbuf *data)
{
	struct strbuf html = STRBUF_INIT(PAGE_DATA_MAX);
	struct coati_error err = { 0 };
	struct output out;
	int ret = EXIT_FAILED;

	if (coati_page_html(data, false, &html, &err) < 0 ||
	    coati_output_open(&out, path, COLOR_NEVER, &err) < 0) {
		coati_say("%s", err.text);
	} else {
		coati_strbuf_fini(&out.text);
		out.text = html;
		html = (struct strbuf)STRBUF_INIT(0);
		ret = coati_output_end(&out);
	}
	coati_strbuf_fini(&html);
	return ret;
}
