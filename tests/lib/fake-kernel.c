/* SPDX-License-Identifier: MIT */
/* see fake-kernel.h */
#include "lib/fake-kernel.h"

#include <errno.h>
#include <string.h>

#include <coati/event.h>

#include "event/uapi-compat.h"

#define FIRST_FD 1000

static int fails(struct fake_kernel *k)
{
	return k->nr_calls++ == k->fail_call ? k->fail_code : 0;
}

struct fake_event *fake_kernel_event(struct fake_kernel *k, int fd)
{
	if (fd < FIRST_FD || fd >= FIRST_FD + FAKE_FDS || !k->events[fd - FIRST_FD].open)
		return NULL;
	return &k->events[fd - FIRST_FD];
}

void fake_kernel_log(struct fake_kernel *k, char letter)
{
	if (k->nr_log < (int)sizeof(k->log) - 1)
		k->log[k->nr_log++] = letter;
}

static bool tail_is_used(const struct coati_attr *attr, uint32_t kernel_size)
{
	const unsigned char *bytes = (const unsigned char *)attr;

	for (uint32_t i = kernel_size; i < attr->size && i < sizeof(*attr); i++)
		if (bytes[i])
			return true;
	return false;
}

static int check_attr(const struct fake_kernel *k, const struct coati_attr *attr)
{
	unsigned int precise =
		(unsigned int)((attr->flags & COATI_ATTR_PRECISE_MASK) >> COATI_ATTR_PRECISE_SHIFT);

	if (attr->flags & ~k->known_flags || attr->sample_type & ~k->known_sample_type ||
	    attr->read_format & ~k->known_read_format || (attr->aux_action && !k->aux_action))
		return -EINVAL;
	if (k->no_inherited_read && attr->flags & COATI_ATTR_INHERIT &&
	    attr->sample_type & COATI_SAMPLE_READ)
		return -EINVAL;
	if (k->user_only &&
	    (!(attr->flags & COATI_ATTR_EXCLUDE_KERNEL) || attr->flags & COATI_ATTR_NAMESPACES))
		return -EACCES;
	if (attr->flags & COATI_ATTR_FREQ && attr->sample_period > (uint64_t)k->max_rate)
		return -EINVAL;
	if (attr->sample_max_stack > k->max_stack)
		return -EOVERFLOW;
	if (k->no_pmu && attr->type == COATI_TYPE_HARDWARE)
		return -ENOENT;
	if (precise > k->max_precise)
		return k->precise_error;
	return 0;
}

static int check_place(struct fake_kernel *k, const struct open_args *a)
{
	uint32_t members = 2;

	if (a->pid == -1 && a->cpu == -1)
		return -EINVAL;
	if (k->cpu_max >= 0 && a->cpu > k->cpu_max)
		return -EINVAL;
	if (a->group_fd < 0)
		return 0;
	if (!fake_kernel_event(k, a->group_fd))
		return -EBADF;
	for (int i = 0; i < FAKE_FDS; i++)
		members += k->events[i].open && k->events[i].group_fd == a->group_fd;
	return k->group_max && members > k->group_max ? -EINVAL : 0;
}

static int fake_open(void *ctx, struct open_args *a)
{
	struct fake_kernel *k = ctx;
	int r = fails(k);

	k->nr_opens++;
	if (r < 0)
		return r;
	if (tail_is_used(&a->attr, k->attr_size)) {
		a->attr.size = k->attr_size;
		return -E2BIG;
	}
	if (a->flags & ~k->known_open_flags)
		return -EINVAL;
	r = check_attr(k, &a->attr);
	if (r == 0)
		r = check_place(k, a);
	if (r < 0)
		return r;
	for (int i = 0; i < FAKE_FDS; i++) {
		if (k->events[i].open)
			continue;
		k->events[i] = (struct fake_event){ true, !(a->attr.flags & COATI_ATTR_DISABLED),
						    a->attr, a->group_fd, 0 };
		k->nr_open++;
		return FIRST_FD + i;
	}
	return -EMFILE;
}

