/* SPDX-License-Identifier: MIT */
/* see confinement.h */
#include "cli/confinement.h"

#include <poll.h>

#include "base/array.h"
#include "base/error.h"
#include "fleet/place.h"
#include "image/debuginfod.h"
#include "cli/talk.h"
#include "cli/threads.h"

#define INPUTS_MAX 8192

/* The process that unpacks and demangles; the second is what the demangler needs. */
static const char *const for_images[] = { "libzstd.so.1",  "libz.so.1",	     "liblzma.so.5",
					  "libgcc_s.so.1", "libstdc++.so.6", NULL };
static const char *const for_records[] = { "libzstd.so.1", NULL };

/* ---- servers ---- */

static bool is_abandoned(void *ctx)
{
	const struct sandbox_task *task = ctx;
	struct pollfd p = { .fd = task->abandoned_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int fetch(const struct sandbox_task *task, uint32_t *ret_value, struct coati_error *err)
{
	struct debuginfod_ask ask = { .build_id = task->bytes,
				      .build_id_size = (uint32_t)task->size,
				      .stop = is_abandoned,
				      .ctx = (void *)(uintptr_t)task };

	(void)ret_value;
	if (task->size > COATI_BUILD_ID_MAX)
		return coati_fail(err, -EINVAL, "a build ID of more than %d bytes",
				  COATI_BUILD_ID_MAX);
	return coati_debuginfod_fetch(&ask, err);
}

/* ---- what is needed ---- */

struct need {
	struct sandbox_policy policy;
	ARRAY(const char *) inputs;
	char cache[4096];
};

static bool add_input(struct need *n, const char *path)
{
	const char **to = ARRAY_ADD(&n->inputs);

	if (to)
		*to = path;
	return to;
}

static bool add_inputs(struct need *n, const struct confinement *c)
{
	bool ok = true;

	n->inputs.max = INPUTS_MAX;
	for (size_t i = 0; c->files && i < c->files->len; i++)
		ok &= coati_place_is(c->files->v[i].text) || add_input(n, c->files->v[i].text);
	for (size_t i = 0; c->others && i < c->others->len; i++)
		ok &= coati_place_is(c->others->v[i].text) || add_input(n, c->others->v[i].text);
	if (c->input && (!c->files || !c->files->len))
		ok &= add_input(n, c->input);
	if (c->folder)
		ok &= add_input(n, c->folder);
	n->policy.inputs = n->inputs.v;
	n->policy.nr_inputs = n->inputs.len;
	return ok;
}

/* The client of the servers writes to its own directory, which must be there to be allowed. */
static void add_servers(struct need *n)
{
	n->policy.jobs[SANDBOX_FETCH] = fetch;
	coati_debuginfod_prepare(n->cache, sizeof(n->cache));
	if (n->cache[0])
		n->policy.folders[0] = n->cache;
}

bool coati_confinement_enter(const struct confinement *c)
{
	struct need n = { .policy = { .flags = c->flags,
				      .output = c->output,
				      .serve_fd = c->serve_fd,
				      .pipe_fd = c->pipe_fd } };
	struct coati_error err = { 0 };
	int r = 0;

	if (!coati_threads_choose(c->of ? c->of->threads : c->threads))
		return false;
	n.policy.jobs[SANDBOX_OBJDUMP] = c->objdump;
	n.policy.jobs[SANDBOX_DESCRIBE] = c->describe;
	if (c->with_names)
		n.policy.flags |= SANDBOX_TABLES;
	if (c->with_names && (!c->of || !c->of->no_local))
		n.policy.flags |= SANDBOX_IMAGES;
	n.policy.libraries = c->with_names ? for_images : for_records;
	if (c->of && c->of->debuginfod)
		add_servers(&n);
	if (c->is_off)
		coati_sandbox_leave_out(&n.policy);
	else if (!add_inputs(&n, c))
		r = coati_fail(&err, -ENOMEM, "out of memory");
	else
		r = coati_sandbox_enter(&n.policy, &err);
	ARRAY_FINI(&n.inputs);
	if (r < 0)
		coati_say("%s", err.text);
	return r >= 0;
}
