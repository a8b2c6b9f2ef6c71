/* SPDX-License-Identifier: MIT */
/* see switching.h */
#include "capture/switching.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "capture/capture.h"
#include "capture/thread.h"

#define WATCH_NS   (10 * NSEC_PER_MSEC)
#define STAT_BYTES ((size_t)4 << 20) /* a number for each interrupt, and a line for each CPU */

struct slices {
	const char *procfs;
	uint64_t nr;
	bool unknown;
};

static int add_thread(void *ctx, int32_t tid)
{
	struct slices *s = ctx;
	uint64_t nr;

	if (coati_thread_slices(s->procfs, tid, &nr))
		s->nr += nr;
	else
		s->unknown |= !coati_thread_is_ending(s->procfs, tid);
	return 0;
}

/* "ctxt <times>" */
static bool count_all(const char *procfs, uint64_t *ret)
{
	struct strbuf text = STRBUF_INIT(STAT_BYTES);
	char path[512], *at = NULL;
	bool ok;

	snprintf(path, sizeof(path), "%s/stat", procfs ? procfs : "/proc");
	if (coati_file_read(AT_FDCWD, path, &text) == 0)
		at = strstr(text.text, "\nctxt ");
	if (at) {
		at += strlen("\nctxt ");
		at[strcspn(at, "\n")] = '\0';
	}
	ok = at && coati_parse_u64(at, 0, UINT64_MAX, ret) == 0;
	coati_strbuf_fini(&text);
	return ok;
}

bool coati_switching_count(const struct coati_capture *cap, uint64_t *ret, uint64_t *ret_all)
{
	const struct coati_capture_opts *o = &cap->opts;
	struct slices s = { .procfs = o->procfs };

	for (uint64_t i = 0; i < o->nr_pids; i++)
		(void)coati_thread_each(o->procfs, o->pids[i], add_thread, &s);
	for (uint64_t i = 0; i < o->nr_tids; i++)
		(void)add_thread(&s, o->tids[i]);
	*ret = s.nr;
	return !s.unknown && count_all(o->procfs, ret_all);
}

bool coati_switching_often(const struct coati_capture *cap)
{
	const struct timespec watch = { .tv_nsec = (long)WATCH_NS };
	uint64_t begin = now_ns(), own, all, own_before, all_before, ns;

	if (!coati_switching_count(cap, &own_before, &all_before))
		return false;
	(void)nanosleep(&watch, NULL);
	if (!coati_switching_count(cap, &own, &all) || own <= own_before)
		return false;
	own -= own_before;
	all -= all_before;
	ns = now_ns() - begin;
	return ns && own * NSEC_PER_SEC / ns > SWITCHING_MANY && own * SWITCHING_SHARE > all;
}
