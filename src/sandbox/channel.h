/* SPDX-License-Identifier: MIT */
/* Whole messages, and one descriptor beside each, between a reader and its broker. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Two ends of a channel; closed on exec. */
int coati_channel_pair(int ret[2]);
/* @fd goes along unless it is negative; it stays open here. */
int coati_channel_send(int channel, const void *bytes, size_t size, int fd);
/* The size of the message, 0 when the other end is closed. *@ret_fd is -1 when none came along;
 * -EMFILE: one did, and this process can have no more. -EMSGSIZE: the message was longer than @cap.
 * -EINTR. */
ssize_t coati_channel_recv(int channel, void *bytes, size_t cap, int *ret_fd);
