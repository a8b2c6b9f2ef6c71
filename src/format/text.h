/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, threads and files as other tools can bear them. They come from foreign files
 * and may hold any bytes. The rule for all formats: a byte that is no UTF-8 becomes U+FFFD, as
 * base/json.h does it; everything else stays. A format that must do more says so in its file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coati/image.h>

#include "base/proto.h"
#include "base/strbuf.h"

/* Is it UTF-8 as it is? */
bool coati_format_text_is_good(const char *text, size_t len);
/* A build id in hexadecimal; "" when it is not known. */
void coati_format_build_id(const struct coati_image_info *info,
			   char ret[2 * COATI_BUILD_ID_MAX + 1]);
/* @text behind @s, by the rule. */
void coati_format_text(struct strbuf *s, const char *text);
/* The same of a text that is not terminated. */
void coati_format_text_bytes(struct strbuf *s, const char *text, size_t len);
/* A field of a protocol buffer, by the rule. */
void coati_proto_text(struct proto *p, uint32_t field, const char *text);