static int fake_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	struct fake_kernel *k = ctx;
	struct fake_event *e = fake_kernel_event(k, fd);
	int r = fails(k);

	if (r < 0)
		return r;
	if (!e)
		return -EBADF;
	if (request == PERF_IOC_ID)
		*(uint64_t *)(uintptr_t)arg = (uint64_t)fd;
	if (request == PERF_IOC_ENABLE || request == PERF_IOC_DISABLE)
		e->enabled = request == PERF_IOC_ENABLE;
	if (request == PERF_IOC_ENABLE || request == PERF_IOC_DISABLE || request == PERF_IOC_RESET)
		fake_kernel_log(k, request == PERF_IOC_ENABLE	 ? 'e'
				   : request == PERF_IOC_DISABLE ? 'd'
								 : 'r');
	return 0;
}

static ssize_t fake_read(void *ctx, int fd, void *bytes, size_t size)
{
	struct fake_kernel *k = ctx;
	struct fake_event *e = fake_kernel_event(k, fd);
	uint64_t words[5] = { 0 };
	size_t n = 0;
	int r = fails(k);

	if (r < 0)
		return r;
	if (!e)
		return -EBADF;
	fake_kernel_log(k, 'R');
	if (k->pinned_lost)
		return 0;
	if (k->forking) {
		k->forking--;
		return -ECHILD;
	}
	words[n++] = e->value;
	if (e->attr.read_format & COATI_READ_ENABLED)
		words[n++] = 10;
	if (e->attr.read_format & COATI_READ_RUNNING)
		words[n++] = 10;
	if (e->attr.read_format & COATI_READ_ID)
		words[n++] = (uint64_t)fd;
	if (e->attr.read_format & COATI_READ_LOST)
		words[n++] = 0;
	if (size < n * sizeof(words[0]))
		return -ENOSPC;
	memcpy(bytes, words, n * sizeof(words[0]));
	return (ssize_t)(n * sizeof(words[0]));
}

static int fake_set_flags(void *ctx, int fd, int cloexec)
{
	struct fake_kernel *k = ctx;
	int r = fails(k);

	return r < 0 ? r : fake_kernel_event(k, fd) ? 0 : -EBADF;
}

static void fake_close(void *ctx, int fd, uint32_t type)
{
	struct fake_kernel *k = ctx;
	struct fake_event *e = fake_kernel_event(k, fd);

	if (!e)
		return;
	e->open = false;
	k->nr_open--;
	if (k->nr_closed < FAKE_FDS)
		k->order[k->nr_closed++] = fd;
}

static int fake_sysctl(void *ctx, const char *name, int64_t *ret)
{
	struct fake_kernel *k = ctx;

	if (!strcmp(name, "perf_event_max_sample_rate"))
		*ret = k->max_rate;
	else if (!strcmp(name, "perf_event_max_stack"))
		*ret = k->max_stack;
	else if (!strcmp(name, "perf_event_paranoid"))
		*ret = k->user_only ? 2 : -1;
	else
		return -ENOENT;
	return 0;
}

void fake_kernel_init(struct fake_kernel *k)
{
	*k = (struct fake_kernel){
		.attr_size = COATI_ATTR_SIZE_618,
		.known_flags = (UINT64_C(1) << 38) - 1,
		.known_sample_type = (UINT64_C(1) << 25) - 1,
		.known_read_format = 31,
		.known_open_flags = 15,
		.aux_action = true,
		.max_precise = 3,
		.precise_error = -EOPNOTSUPP,
		.max_rate = 100000,
		.max_stack = 127,
		.cpu_max = -1,
		.fail_call = -1,
	};
	k->calls = (struct event_calls){
		.ctx = k,
		.open = fake_open,
		.ioctl = fake_ioctl,
		.read = fake_read,
		.set_flags = fake_set_flags,
		.close = fake_close,
		.sysctl = fake_sysctl,
	};
}
