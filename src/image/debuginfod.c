/* SPDX-License-Identifier: MIT */
/* A build id comes in, a descriptor goes out, or the reason why not, within a time limit. */
#include "image/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"

/* The calls as elfutils declares them since version 0.178; its header is not needed to build. */
struct debuginfod_client;
typedef int (*progress_fn)(struct debuginfod_client *client, long done, long total);
struct calls {
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find)(struct debuginfod_client *client, const unsigned char *id, int size,
		    char **path);
	void (*set_progress)(struct debuginfod_client *client, progress_fn fn);
};

/* What the client asks while it waits. */
struct wait {
	const struct debuginfod_ask *ask;
	uint64_t end_ns;
	int reason; /* why it was canceled */
};

/* The oldest clients carry no user pointer, and call back in the thread that asked. */
static _Thread_local struct wait *waiting;

static int on_progress(struct debuginfod_client *client, long done, long total)
{
	struct wait *w = waiting;

	if (now_ns() >= w->end_ns)
		w->reason = -ETIMEDOUT;
	else if (w->ask->stop && w->ask->stop(w->ask->ctx))
		w->reason = -ECANCELED;
	return w->reason != 0;
}

static int load(struct calls *c, struct coati_error *err)
{
	/* Never closed: it has set up the network library for the whole process. */
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return coati_fail(
			err, -EOPNOTSUPP,
			"asking debuginfod servers needs libdebuginfod.so.1, which is not "
			"installed: apt install libdebuginfod1");
	*(void **)&c->begin = dlsym(lib, "debuginfod_begin");
	*(void **)&c->end = dlsym(lib, "debuginfod_end");
	*(void **)&c->find = dlsym(lib, "debuginfod_find_debuginfo");
	*(void **)&c->set_progress = dlsym(lib, "debuginfod_set_progressfn");
	if (!c->begin || !c->end || !c->find || !c->set_progress)
		return coati_fail(
			err, -EOPNOTSUPP,
			"libdebuginfod.so.1 lacks functions that coati needs; install a newer one");
	return 0;
}

/* As the client finds it. */
static void name_folder(char *ret, size_t size)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *cache = getenv("XDG_CACHE_HOME");
	struct stat st;
	int n = -1;

	if (own && *own) {
		n = snprintf(ret, size, "%s", own);
	} else if (home && *home) {
		n = snprintf(ret, size, "%s/.debuginfod_client_cache", home);
		if (n > 0 && (size_t)n < size && stat(ret, &st) == 0)
			return;
		n = cache && *cache ? snprintf(ret, size, "%s", cache)
				    : snprintf(ret, size, "%s/.cache", home);
		if (n > 0 && (size_t)n < size && mkdir(ret, 0700) < 0 && errno != EEXIST)
			n = -1;
		if (n > 0 && (size_t)n < size)
			n += snprintf(ret + n, size - (size_t)n, "/debuginfod_client");
	}
	if (n <= 0 || (size_t)n >= size)
		ret[0] = '\0';
}

void coati_debuginfod_prepare(char *ret_folder, size_t size)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct calls c;

	ret_folder[0] = '\0';
	/* no server will be asked, and a query gives the reason */
	if (!urls || !*urls || load(&c, NULL) < 0)
		return;
	name_folder(ret_folder, size);
	if (ret_folder[0] && mkdir(ret_folder, 0700) < 0 && errno != EEXIST)
		ret_folder[0] = '\0';
}

static int explain(int r, int reason, struct coati_error *err)
{
	if (reason == -ETIMEDOUT)
		return coati_fail(
			err, reason,
			"the debuginfod servers did not answer in time: see DEBUGINFOD_URLS");
	if (reason)
		return coati_fail(err, reason, "the debuginfod query was canceled");
	if (r == -ENOENT)
		return coati_fail(err, r, "no debuginfod server of DEBUGINFOD_URLS has this file");
	return coati_fail(err, r, "asking the debuginfod servers: %m");
}

int coati_debuginfod_fetch(const struct debuginfod_ask *ask, struct coati_error *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct wait w = { .ask = ask };
	struct debuginfod_client *client;
	struct calls c = { 0 };
	int r;

	if (!urls || !*urls)
		return coati_fail(err, -EOPNOTSUPP,
				  "no debuginfod server is named: set DEBUGINFOD_URLS");
	if (!ask->build_id_size)
		return coati_fail(err, -EINVAL, "debuginfod servers need a build ID");
	r = load(&c, err);
	if (r < 0)
		return r;
	client = c.begin();
	if (!client)
		return coati_fail(err, -ENOMEM, "out of memory");
	w.end_ns = now_ns() + NSEC_PER_MSEC * (ask->limit_ms ? ask->limit_ms : DEBUGINFOD_LIMIT_MS);
	waiting = &w;
	c.set_progress(client, on_progress);
	r = c.find(client, ask->build_id, (int)ask->build_id_size, NULL);
	waiting = NULL;
	c.end(client);
	return r < 0 ? explain(r, w.reason, err) : r;
}
