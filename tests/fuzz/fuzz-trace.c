/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording, as a timeline: everything that can be asked of it is asked. Whatever
 * the bytes say, intervals follow each other, and the parts of a time add up to it.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "trace/timeline.h"

#define TYPES_MOST 4 /* each is asked why */

static void check_ledger(const struct coati_ledger *l)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		sum += l->parts[i];
	FUZZ_CHECK(sum == l->duration);
}

static void ask_thread(const struct coati_timeline *t, uint32_t thread)
{
	struct coati_timeline_interval in;
	struct coati_timeline_thread th;
	struct coati_timeline_region g;
	struct coati_timeline_log log;
	struct coati_ledger l;
	uint64_t last = 0;

	FUZZ_CHECK(coati_timeline_thread(t, thread, &th) == 0 && th.comm);
	for (uint32_t i = 0; coati_timeline_interval(t, thread, i, &in) == 0; i++) {
		FUZZ_CHECK(in.begin >= last);
		last = in.begin;
	}
	for (uint32_t i = 0; coati_timeline_region(t, thread, i, &g) == 0; i++)
		FUZZ_CHECK(g.name && g.begin <= g.end);
	for (uint32_t i = 0; coati_timeline_log(t, thread, i, &log) == 0; i++)
		FUZZ_CHECK(log.text);
	if (coati_timeline_ledger(t, thread, th.begin, th.end, &l) == 0)
		check_ledger(&l);
}

static void ask_task(const struct coati_timeline *t, uint32_t task)
{
	struct coati_timeline_step *steps = NULL;
	struct coati_timeline_task k;
	struct coati_timeline_span s;
	struct coati_ledger l;
	size_t nr;

	FUZZ_CHECK(coati_timeline_task(t, task, &k) == 0);
	for (uint32_t i = 0; coati_timeline_span(t, task, i, &s) == 0; i++)
		FUZZ_CHECK(s.begin <= s.end);
	if (coati_timeline_task_ledger(t, task, &l) == 0)
		check_ledger(&l);
	if (coati_timeline_path(t, task, &steps, &nr, NULL) == 0)
		coati_timeline_path_free(&steps);
}

static void ask(const struct coati_timeline *t)
{
	struct coati_timeline_type type;
	struct coati_timeline_wake w;

	for (uint32_t i = 0; coati_timeline_note(t, i); i++)
		;
	for (uint32_t i = 0; coati_timeline_finding(t, i); i++)
		;
	for (uint32_t i = 0; i < coati_timeline_thread_count(t); i++)
		ask_thread(t, i);
	for (uint32_t i = 0; i < coati_timeline_task_count(t); i++)
		ask_task(t, i);
	for (uint32_t i = 0; coati_timeline_wake(t, i, &w) == 0; i++)
		;
	for (uint32_t i = 0; i < TYPES_MOST && coati_timeline_type(t, i, &type) == 0; i++) {
		struct coati_why *why = NULL;

		FUZZ_CHECK(type.name);
		if (coati_timeline_why(t, i, 99, &why, NULL) == 0)
			coati_why_free(&why);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts images = { .size = sizeof(images), .procfs = "/nowhere" };
	struct coati_timeline_opts opts = { .size = sizeof(opts), .images = &images };
	struct coati_timeline *t = NULL;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	char path[64];

	images.flags = COATI_IMAGES_NO_CACHE | COATI_IMAGES_NO_LOCAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    coati_timeline_new(&opts, &t, NULL) == 0 &&
	    coati_timeline_read(t, path, NULL, NULL, NULL) == 0)
		ask(t);
	coati_timeline_free(&t);
	close(fd);
	return 0;
}
