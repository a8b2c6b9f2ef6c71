/* SPDX-License-Identifier: MIT */
/* see channel.h */
#include "sandbox/channel.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int coati_channel_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int coati_channel_send(int channel, const void *bytes, size_t size, int fd)
{
	struct iovec part = { (void *)(uintptr_t)bytes, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union control c = { 0 };
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &c;
		m.msg_controllen = sizeof(c);
		c.head.cmsg_level = SOL_SOCKET;
		c.head.cmsg_type = SCM_RIGHTS;
		c.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&c.head), &fd, sizeof(int));
	}
	do
		n = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int take_fd(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

ssize_t coati_channel_recv(int channel, void *bytes, size_t cap, int *ret_fd)
{
	struct iovec part = { bytes, cap };
	union control c = { 0 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &c,
			    .msg_controllen = CMSG_LEN(sizeof(int)) /* room for one, not more */ };
	ssize_t n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (n < 0)
		return -errno;
	*ret_fd = take_fd(&m);
	if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : -EMFILE;
}
