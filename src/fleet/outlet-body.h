/* SPDX-License-Identifier: MIT */
/* Windows that are added up until it is time, and what is sent of them. */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "agent/window.h"
#include "base/strbuf.h"
#include "fleet/outlet.h"
#include "fleet/unfold.h"

struct coati_export;

/* Of one service, or of all. */
struct outlet_body {
	char service[256]; /* "": all */
	struct coati_export *export;
	struct unfold unfold;
	uint64_t from_s, until_s;
	uint32_t windows;
};

int coati_outlet_body_init(struct outlet_body *b, enum outlet_kind kind, const char *service,
			   struct coati_error *err);
void coati_outlet_body_fini(struct outlet_body *b);
/* The rows of its service. */
int coati_outlet_body_add(struct outlet_body *b, const struct agent_window *w);
/* The bytes of the profile. */
int coati_outlet_body_write(struct outlet_body *b, struct strbuf *ret, struct coati_error *err);
