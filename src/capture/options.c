/* SPDX-License-Identifier: MIT */
/* The options of a capture: checked, and copied as far as they are needed later. */
#include "capture/options.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "capture/session.h"
#include "event/list.h"

#define CAPTURE_FLAGS  ((COATI_CAPTURE_LABELS_UNTRACED << 1) - 1)
#define RING_BYTES_MAX (UINT64_C(1) << 30)

int coati_capture_check_options(const struct coati_event_list *list,
				const struct coati_capture_opts *given,
				struct coati_capture_opts *o, struct coati_error *err)
{
	int r = SIZED_COPY(o, given);

	if (r < 0)
		return coati_fail(
			err, r, "capture: the options have a size that this library does not know");
	if (o->flags & ~CAPTURE_FLAGS || (unsigned int)o->stacks > COATI_STACKS_BPF ||
	    o->argc < 0 || o->argc > INT32_MAX || (o->argc && !o->argv))
		return coati_fail(err, -EINVAL, "capture: unknown flags, stacks or no arguments");
	if (o->flags & COATI_CAPTURE_ON_EXEC && (o->nr_pids != 1 || o->nr_tids))
		return coati_fail(err, -EINVAL, "capture: start at exec needs exactly one process");
	if (o->ring_bytes > RING_BYTES_MAX)
		return coati_fail(err, -EINVAL, "capture: rings of more than 1 GiB");
	if (o->flags & COATI_CAPTURE_OFF_CPU && o->flags & COATI_CAPTURE_OVERWRITE)
		return coati_fail(err, -EINVAL,
				  "capture: context switches cannot be recorded with overwrite");
	if (o->flags & (COATI_CAPTURE_WAKE_STACKS | COATI_CAPTURE_IRQ) &&
	    !(o->flags & COATI_CAPTURE_OFF_CPU))
		return coati_fail(
			err, -EINVAL,
			"capture: wakeups and interrupts can only be recorded with context "
			"switches");
	if (o->flags & COATI_CAPTURE_OFF_CPU)
		o->flags |= COATI_CAPTURE_SWITCHES;
	if (!list || !coati_event_list_count(list))
		return coati_fail(err, -EINVAL, "capture: the list of events is empty");
	return 0;
}

static int32_t *copy_ids(const int32_t *ids, uint64_t nr)
{
	int32_t *copy = coati_alloc_array((size_t)nr + 1, sizeof(*copy));

	if (copy && nr)
		memcpy(copy, ids, (size_t)nr * sizeof(*copy));
	return copy;
}

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? coati_strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

int coati_capture_keep_options(struct coati_capture_opts *ret, const struct coati_capture_opts *o)
{
	bool failed = false;

	*ret = *o;
	ret->pids = copy_ids(o->pids, o->nr_pids);
	ret->tids = copy_ids(o->tids, o->nr_tids);
	ret->cpus = copy_text(o->cpus, &failed);
	ret->cgroup = copy_text(o->cgroup, &failed);
	ret->procfs = copy_text(o->procfs, &failed);
	ret->tracefs = copy_text(o->tracefs, &failed);
	ret->program = copy_text(o->program, &failed);
	return failed || !ret->pids || !ret->tids ? -ENOMEM : 0;
}

static void drop_const(const void *p)
{
	coati_free((void *)(uintptr_t)p);
}

void coati_capture_free_options(struct coati_capture_opts *o)
{
	drop_const(o->pids);
	drop_const(o->tids);
	drop_const(o->cpus);
	drop_const(o->cgroup);
	drop_const(o->procfs);
	drop_const(o->tracefs);
	drop_const(o->program);
}
