/* SPDX-License-Identifier: MIT */
/*
 * What coati view answers. Everything lies below a random token, so that other users of the machine
 * and pages of other sites cannot ask. One file can be given to one foreign origin, once.
 */
#pragma once

#include "cli/view/args.h"
#include "cli/view/http.h"

#define VIEW_TOKEN_BYTES 33

struct page;

struct view_pages {
	const struct view_args *args;
	struct page *page;
	struct strbuf html;
	char token[VIEW_TOKEN_BYTES];
	/* for --firefox and --perfetto */
	char once[VIEW_TOKEN_BYTES]; /* "": nothing is given away */
	const char *once_origin, *once_format;
	bool once_given;
};

/* A new token. 0 or a negative errno. */
int coati_view_token(char ret[VIEW_TOKEN_BYTES]);
void coati_view_answer(void *ctx, const struct http_asked *q, struct http_answer *a);
