/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that this process inherited. A path may be another name of one (/dev/stdin,
 * /dev/fd/63 of a shell): it would name something else in the broker, so it is opened beforehand.
 * All others are closed: neither process needs them.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#include "sandbox/sandbox.h"

struct inherited {
	int output_fd;	/* -1: the output is no such name */
	int *input_fds; /* for each input; -1: it is none */
	size_t nr_inputs;
	bool any;	       /* an input is */
	int serve_fd, pipe_fd; /* as in the policy: the reader keeps them */
};

int coati_inherited_open(struct inherited *in, const struct sandbox_policy *p,
			 struct coati_error *err);
/* Close what was opened, and forget it. */
void coati_inherited_fini(struct inherited *in);
/* All but @channel and what was opened; input and output become nothing. */
void coati_inherited_close_for_broker(const struct inherited *in, int channel);
/* All but the channels (the second may be -1), input and output; none when an input is the name of
 * one. */
void coati_inherited_close_for_reader(const struct inherited *in, const int channels[2]);
