/* SPDX-License-Identifier: MIT */
/* The side of the reader: what it would open itself it asks its broker for. */
#pragma once

#include "base/opening.h"
#include "sandbox/sandbox.h"

/* Through these channels from now on, for all threads: to the broker, and to the worker or -1. */
void coati_client_begin(const int channels[2]);
void coati_client_end(void);
/* Whether there is one. */
bool coati_client_has_broker(void);

extern const struct opening_hooks coati_client_hooks;
int coati_client_run(enum sandbox_job job, const struct sandbox_task *task, uint32_t *ret_value,
		     struct coati_error *err);
int coati_client_remove(const char *path);
