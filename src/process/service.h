/* SPDX-License-Identifier: MIT */
/*
 * Which service a sample belongs to. In: the path of its cgroup, as the kernel tells it, and the
 * name of its program. Out: the systemd unit, the container, or the pod and its container; without
 * one of these the program's name. Rules of an operator rename services or drop them. Nothing is
 * asked of the machine: recordings of others give the same answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct coati_error;

#define SERVICE_NAME_MAX 256

/* Stored by agents: numbers do not change. */
enum service_kind {
	SERVICE_PROGRAM = 0, /* no cgroup says more */
	SERVICE_UNIT = 1,
	SERVICE_CONTAINER = 2,
	SERVICE_POD = 3,
	SERVICE_KERNEL = 4,
	SERVICE_OTHER = 5, /* over a cap of distinct ones */
};

struct service {
	enum service_kind kind;
	char name[SERVICE_NAME_MAX];
};

/* @cgroup: "/system.slice/nginx.service", a bare number or NULL when it is not known. @program may
 * be NULL. */
void coati_service_of(const char *cgroup, const char *program, struct service *ret);

/* ---- rules ---- */

struct service_rule {
	char *text;    /* the rule as it was given */
	char *pattern; /* of the name or the cgroup, with * ? [ ] */
	char *name;    /* the new one; NULL: it is dropped */
};

struct service_rules {
	ARRAY(struct service_rule) v;
};

void coati_service_rules_init(struct service_rules *r);
void coati_service_rules_fini(struct service_rules *r);
/* "drop PATTERN" or "rename PATTERN NAME": -EINVAL and a sentence, -E2BIG, -ENOMEM. */
int coati_service_rules_add(struct service_rules *r, const char *text, struct coati_error *err);
/* Is this very rule there? */
bool coati_service_rules_has(const struct service_rules *r, const char *text);
/* The first rule that matches is applied to @s. False: it is dropped. */
bool coati_service_rules_apply(const struct service_rules *r, const char *cgroup,
			       struct service *s);
