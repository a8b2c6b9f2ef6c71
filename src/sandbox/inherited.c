/* SPDX-License-Identifier: MIT */
/* see inherited.h */
#include "sandbox/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/newfile.h"
#include "base/opening.h"

#define NR_CLOSE_RANGE 436
#define FD_MOST	       65536 /* that are closed one by one on old kernels */

static int open_inputs(struct inherited *in, const struct sandbox_policy *p,
		       struct coati_error *err)
{
	for (size_t i = 0; i < p->nr_inputs; i++) {
		struct opening o = { .kind = OPEN_INPUT, .path = p->inputs[i] };

		if (!coati_is_open_file(p->inputs[i]))
			continue;
		in->input_fds[i] = coati_open_here(&o, err);
		if (in->input_fds[i] < 0)
			return in->input_fds[i];
		in->any = true;
	}
	return 0;
}

int coati_inherited_open(struct inherited *in, const struct sandbox_policy *p,
			 struct coati_error *err)
{
	const char *output = p->output;
	struct new_file f;
	int r;

	*in = (struct inherited){ .output_fd = -1,
				  .nr_inputs = p->nr_inputs,
				  .serve_fd = p->serve_fd,
				  .pipe_fd = p->pipe_fd };
	in->input_fds = coati_alloc_array(p->nr_inputs + 1, sizeof(*in->input_fds));
	if (!in->input_fds)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nr_inputs; i++)
		in->input_fds[i] = -1;
	r = open_inputs(in, p, err);
	if (r == 0 && output && strcmp(output, "-") != 0 && coati_is_open_file(output)) {
		r = coati_new_file_open(&f, output, 0600, err);
		in->output_fd = f.fd;
	}
	return r;
}

void coati_inherited_fini(struct inherited *in)
{
	for (size_t i = 0; in->input_fds && i < in->nr_inputs; i++)
		fd_closep(&in->input_fds[i]);
	coati_free(in->input_fds);
	in->input_fds = NULL;
	fd_closep(&in->output_fd);
}

/* ---- closing ---- */

static void close_range_of(unsigned int from, unsigned int to)
{
	if (from > to || syscall(NR_CLOSE_RANGE, from, to, 0u) == 0)
		return;
	for (unsigned int fd = from; fd <= to && fd < FD_MOST; fd++)
		close((int)fd);
}

struct kept {
	const struct inherited *in;
	int fds[4]; /* -1: none */
};

static bool is_kept(const struct kept *k, int fd)
{
	for (size_t i = 0; i < k->in->nr_inputs; i++)
		if (k->in->input_fds[i] == fd)
			return true;
	for (size_t i = 0; i < sizeof(k->fds) / sizeof(k->fds[0]); i++)
		if (k->fds[i] == fd)
			return true;
	return fd == k->in->output_fd;
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

/* What is kept was opened last, so that there is little to look at below the highest of them. */
static void close_others(const struct kept *k)
{
	int high = k->in->output_fd, from = STDERR_FILENO + 1;

	for (size_t i = 0; i < sizeof(k->fds) / sizeof(k->fds[0]); i++)
		high = larger(high, k->fds[i]);
	for (size_t i = 0; i < k->in->nr_inputs; i++)
		high = larger(high, k->in->input_fds[i]);
	for (int fd = from; fd <= high; fd++) {
		if (!is_kept(k, fd))
			continue;
		close_range_of((unsigned int)from, (unsigned int)fd - 1);
		from = fd + 1;
	}
	close_range_of((unsigned int)from, ~0u);
}

void coati_inherited_close_for_broker(const struct inherited *in, int channel)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null >= 0)
			dup2(null, fd);
		else
			close(fd);
	close_others(&(struct kept){ in, { channel, -1, -1, -1 } });
}

void coati_inherited_close_for_reader(const struct inherited *in, const int channels[2])
{
	if (!in->any)
		close_others(&(struct kept){
			in, { channels[0], channels[1], in->serve_fd, in->pipe_fd } });
}
